// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "profiler/analysis/exposure_reasons.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::graph {

/// Finds what keeps compute from hiding each communication, by slice: from the edge that its start waited for last,
/// and from what the next compute of its rank waited for. Communication must be attributed. Nothing is compared
/// between ranks, so the trace may hold one rank of a job. All copies of one collective are one communication.
///
/// The first rule that holds applies:
///
/// 1. its stream has most of the rank's compute, some of it directly before or after it: same_stream
/// 2. nothing computes when it starts, and it waited last for its launch. The host waited for work before that
///    launch, or the launch came later than the work it depends on by at least half of the exposed time: late_launch
/// 3. the next compute waits for it, by an event or through the host: no_other_work. Guessed if that compute was
///    launched earlier and starts right at its end
/// 4. nothing computes when it starts, right after work it waited for: event, or same_stream on its own stream
///
/// Fails when the trace has no launches or events: the reason is then unknown, or guessed by order.
std::vector<analysis::ExposureCause> find_exposure_causes(const Trace&);

}  // namespace underlap::graph
