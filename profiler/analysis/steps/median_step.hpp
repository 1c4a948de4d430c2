// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "profiler/analysis/communications.hpp"
#include "profiler/analysis/intervals.hpp"
#include "profiler/analysis/windows.hpp"

namespace underlap::analysis {

/// A step over all ranks, on the common clock: from the last start of any rank to the last end.
struct CommonStep {
  Window first;  ///< of its first rank
  Interval span;
};

/// The step of median duration, of an even number the shorter one of the middle; nullopt without steps.
std::optional<CommonStep> median_step(const Communications&, std::span<const Window> windows);

}  // namespace underlap::analysis
