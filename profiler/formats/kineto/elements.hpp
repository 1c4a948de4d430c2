// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "profiler/trace/data_type.hpp"

namespace underlap::formats {

/// An element type as PyTorch's profiler names it.
struct KinetoElement {
  std::string_view name;
  DataType dtype = DataType::u8;  ///< u8 for types that DataType does not have
  std::int64_t bytes = 1;
};

/// nullptr for an unknown name.
inline const KinetoElement* kineto_element(std::string_view name) {
  static constexpr std::array<KinetoElement, 15> kElements{{{"Float", DataType::f32, 4},
                                                            {"BFloat16", DataType::bf16, 2},
                                                            {"Half", DataType::u8, 2},
                                                            {"Double", DataType::f64, 8},
                                                            {"Int", DataType::i32, 4},
                                                            {"Long", DataType::u8, 8},
                                                            {"Short", DataType::u8, 2},
                                                            {"Byte", DataType::u8, 1},
                                                            {"Char", DataType::u8, 1},
                                                            {"Bool", DataType::u8, 1},
                                                            {"Float8_e4m3fn", DataType::f8e4m3, 1},
                                                            {"Float8_e5m2", DataType::f8e5m2, 1},
                                                            {"ComplexFloat", DataType::u8, 8},
                                                            {"ComplexDouble", DataType::u8, 16},
                                                            {"UInt8", DataType::u8, 1}}};
  const auto found = std::ranges::find(kElements, name, &KinetoElement::name);
  return found == kElements.end() ? nullptr : &*found;
}

/// The bytes of this many elements; 0 if a message cannot have this size.
inline std::int64_t kineto_bytes(const KinetoElement& element, std::int64_t elements) {
  constexpr std::int64_t kMostMessageBytes = std::int64_t{1} << 50;
  std::int64_t bytes = 0;
  const bool is_too_large = __builtin_mul_overflow(std::max<std::int64_t>(0, elements), element.bytes, &bytes);
  return is_too_large || bytes >= kMostMessageBytes ? 0 : bytes;
}

}  // namespace underlap::formats
