// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>

namespace underlap {

/// "a, b and 3 more": the first `most` items, and the number of the others.
template <class Items>
std::string short_list(const Items& items, std::size_t most) {
  const std::size_t shown = std::min(most, std::size(items));
  const auto end = std::next(std::begin(items), static_cast<std::ptrdiff_t>(shown));
  const std::string text = fmt::format("{}", fmt::join(std::begin(items), end, ", "));
  return shown == std::size(items) ? text : fmt::format("{} and {} more", text, std::size(items) - shown);
}

}  // namespace underlap
