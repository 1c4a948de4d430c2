// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "impl/plan/config/activation_config.hpp"
#include "impl/plan/config/context_config.hpp"
#include "impl/plan/config/model_config.hpp"
#include "impl/plan/config/parallel_config.hpp"
#include "impl/plan/config/pipeline_config.hpp"
#include "impl/plan/config/run_config.hpp"
#include "impl/plan/tensor_overlap.hpp"

namespace underlap::plan {

struct TrainConfig {
  std::int64_t micro_batch_size = 1;
  std::int64_t num_microbatches = 1;  ///< per data-parallel rank and step
  std::string data;                   ///< path of a text file; empty: the text that ships with Underlap
};

/// The data that Megatron-FSDP shards over data-parallel ranks; each value includes the previous ones.
enum class ShardingStrategy : std::uint8_t { no_shard, optim, optim_grads, optim_grads_params };

/// Megatron-FSDP. Only its memory is planned.
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

/// Layers at the ends of a model.
struct EdgeLayers {
  std::int32_t at_start = 0, at_end = 0;
};

/// The parts of the precision recipe that are not in DdpConfig. The meaning of its name: impl/plan/precision.hpp.
struct MixedPrecisionConfig {
  std::string recipe = "bf16_mixed";
  bool fp8_param_gather = false;
  bool fp4_param_gather = false;
  std::optional<EdgeLayers> layers_in_bf16;  ///< nullopt: the recipe's
};

struct OptimizerConfig {
  double lr = 1e-3;
  double adam_beta1 = 0.9;
  double adam_beta2 = 0.95;
  double adam_eps = 1e-8;
  double weight_decay = 0.0;
  double clip_grad = 0.0;                                 ///< bound of the gradient norm; 0: no clipping
  bool overlap_param_gather_with_optimizer_step = false;  ///< the first chunk is gathered while the others are updated
  bool use_precision_aware_optimizer = false;  ///< main parameters without the bits that bf16 parameters have already
};

/// Knobs of our own, off by default.
struct Extensions {
  std::int32_t param_gather_prefetch = 1;  ///< buckets in flight beyond the one that is waited for
  bool separate_gather_communicator = false;
  std::string reduce_accumulator = "wire";        ///< "wire" or "fp32": type of the partial sums inside a reduction
  std::string tp_ring_transport = "copy_engine";  ///< "copy_engine", as userbuffers, or "nccl": sends and receives
  bool tp_async_collectives = true;               ///< false: without userbuffers every TP collective is waited for
  bool cp_overlap = true;                         ///< false: every transfer of context parallelism is waited for
  bool release_by_event = false;                 ///< a sent output is freed by an event instead of by compute's waiting
  bool overlap_without_virtual_stages = false;   ///< overlap_p2p_comm with the plain 1F1B schedule
  std::optional<std::string> pipeline_schedule;  ///< by name; nullopt: what Megatron runs
  bool bucket_every_stage = false;               ///< every chunk of every stage is cut into buckets
  /// If all tensor-parallel ranks hold the same activation, each sends a part, and the next stage's ranks gather them.
  bool scatter_gather_tensors_in_pipeline = false;
};

/// The parts of the launch environment that affect durations. plan_environment() fills it by its rules.
struct EnvironmentConfig {
  std::string gpu_arch = "h100";
  std::int32_t cuda_device_max_connections = 8;        ///< hardware queues
  std::int32_t layernorm_sm_margin = 16;               ///< SMs that norm kernels leave free; 0: none
  bool torch_nccl_high_priority = false;               ///< communication streams go before compute streams
  std::optional<std::int64_t> nccl_pp_comm_chunksize;  ///< bytes; nullopt: NCCL's own, or no pipeline
};

/// The effective configuration: every automatic rule and gate has been applied.
struct Config {
  ModelConfig model;
  ParallelConfig parallel;
  TrainConfig train;
  PipelineConfig pipeline;
  ContextConfig context;
  RecomputeConfig recompute;
  OffloadConfig offload;
  DdpConfig ddp;
  TensorOverlap tensor_overlap;
  MixedPrecisionConfig mixed_precision;
  OptimizerConfig optimizer;
  Extensions extensions;
  EnvironmentConfig environment;
  RunConfig run;
};

}  // namespace underlap::plan
