// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace underlap {

/// Names of an enumeration whose values count up from 0, in their order.
template <class Enum, std::size_t kCount>
struct EnumNames {
  std::array<std::string_view, kCount> names;

  constexpr std::string_view operator[](Enum value) const { return names.at(static_cast<std::size_t>(value)); }

  constexpr std::optional<Enum> find(std::string_view name) const {
    for (std::size_t i = 0; i < kCount; ++i)
      if (names[i] == name) return static_cast<Enum>(i);
    return std::nullopt;
  }
};

}  // namespace underlap
