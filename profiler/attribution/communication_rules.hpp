// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/trace/name.hpp"
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

/// The purpose of a group of ranks, according to its name.
struct GroupMeaning {
  Mode mode = Mode::none;
  std::uint8_t confidence_pct = 0;
  std::string_view maker = {};  ///< the framework that uses the name: "Megatron", "DeviceMesh"
};

/// Reads the name of a process group or communicator. nullopt for names without a meaning, such as "undefined",
/// "default_pg" or a number.
std::optional<GroupMeaning> meaning_of_group(std::string_view name);

/// The qualified name of a kernel: "void a::(anonymous namespace)::b<int, c<d> >(e*)" gives "a::b". Without return
/// type, template arguments, parameters and unnamed namespaces. Mangled names are demangled first. A truncated name
/// gives the part before the cut.
std::string qualified_name(std::string_view kernel);

/// Whether `pattern` matches all of `text`; a `*` matches any characters.
bool matches(std::string_view pattern, std::string_view text);

/// Whether `is_it` holds for any of the alternatives of a rule, which | separates.
template <class IsIt>
bool any_alternative(std::string_view alternatives, const IsIt& is_it) {
  const std::size_t end = alternatives.find('|');
  if (is_it(alternatives.substr(0, end))) return true;
  return end != std::string_view::npos && any_alternative(alternatives.substr(end + 1), is_it);
}

/// Whether any of the patterns of a rule matches all of `text`.
inline bool matches_any(std::string_view patterns, std::string_view text) {
  return any_alternative(patterns, [&](std::string_view pattern) { return matches(pattern, text); });
}

/// The meanings of names, each evaluated once. Ids count from 0, so millions of slices are looked up by index.
/// References to meanings stay valid.
template <class Meaning>
class ByName {
 public:
  /// What was read of `name`; read(name_of(name)) where that is the first time.
  template <class Read>
  const Meaning& of(NameId name, const Read& read) {
    const auto id = static_cast<std::size_t>(name);
    if (id >= known_.size()) known_.resize(std::max(id + 1, 2 * known_.size()));
    if (!known_[id]) known_[id] = std::make_unique<Meaning>(read(name_of(name)));
    return *known_[id];
  }

 private:
  std::vector<std::unique_ptr<Meaning>> known_;
};

}  // namespace underlap::attribution
