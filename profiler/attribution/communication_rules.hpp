// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "profiler/trace/tag.hpp"

namespace underlap::attribution {

/// What the name of a kernel or a copy says of it.
struct NameMeaning {
  enum class Says {
    communication,    ///< a rule names it
    compute,          ///< of a namespace, or with a name, that is known to compute
    looks_like_comm,  ///< words of communication, and no rule
    nothing
  };
  Says says = Says::nothing;
  std::string_view library = {};  ///< of a communication: "NCCL", "DeepEP"
  std::string_view purpose = {};  ///< of a communication: the collective's word, where the name tells it
  Mode mode = Mode::none;         ///< that the library serves, where it is only one
  std::string_view why_not = {};  ///< where it has words of communication and is none: why it was not taken
};

/// Reads the name of a kernel as a tool prints it. Names are held against the table as a whole, never in part, once
/// return type, namespaces, template arguments and parameters are told apart.
NameMeaning meaning_of_kernel(std::string_view name);

/// Reads the name of a copy: only one between two devices is communication.
NameMeaning meaning_of_copy(std::string_view name);

/// The collective's word for what a launching annotation such as "nccl:all_reduce" or "ncclAllReduce" says, empty where
/// it says only that something is sent; nullopt where it is no launch of communication.
std::optional<std::string_view> collective_of_annotation(std::string_view annotation);

}  // namespace underlap::attribution
