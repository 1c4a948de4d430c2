// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "profiler/analysis/summary.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

/// What a person wants to know first, three sentences at most: how long the step is; how much of it is exposed
/// communication, and of which mode; what most of that is, and which rank the others wait for, or what would tell.
/// Where there are no steps, of the whole trace. Figures are those of the mean rank.
std::vector<std::string> headline(const Trace&, const Summary&);

/// What of a trace could not be read or used, a sentence each; none where all could.
std::vector<std::string> faults(const Trace&, const Summary&);

}  // namespace underlap::analysis
