// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace underlap::plan {

/// How pipeline stages exchange activations and their gradients.
struct PipelineConfig {
  bool overlap_p2p_comm = false;                        ///< exchanges run during compute
  bool batch_p2p_comm = true;                           ///< simultaneous sends and receives form one group
  bool batch_p2p_sync = true;                           ///< the host waits for the device after every such group
  bool overlap_p2p_comm_warmup_flush = false;           ///< also while the pipeline fills and drains
  std::int64_t microbatch_group_size_per_vp_stage = 1;  ///< consecutive microbatches of one chunk
  bool deallocate_pipeline_outputs = true;              ///< an output is freed after it is sent: compute waits for that
  bool defer_embedding_wgrad_compute = false;           ///< the head's wgrad waits until the pipeline drains
  std::int64_t wgrad_deferral_limit = 0;                ///< microbatches that may wait; 0: all
};

}  // namespace underlap::plan
