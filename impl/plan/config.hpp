// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "impl/plan/tensor_overlap.hpp"
#include "profiler/trace/backend.hpp"
#include "profiler/trace/tag.hpp"

namespace underlap::plan {

enum class Activation : std::uint8_t { swiglu, gelu, squared_relu };
enum class PositionEmbedding : std::uint8_t { learned_absolute, rope, yarn, mrope, none };
enum class Normalization : std::uint8_t { rms_norm, layer_norm };

/// The transformer. Field names are Megatron's.
struct ModelConfig {
  std::string preset;  ///< empty: every field was given
  std::int64_t num_layers = 0;
  std::int64_t hidden_size = 0;
  std::int64_t ffn_hidden_size = 0;
  std::int64_t num_attention_heads = 0;
  std::int64_t num_query_groups = 0;  ///< key/value heads
  std::int64_t kv_channels = 0;       ///< features of a head; 0: hidden_size / num_attention_heads
  std::int64_t vocab_size = 0;
  std::int64_t seq_length = 0;
  bool share_embeddings_and_output_weights = false;
  Activation activation = Activation::swiglu;
  PositionEmbedding position_embedding_type = PositionEmbedding::learned_absolute;
  double rotary_base = 10'000;   ///< of the frequencies of rope
  double rotary_percent = 1;     ///< of each head's features that rope turns
  bool add_bias_linear = false;  ///< of qkv, proj, fc1 and fc2
  bool add_qkv_bias = false;     ///< of qkv, whatever the others have
  Normalization normalization = Normalization::rms_norm;
  bool deterministic_mode = false;  ///< cuda: attention's backward adds in one order
  /// "native": Megatron Core's own loss, or "te": Transformer Engine's. For its memory: Underlap has one of its own.
  std::string cross_entropy_fusion_impl = "native";

  std::int64_t head_size() const { return kv_channels > 0 ? kv_channels : hidden_size / num_attention_heads; }
  /// Whether queries and keys are turned: yarn and mrope do as rope, by other angles.
  bool is_rotary() const {
    return position_embedding_type != PositionEmbedding::learned_absolute &&
           position_embedding_type != PositionEmbedding::none;
  }
  bool has_qkv_bias() const { return add_bias_linear || add_qkv_bias; }
  /// Features of a head that are turned, in pairs.
  std::int64_t rotary_features() const {
    return static_cast<std::int64_t>(static_cast<double>(head_size()) * rotary_percent);
  }
};

/// The size of a mode that has no field of its own.
struct FurtherSize {
  Mode mode = Mode::none;
  std::int32_t size = 1;
  bool numbers_ranks = false;  ///< it has a digit in every rank's number
};

struct ParallelConfig {
  std::int32_t tensor_model_parallel_size = 1;
  std::int32_t pipeline_model_parallel_size = 1;
  std::int32_t virtual_pipeline_model_parallel_size = 1;
  bool interleaves_one_chunk = false;  ///< a virtual size of 1 was asked for, which is not the same as none
  std::int32_t context_parallel_size = 1;
  std::int32_t data_parallel_size = 1;
  bool sequence_parallel = false;
  /// Layers of each range of the model, the first of every stage before the second of any; empty: as many in each.
  std::vector<std::int32_t> layers_of_ranges = {};
  std::vector<FurtherSize> further = {};

  /// Whether the pipeline's order is that of virtual stages, even if each stage has one chunk.
  bool is_interleaved() const { return virtual_pipeline_model_parallel_size > 1 || interleaves_one_chunk; }
  /// Ranks of one pipeline stage; their numbers follow each other.
  std::int32_t stage_size() const {
    std::int32_t ranks = tensor_model_parallel_size * context_parallel_size * data_parallel_size;
    for (const FurtherSize& each : further) ranks *= each.numbers_ranks ? each.size : 1;
    return ranks;
  }
  /// Ranks that hold the same parameters, and reduce their gradients.
  std::int64_t num_replicas() const { return std::int64_t{data_parallel_size} * context_parallel_size; }
  std::int32_t num_stages() const { return pipeline_model_parallel_size; }
  std::int32_t chunks_of_stage() const { return virtual_pipeline_model_parallel_size; }
  /// Stages of one chunk each, in the plain order.
  void set_plain_stages() {
    virtual_pipeline_model_parallel_size = 1;
    interleaves_one_chunk = false;
  }
  /// Parts that the pipeline cuts the layers into.
  std::int64_t num_chunks() const {
    return std::int64_t{pipeline_model_parallel_size} * virtual_pipeline_model_parallel_size;
  }
  std::int32_t world_size() const { return stage_size() * pipeline_model_parallel_size; }
};

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

/// How a context-parallel group shares attention.
enum class CpCommType : std::uint8_t { p2p, all_gather, a2a, a2a_p2p };

struct ContextConfig {
  std::vector<CpCommType> cp_comm_type{CpCommType::p2p};  ///< by layer; one entry: of all layers
  /// Ranks of the all-to-all, which lie next to each other, and of the ring around them. nullopt but with a2a_p2p.
  std::optional<std::array<std::int32_t, 2>> hierarchical_context_parallel_sizes;

