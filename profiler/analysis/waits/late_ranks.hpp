// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "profiler/analysis/waits.hpp"

namespace underlap::analysis {

/// The ranks on which waiting is blamed that is not the schedule of a pipeline, that with most of it first.
std::vector<LateRank> late_ranks(const WaitReport&);

}  // namespace underlap::analysis
