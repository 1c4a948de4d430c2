// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace underlap::compare {

constexpr std::size_t kShortName = 34;

/// A kernel's name without its return type. If it is still longer than `longest` characters, drops its arguments and
/// namespaces, then its middle. Whole names can fill a screen; JSON and Markdown have them.
std::string short_name(std::string_view name, std::size_t longest = kShortName);

/// A name that is to be shortened, and to how much.
struct LongName {
  std::string name;
  std::size_t longest = kShortName;
};

/// Short names that differ wherever the names differ. If two names would be shortened to the same text, the part that
/// differs, such as a template argument, is kept.
std::vector<std::string> short_names(const std::vector<LongName>& names);

}  // namespace underlap::compare
