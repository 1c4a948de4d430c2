// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace underlap::plan {

/// The data that Megatron-FSDP shards over data-parallel ranks; each value includes the previous ones.
enum class ShardingStrategy : std::uint8_t { no_shard, optim, optim_grads, optim_grads_params };

/// Megatron-FSDP, of which the memory alone is planned.
struct FsdpConfig {
  ShardingStrategy strategy = ShardingStrategy::no_shard;
  bool double_buffer = false;                           ///< two units' parameters and gradients at a time, no more
  std::optional<std::int64_t> communication_unit_size;  ///< parameters that are on their way at once
};

struct DdpConfig {
  bool use_distributed_optimizer = true;
  bool overlap_grad_reduce = false;
  bool overlap_param_gather = false;
  std::optional<std::int64_t> bucket_size;  ///< parameters, not bytes; nullopt: one bucket (always without overlap)
  bool average_in_collective = false;
  bool grad_reduce_in_fp32 = true;
  bool reduce_scatter_with_fp32_accumulation = false;
  bool pad_buckets_for_high_nccl_busbw = false;
  bool align_param_gather = false;  ///< all stages start a chunk's gather at the same place of the schedule
  bool align_grad_reduce = true;    ///< all stages start a chunk's reduction at the same place of the schedule
  bool nccl_ub = false;             ///< NCCL knows the buffers of parameters and gradients beforehand
  bool disable_symmetric_registration = false;  ///< each rank registers its own alone, and not as a window of all
  std::int32_t num_distributed_optimizer_instances = 1;  ///< groups that the shards of one optimizer are spread over
  std::optional<FsdpConfig> fsdp;                        ///< in place of the distributed optimizer and its buckets
};

}  // namespace underlap::plan
