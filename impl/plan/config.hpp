// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "impl/plan/config/activation_config.hpp"
#include "impl/plan/config/context_config.hpp"
#include "impl/plan/config/data_config.hpp"
#include "impl/plan/config/model_config.hpp"
#include "impl/plan/config/optimizer_config.hpp"
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
