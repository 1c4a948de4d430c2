// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "profiler/compare/operations.hpp"
#include "viewer/timeline/timeline.hpp"

namespace underlap::viewer {

/// The first slice of an operation in one step: the nth of each rank, or the whole trace if no steps are known. Prefers
/// `rank`, then the operation's stream. Reads no slice of another step. Timeline::kNoSlice if there is none.
std::uint32_t first_slice_of(const Timeline&, int nth_step, const compare::NetOperation&,
                             std::optional<std::int32_t> rank = {});

/// The slices of one rank that do the same in one step, by start time: their tags are equal except for the step. Slices
/// without a purpose must also have the same name.
struct Alike {
  int nth_step = 0;  ///< of the rank; 0 where no steps are known
  std::vector<std::uint32_t> slices;
  std::size_t index = 0;  ///< of the slice that was asked for
};
/// Nothing where it is in no step although steps are known, or in no lane.
std::optional<Alike> alike_in_step(const Timeline&, std::uint32_t slice);

/// The slice of `other` that corresponds to `slice`. It is in the step of the same number, on the corresponding rank,
/// and has the same index among slices that do the same. Timeline::kNoSlice if there is none.
std::uint32_t counterpart_of(const Timeline&, std::uint32_t slice, const Timeline& other);

}  // namespace underlap::viewer
