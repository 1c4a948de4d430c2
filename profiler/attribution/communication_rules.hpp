// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "profiler/trace/tag.hpp"

namespace underlap::attribution {

/// The meaning of the name of a kernel or a copy.
struct NameMeaning {
  enum class Says {
    communication,    ///< a rule names it
    compute,          ///< of a namespace, or with a name, that is known to compute
    looks_like_comm,  ///< words of communication, and no rule
    nothing
  };
  Says says = Says::nothing;
  std::string_view library = {};  ///< of a communication: "NCCL", "DeepEP"
  std::string_view purpose = {};  ///< of a communication: the collective, if the name shows it
  Mode mode = Mode::none;         ///< the mode of the library, if it serves only one
  std::string_view why_not = {};  ///< for a name that looks like communication and is not: the reason
};

/// Reads the name of a kernel as a tool prints it. Return type, namespaces, template arguments and parameters are
/// separated first. Then the whole name is looked up in the table, never a part of it.
NameMeaning meaning_of_kernel(std::string_view name);

/// Reads the name of a copy: only one between two devices is communication.
NameMeaning meaning_of_copy(std::string_view name);

/// The collective that a launching annotation such as "nccl:all_reduce" or "ncclAllReduce" names. Empty if it only
/// shows that something is sent; nullopt if it launches no communication.
std::optional<std::string_view> collective_of_annotation(std::string_view annotation);

}  // namespace underlap::attribution
