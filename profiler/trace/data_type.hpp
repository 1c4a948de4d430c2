// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace underlap {

/// Element type of a tensor or a message. f8e4m3 and f8e5m2 are the two 8-bit floats of Micikevicius et al. 2022, "FP8
/// formats for deep learning".
enum class DataType : std::uint8_t { f32, bf16, i32, u8, f64, f8e4m3, f8e5m2 };

/// Bytes of one element.
std::int64_t size_of(DataType);
/// Whether elements are 8-bit floats: values that are moved and multiplied, but never summed in their own type.
constexpr bool is_fp8(DataType dtype) { return dtype == DataType::f8e4m3 || dtype == DataType::f8e5m2; }

std::string_view to_string(DataType);
std::optional<DataType> data_type_from(std::string_view);

}  // namespace underlap
