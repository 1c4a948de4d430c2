// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "profiler/analysis/communications.hpp"
#include "profiler/analysis/intervals.hpp"
#include "profiler/analysis/windows.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

/// A step over all ranks, on the common clock: from the last start of any rank to the last end.
struct CommonStep {
  Window first;  ///< of its first rank
  Interval span;
};

/// The step of median duration, of an even number the shorter one of the middle; nullopt without steps.
std::optional<CommonStep> median_step(const Communications&, std::span<const Window> windows);

/// The windows of one step: of `windows`, or of the trace's marks if `windows` is empty. Throws std::invalid_argument,
/// naming the steps that exist, if no rank has that step.
std::vector<Window> windows_of_step(const Trace&, std::span<const Window> windows, std::int32_t block,
                                    std::int32_t step);

}  // namespace underlap::analysis
