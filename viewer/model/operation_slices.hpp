// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "profiler/compare/operations.hpp"
#include "viewer/timeline/timeline.hpp"

namespace underlap::viewer {

/// The first slice of an operation in one step: the nth of each rank, or all there is where no steps are known. Of
/// `rank` where that has one. The operation's stream is taken where a rank has one of that name. Looks at no slice of
/// another step. Timeline::kNoSlice where there is none.
std::uint32_t first_slice_of(const Timeline&, int nth_step, const compare::NetOperation&,
                             std::optional<std::int32_t> rank = {});

/// The slices of one rank that do the same in one step, by begin: of one tag but for its step, and where that has no
/// purpose of one name.
struct Alike {
  int nth_step = 0;  ///< of the rank; 0 where no steps are known
  std::vector<std::uint32_t> slices;
  std::size_t index = 0;  ///< of the slice that was asked for
};
/// Nothing where it is in no step although steps are known, or in no lane.
std::optional<Alike> alike_in_step(const Timeline&, std::uint32_t slice);

/// What does on the other side what `slice` does here: in its step of as many, of the rank that stands for its rank,
/// of those that do the same the one of its number. Timeline::kNoSlice where there is none.
std::uint32_t counterpart_of(const Timeline&, std::uint32_t slice, const Timeline& other);

}  // namespace underlap::viewer
