// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "profiler/analysis/steps.hpp"
#include "profiler/analysis/windows.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

/// Whether the name of a range shows that it may hold up a step: "save_checkpoint", "validation",
/// "enumerate(DataLoader)".
bool is_pause(std::string_view name);

/// Adds to each rank of the list its ranges and calls on the host that may hold up a step.
void add_pauses(const Trace&, StepList&);

/// A pause and its extra time in a window, compared with other windows.
struct LongestPause {
  NameId name = kNoName;  ///< kNoName: none
  std::int64_t longer_ns = 0;
};

/// The pause of a rank with the most extra time in a stalled window, compared with its mean over the `usual` windows.
LongestPause longest_pause(const RankSteps&, const Window& stalled, std::span<const Window> usual);

}  // namespace underlap::analysis
