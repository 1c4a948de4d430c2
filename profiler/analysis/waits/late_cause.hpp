// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "profiler/analysis/communications.hpp"
#include "profiler/analysis/waits.hpp"
#include "profiler/analysis/waits/covered_time.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

/// Sets own_cause, cause_ns and kernel of `arrivals`, which are in order of last_ns, of all matches, where a wait is
/// longer than the clocks' uncertainty. `times` holds every rank with work.
void find_late_causes(const Trace&, const Communications&, const std::map<std::int32_t, RankTime>& times,
                      std::span<LateArrival> arrivals);

}  // namespace underlap::analysis
