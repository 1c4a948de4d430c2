// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "profiler/formats/nsys/import.hpp"

namespace underlap::formats::nsys {

inline constexpr std::uint32_t kNoSlice = ~std::uint32_t{0};

/// Reads the calls of CUDA's runtime and driver, and adds the flows from them to the work that they enqueued.
///
/// Returns the slice of the call of each of Import::device_work; kNoSlice where it is not known.
std::vector<std::uint32_t> read_calls(Import&);

}  // namespace underlap::formats::nsys
