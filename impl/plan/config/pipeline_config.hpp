// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace underlap::plan {

/// How pipeline stages exchange activations and their gradients.
struct PipelineConfig {
  bool overlap_p2p_comm = false;                        ///< exchanges run beside compute
  bool batch_p2p_comm = true;                           ///< what is sent and received at one time is one group
  bool batch_p2p_sync = true;                           ///< the host waits for the device behind every such group
  bool overlap_p2p_comm_warmup_flush = false;           ///< also while the pipeline fills and drains
  std::int64_t microbatch_group_size_per_vp_stage = 1;  ///< microbatches that a chunk takes in a row
  bool deallocate_pipeline_outputs = true;              ///< an output is freed once it is sent: compute waits for that
  bool defer_embedding_wgrad_compute = false;           ///< the head's wgrad waits for the drain of the pipeline
  std::int64_t wgrad_deferral_limit = 0;                ///< microbatches that may wait; 0: all
};

}  // namespace underlap::plan
