// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/trace/kernel_name.hpp"
#include "profiler/trace/name.hpp"

namespace underlap::attribution {

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

/// Whether any of the patterns, which | separates, matches the name of a kernel: the name as a tool prints it, its
/// qualified name, or, for a pattern without "::", the part after the last namespace.
bool matches_kernel(std::string_view patterns, std::string_view kernel, std::string_view qualified);

/// The meanings of names, each evaluated once. Ids count from 0, so millions of slices are looked up by index.
/// References to meanings stay valid.
template <class Meaning>
class ByName {
 public:
  /// The meaning of `name`; calls read(name_of(name)) the first time.
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
