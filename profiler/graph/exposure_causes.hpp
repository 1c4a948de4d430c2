// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "profiler/analysis/exposure_reasons.hpp"
#include "profiler/analysis/windows.hpp"
#include "profiler/graph/graph.hpp"
#include "profiler/graph/replay.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::graph {

/// Finds why each communication is exposed in `windows`: from the edge that its start waited for last, and from
/// what the next compute of its rank waited for. The graph must be built from this trace. All copies of one
/// collective are one communication.
///
/// The first rule that holds applies:
///
/// 1. it waits for other members for over half of its exposed time: late_rank, or pipeline for a pipeline receive
/// 2. its stream has most of the rank's compute, some of it directly before or after it: same_stream
/// 3. nothing computes when it starts, and it waited last for its launch. The host waited for work before that
///    launch, or the launch came later than the work it depends on by at least half of the exposed time: late_launch
/// 4. the next compute waits for it, by an event or through the host: no_other_work. Guessed if that compute was
///    launched earlier and starts right at its end
/// 5. nothing computes when it starts, right after work it waited for: event, or same_stream on its own stream
///
/// Fails when the trace has no launches or events: the reason is then unknown, or guessed by order.
analysis::ExposureReasons find_exposure_reasons(const Trace&, const Graph&, const Gaps&,
                                                std::span<const analysis::Window> windows);

/// The same, with a graph built from the trace.
analysis::ExposureReasons find_exposure_reasons(const Trace&, const analysis::Communications&,
                                                std::span<const analysis::Window> windows);

}  // namespace underlap::graph
