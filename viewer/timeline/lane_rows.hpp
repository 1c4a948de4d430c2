// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "profiler/trace/trace.hpp"

namespace underlap::viewer {

/// The slices of each track, by start.
std::vector<std::vector<std::uint32_t>> slices_of_tracks(const Trace&);

/// Spreads slices of one track, sorted by start, over as few rows as it takes that no two of a row overlap.
std::vector<std::vector<std::uint32_t>> rows_apart(const Trace&, std::vector<std::uint32_t> slices);

/// The same for calls and ranges, which nest: each is one row below the one that it is within.
std::vector<std::vector<std::uint32_t>> rows_nested(const Trace&, std::vector<std::uint32_t> slices);

}  // namespace underlap::viewer