  CpCommType of_layer(std::int32_t layer) const {
    return cp_comm_type.size() == 1 ? cp_comm_type.front() : cp_comm_type.at(static_cast<std::size_t>(layer));
  }
};

/// Layers of a chunk whose forward pass runs again in backward, so that only some inputs are kept until then.
enum class RecomputeMethod : std::uint8_t {
  none,
  uniform,  ///< all, in groups that keep the input of their first layer
  block,    ///< the first ones, each of which keeps its input
};

struct RecomputeConfig {
  RecomputeMethod method = RecomputeMethod::none;
  std::int32_t num_layers = 0;  ///< uniform: of a group; block: that are recomputed
  bool mlp = false;             ///< the MLP of each layer, where no whole layers are
};

/// Layers whose activations wait in the host's memory between forward and backward.
struct OffloadConfig {
  std::int32_t num_layers = 0;
};

struct TrainConfig {
  std::int64_t micro_batch_size = 1;
  std::int64_t num_microbatches = 1;  ///< per data-parallel rank and step
  std::string data;                   ///< path of a text file; empty: the text that ships with Underlap
};

/// What each data-parallel rank holds a part of with Megatron-FSDP, each with what stands before it.
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

/// Layers at the ends of a model.
struct EdgeLayers {
  std::int32_t at_start = 0, at_end = 0;
};

/// What of the precision recipe is not in DdpConfig already. What its name says: impl/plan/precision.hpp.
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
  /// Of an activation that all tensor-parallel ranks hold each sends its part, and the next stage's ranks gather them.
  bool scatter_gather_tensors_in_pipeline = false;
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
  int cga_size = 0;          ///< blocks of a thread-block cluster; 0: as NCCL launches them on that GPU
  bool copy_engine = false;  ///< copy engines move what needs no addition; reductions are kernels all the same
  double latency_us = 0;     ///< of each step of a ring
};

/// Which of the traces that ranks record a run keeps. Figures come from all of them: ranks make their own.
struct KeptTraces {
  enum class Which : std::uint8_t { all, none, worst, sample };
  Which which = Which::all;    ///< worst: of each cell the block with its longest step, of all ranks
  std::int64_t num_ranks = 0;  ///< sample: so many, evenly spread
};

struct RunConfig {
  Backend backend = Backend::host;
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
  bool trace_strict = false;    ///< cuda: a block whose capture is incomplete fails its cell
  std::string traces = "all";   ///< as written
  KeptTraces kept_traces;       ///< what `traces` says
  bool no_comm = false;         ///< the same plan with every transfer removed: T_comp
  std::string hardware;         ///< sim: name or path of a hardware file, the one for gpu_arch where none was written
  double speed = 1;             ///< sim: of GEMMs and attention, as a part of what the hardware file says
  std::optional<std::int64_t> gpus_per_node;  ///< sim; nullopt: as the hardware file says
  bool numerics = false;                      ///< sim: values are computed in virtual time
  double jitter_pct = 0;                      ///< sim: each duration is varied by up to so much, seeded by `seed`
  bool fold = true;  ///< sim: of ranks whose programs are equal one is simulated for all, and it stands for the others

  const BackendTraits& traits() const { return traits_of(backend); }
  /// Whether a run computes anything from the text that it trains on.
  bool reads_values() const { return traits().measures_time || numerics; }
};

/// What is in effect: every automatic rule and gate has been applied.
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
