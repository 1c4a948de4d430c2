// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "profiler/compare/operations.hpp"
#include "viewer/timeline/timeline.hpp"

namespace underlap::viewer {

/// The first slice of an operation in one step: the nth of each rank, or all there is where no steps are known. Of
/// `rank` where that has one. The operation's stream is taken where a rank has one of that name. Looks at no slice of
/// another step. Timeline::kNoSlice where there is none.
std::uint32_t first_slice_of(const Timeline&, int nth_step, const compare::NetOperation&,
                             std::optional<std::int32_t> rank = {});

}  // namespace underlap::viewer
