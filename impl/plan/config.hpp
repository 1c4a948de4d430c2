// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace underlap::plan {

enum class Activation : std::uint8_t { swiglu, gelu, squared_relu };

/// The transformer. Field names are Megatron's.
struct ModelConfig {
  std::string preset;  ///< empty: every field was given
  std::int64_t num_layers = 0;
  std::int64_t hidden_size = 0;
  std::int64_t ffn_hidden_size = 0;
  std::int64_t num_attention_heads = 0;
  std::int64_t num_query_groups = 0;  ///< key/value heads
  std::int64_t vocab_size = 0;
  std::int64_t seq_length = 0;
  bool share_embeddings_and_output_weights = false;
  Activation activation = Activation::swiglu;

  std::int64_t head_size() const { return hidden_size / num_attention_heads; }
};

struct ParallelConfig {
  std::int32_t tensor_model_parallel_size = 1;
  std::int32_t pipeline_model_parallel_size = 1;
  std::int32_t virtual_pipeline_model_parallel_size = 1;
  std::int32_t context_parallel_size = 1;
  std::int32_t data_parallel_size = 1;
  bool sequence_parallel = false;

  std::int32_t world_size() const {
    return tensor_model_parallel_size * pipeline_model_parallel_size * context_parallel_size * data_parallel_size;
  }
};

struct TrainConfig {
  std::int64_t micro_batch_size = 1;
  std::int64_t num_microbatches = 1;  ///< per data-parallel rank and step
  std::string data;                   ///< path of a text file; empty: the text that ships with Underlap
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
};

/// What of the precision recipe is not in DdpConfig already.
struct MixedPrecisionConfig {
  std::string recipe = "bf16_mixed";
  bool fp8_param_gather = false;
};

struct OptimizerConfig {
  double lr = 1e-3;
  double adam_beta1 = 0.9;
  double adam_beta2 = 0.95;
  double adam_eps = 1e-8;
  double weight_decay = 0.0;
  double clip_grad = 0.0;  ///< bound of the gradient norm; 0: no clipping
};

/// Knobs of our own, off by default.
struct Extensions {
  std::int32_t param_gather_prefetch = 1;  ///< buckets in flight beyond the one that is waited for
  bool separate_gather_communicator = false;
  std::string reduce_accumulator = "wire";  ///< "wire" or "fp32": type of the partial sums inside a reduction
};

/// What of the launch environment changes how long things take. plan_environment() fills it by its rules.
struct EnvironmentConfig {
  std::string gpu_arch = "h100";
  std::int32_t cuda_device_max_connections = 8;        ///< hardware queues
  std::int32_t layernorm_sm_margin = 16;               ///< SMs that norm kernels leave free; 0: none
  bool torch_nccl_high_priority = false;               ///< communication streams go before compute streams
  std::optional<std::int64_t> nccl_pp_comm_chunksize;  ///< bytes; nullopt: NCCL's own, or no pipeline
};

/// A stand-in for the link between GPUs, where there is one GPU: a rank of a symmetric group runs alone, and each of
/// its transfers takes the time that the link would take.
struct EmulatedLink {
  double gb_per_s = 0;       ///< 1e9 bytes a second, in each direction of a rank
  int sms = 16;              ///< blocks of a transfer's kernel, one on each multiprocessor
  bool copy_engine = false;  ///< copy engines move what needs no addition; reductions are kernels all the same
  double latency_us = 0;     ///< of each step of a ring
};

struct RunConfig {
  std::string backend = "host";
  std::int64_t steps = 8;  ///< measured steps of one cell in one block
  std::int64_t blocks = 5;
  std::int64_t warmup = 2;  ///< unmeasured steps of each cell before its first block
  std::uint64_t seed = 1;
  std::optional<std::string> link;            ///< as written; nullopt: the link that is there
  std::optional<EmulatedLink> emulated_link;  ///< cuda: what `link` says; nullopt: the link that is there
  double link_gbps = 0;                       ///< Gbit/s of each rank and direction; 0: not paced
  double link_latency_us = 0;
  double peer_timeout_s = 30;
  bool rank_processes = false;  ///< each rank is a process of its own, and not threads of one
  bool trace = true;            ///< false: windows from marks alone, for the cost of tracing
  bool no_comm = false;         ///< the same plan with every transfer removed: T_comp
  std::string hardware;         ///< sim: name or path of a hardware file, the one for gpu_arch where none was written
  std::optional<std::int64_t> gpus_per_node;  ///< sim; nullopt: as the hardware file says
  bool numerics = false;                      ///< sim: values are computed in virtual time
  double jitter_pct = 0;                      ///< sim: each duration is varied by up to so much, seeded by `seed`
};

/// What is in effect: every automatic rule and gate has been applied.
struct Config {
  ModelConfig model;
  ParallelConfig parallel;
  TrainConfig train;
  DdpConfig ddp;
  MixedPrecisionConfig mixed_precision;
  OptimizerConfig optimizer;
  Extensions extensions;
  EnvironmentConfig environment;
  RunConfig run;
};

}  // namespace underlap::plan
