// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "impl/plan/config.hpp"

namespace underlap::pp {

/// A technique of pipelines with its knobs.
struct TechniqueCase {
  std::string name;
  bool is_interleaved = false;
  plan::PipelineConfig pipeline;
  bool release_by_event = false;
  std::int32_t fewest_stages = 2;  ///< one group cannot tell apart what a peer sends from both sides
  std::int32_t num_tensor = 1;     ///< above 1: scatter_gather_tensors_in_pipeline
};

/// All of them, with every knob that changes what they enqueue.
inline std::vector<TechniqueCase> technique_cases() {
  const plan::PipelineConfig unbatched{.batch_p2p_comm = false}, unsynchronized{.batch_p2p_sync = false}, batched;
  const plan::PipelineConfig overlap{.overlap_p2p_comm = true, .batch_p2p_comm = false};
  plan::PipelineConfig kept = overlap, flush = overlap, kept_flush = overlap;
  kept.deallocate_pipeline_outputs = kept_flush.deallocate_pipeline_outputs = false;
  flush.overlap_p2p_comm_warmup_flush = kept_flush.overlap_p2p_comm_warmup_flush = true;
  return {{"Plain", false, unbatched},
          {"PlainBatched", false, unsynchronized},
          {"PlainSynchronized", false, batched},
          {"PlainOverlapped", false, overlap},
          {"Interleaved", true, unbatched},
          {"InterleavedBatched", true, unsynchronized, false, 3},
          {"InterleavedSynchronized", true, batched, false, 3},
          {"Overlapped", true, overlap},
          {"OverlappedKept", true, kept},
          {"OverlappedByEvent", true, overlap, true},
          {"OverlappedFlush", true, flush},
          {"OverlappedFlushKept", true, kept_flush},
          {"OverlappedFlushByEvent", true, flush, true},
          {"PlainInParts", false, unbatched, false, 2, 2},
          {"PlainSynchronizedInParts", false, batched, false, 2, 2},
          {"PlainOverlappedInParts", false, overlap, false, 2, 2},
          {"InterleavedBatchedInParts", true, unsynchronized, false, 3, 2},
          {"InterleavedSynchronizedInParts", true, batched, false, 3, 2},
          {"OverlappedInParts", true, overlap, false, 2, 2},
          {"OverlappedFlushByEventInParts", true, flush, true, 2, 2}};
}

}  // namespace underlap::pp
