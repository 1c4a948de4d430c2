// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "profiler/analysis/summary.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

/// The main result in a few sentences: the time of the typical step, then its costs, the largest
/// first: exposed communication (its mode, its largest purpose, and which rank the others wait for) and idle time from
/// 5 % of the step on (with its cause, where the trace shows one). Where there are no steps, of the whole trace.
std::vector<std::string> headline(const Trace&, const Summary&);

/// What of a trace could not be read or used, a sentence each; none where all could.
std::vector<std::string> faults(const Trace&, const Summary&);

}  // namespace underlap::analysis
