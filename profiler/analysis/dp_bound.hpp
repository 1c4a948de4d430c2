// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace underlap::analysis {

/// One data-parallel step of one rank, as durations alone (nanoseconds).
///
/// The step begins at the mark, the end of the optimizer: nothing is in flight, and no bucket is gathered.
/// Microbatches after the first forward touch no bucket for the first time and those before the last backward complete
/// none: their compute belongs to the last forward segment.
struct DpStep {
  std::vector<std::int64_t> forward_ns;  ///< compute from the first touch of bucket i to that of bucket i+1, or the end
  std::vector<std::int64_t> gather_ns;   ///< parameter gather of bucket i, in the order of first touch
  std::vector<std::int64_t> backward_ns;  ///< compute until the gradients of bucket i are complete, from those of i-1
  std::vector<std::int64_t> reduce_ns;    ///< gradient reduce of bucket i, in the order of completion
  std::int64_t optimizer_ns = 0;
  bool overlap_param_gather = false;
  bool overlap_grad_reduce = false;
  std::int32_t prefetch_depth = 1;            ///< gathers in flight ahead of the touched bucket
  bool separate_gather_communicator = false;  ///< gathers have a stream of their own
};

/// The least that a DpStep can take with these durations.
struct DpBound {
  std::int64_t step_ns = 0;
  std::int64_t exposed_ns = 0;  ///< step - compute: what the compute stream waits
};

/// The makespan that the edges of the schedule force, without contention.
///
/// Gathers, when overlapped: the first bucket touched is dispatched on the spot and waited for, then the next
/// `prefetch_depth` are dispatched; each later first touch waits for its gather and dispatches one more. Reduces, when
/// overlapped: dispatched as each bucket completes, FIFO; the optimizer waits for all. Without overlap: one gather of
/// all before forward, one reduce of all after backward.
/// Throws std::invalid_argument for lists of unequal length, a negative duration or depth.
DpBound dp_bound(const DpStep&);

}  // namespace underlap::analysis
