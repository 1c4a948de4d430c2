// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/schema/schema.hpp"

#include <tuple>
#include <type_traits>

#include "profiler/trace/enum_names.hpp"

namespace underlap::plan {
namespace {

constexpr EnumNames<Activation, 3> kActivationNames{{"swiglu", "gelu", "squared_relu"}};
constexpr EnumNames<PositionEmbedding, 5> kPositionEmbeddingNames{
    {"learned_absolute", "rope", "yarn", "mrope", "none"}};
constexpr EnumNames<Normalization, 2> kNormalizationNames{{"RMSNorm", "LayerNorm"}};

// The enumerations of Config, by the words that are written for them.
void from_word(Activation& field, std::string_view word) { field = kActivationNames.find(word).value(); }
void from_word(PositionEmbedding& field, std::string_view word) { field = kPositionEmbeddingNames.find(word).value(); }
void from_word(Normalization& field, std::string_view word) { field = kNormalizationNames.find(word).value(); }
void from_word(Backend& field, std::string_view word) { field = backend_from(word).value(); }
std::string_view to_word(Activation field) { return kActivationNames[field]; }
std::string_view to_word(PositionEmbedding field) { return kPositionEmbeddingNames[field]; }
std::string_view to_word(Normalization field) { return kNormalizationNames[field]; }
std::string_view to_word(Backend field) { return to_string(field); }

/// Puts a value of the field's kind, as read_value checks it, into a field of Config; null where there may be none.
template <class Field>
void assign(Field& field, const Value& value) {
  if constexpr (std::is_enum_v<Field>)
    from_word(field, std::get<std::string>(value));
  else if constexpr (std::is_same_v<Field, bool> || std::is_same_v<Field, std::string> || std::is_same_v<Field, double>)
    field = std::get<Field>(value);
  else if constexpr (std::is_integral_v<Field>)
    field = static_cast<Field>(std::get<std::int64_t>(value));
  else if (is_null(value))
    field.reset();
  else
    field = std::get<typename Field::value_type>(value);
}

/// A field of Config as a Value.
template <class Field>
Value to_value(const Field& field) {
  if constexpr (std::is_enum_v<Field>)
    return std::string(to_word(field));
  else if constexpr (std::is_same_v<Field, bool> || std::is_same_v<Field, std::string> || std::is_same_v<Field, double>)
    return field;
  else if constexpr (std::is_integral_v<Field>)
    return static_cast<std::int64_t>(field);
  else
    return field ? Value(*field) : Value();
}

/// The section of Config that is a `Section`.
template <class Section, class AnyConfig>
auto& section(AnyConfig& c) {
  return std::get<std::conditional_t<std::is_const_v<AnyConfig>, const Section&, Section&>>(
      std::tie(c.model, c.parallel, c.train, c.pipeline, c.ddp, c.mixed_precision, c.optimizer, c.extensions,
               c.environment, c.run));
}

template <class Section, class Field>
Section owner_of(Field Section::*);

template <auto field>
void store_field(Config& config, const Value& value) {
  assign(section<decltype(owner_of(field))>(config).*field, value);
}

template <auto field>
Value read_field(const Config& config) {
  return to_value(section<decltype(owner_of(field))>(config).*field);
}

template <auto field>
constexpr ConfigField kField{&store_field<field>, &read_field<field>};

void store_trace(Config& config, const Value& value) {
  const bool* const flag = std::get_if<bool>(&value);
  config.run.trace = flag == nullptr || *flag;
  config.run.trace_strict = flag == nullptr;
}

Value read_trace(const Config& config) {
  return config.run.trace_strict ? Value(std::string("strict")) : Value(config.run.trace);
}

constexpr auto kKeyFields = std::to_array<KeyField>({
    {"model.batch_p2p_sync", kField<&PipelineConfig::batch_p2p_sync>},
    {"model.overlap_p2p_comm_warmup_flush", kField<&PipelineConfig::overlap_p2p_comm_warmup_flush>},
    {"model.deallocate_pipeline_outputs", kField<&PipelineConfig::deallocate_pipeline_outputs>},
    {"model.microbatch_group_size_per_vp_stage", kField<&PipelineConfig::microbatch_group_size_per_vp_stage>},
    {"comm_overlap.overlap_grad_reduce", kField<&DdpConfig::overlap_grad_reduce>},
    {"comm_overlap.overlap_param_gather", kField<&DdpConfig::overlap_param_gather>},
    {"comm_overlap.bucket_size", kField<&DdpConfig::bucket_size>},
    {"comm_overlap.align_param_gather", kField<&DdpConfig::align_param_gather>},
    {"comm_overlap.overlap_param_gather_with_optimizer_step",
     kField<&OptimizerConfig::overlap_param_gather_with_optimizer_step>},
    {"comm_overlap.overlap_p2p_comm", kField<&PipelineConfig::overlap_p2p_comm>},
    {"comm_overlap.batch_p2p_comm", kField<&PipelineConfig::batch_p2p_comm>},
    {"comm_overlap.defer_embedding_wgrad_compute", kField<&PipelineConfig::defer_embedding_wgrad_compute>},
    {"ddp.use_distributed_optimizer", kField<&DdpConfig::use_distributed_optimizer>},
    {"ddp.average_in_collective", kField<&DdpConfig::average_in_collective>},
    {"ddp.pad_buckets_for_high_nccl_busbw", kField<&DdpConfig::pad_buckets_for_high_nccl_busbw>},
    {"ddp.reduce_scatter_with_fp32_accumulation", kField<&DdpConfig::reduce_scatter_with_fp32_accumulation>},
    {"ddp.align_grad_reduce", kField<&DdpConfig::align_grad_reduce>},
    {"ddp.num_distributed_optimizer_instances", kField<&DdpConfig::num_distributed_optimizer_instances>},
    {"ddp.nccl_ub", kField<&DdpConfig::nccl_ub>},
    {"ddp.disable_symmetric_registration", kField<&DdpConfig::disable_symmetric_registration>},
    {"extensions.tp_ring_transport", kField<&Extensions::tp_ring_transport>},
    {"extensions.tp_async_collectives", kField<&Extensions::tp_async_collectives>},
    {"mixed_precision.recipe", kField<&MixedPrecisionConfig::recipe>},
    {"mixed_precision.grad_reduce_in_fp32", kField<&DdpConfig::grad_reduce_in_fp32>},
    {"mixed_precision.fp8_param_gather", kField<&MixedPrecisionConfig::fp8_param_gather>},
    {"optimizer.lr", kField<&OptimizerConfig::lr>},
    {"optimizer.adam_beta1", kField<&OptimizerConfig::adam_beta1>},
    {"optimizer.adam_beta2", kField<&OptimizerConfig::adam_beta2>},
    {"optimizer.adam_eps", kField<&OptimizerConfig::adam_eps>},
    {"optimizer.weight_decay", kField<&OptimizerConfig::weight_decay>},
    {"optimizer.clip_grad", kField<&OptimizerConfig::clip_grad>},
    {"optimizer.use_precision_aware_optimizer", kField<&OptimizerConfig::use_precision_aware_optimizer>},
    {"model.preset", kField<&ModelConfig::preset>},
    {"model.num_layers", kField<&ModelConfig::num_layers>},
    {"model.hidden_size", kField<&ModelConfig::hidden_size>},
    {"model.ffn_hidden_size", kField<&ModelConfig::ffn_hidden_size>},
    {"model.num_attention_heads", kField<&ModelConfig::num_attention_heads>},
    {"model.num_query_groups", kField<&ModelConfig::num_query_groups>},
    {"model.kv_channels", kField<&ModelConfig::kv_channels>},
    {"model.vocab_size", kField<&ModelConfig::vocab_size>},
    {"model.seq_length", kField<&ModelConfig::seq_length>},
    {"model.share_embeddings_and_output_weights", kField<&ModelConfig::share_embeddings_and_output_weights>},
    {"model.activation", kField<&ModelConfig::activation>},
    {"model.position_embedding_type", kField<&ModelConfig::position_embedding_type>},
    {"model.rotary_base", kField<&ModelConfig::rotary_base>},
    {"model.rotary_percent", kField<&ModelConfig::rotary_percent>},
    {"model.add_bias_linear", kField<&ModelConfig::add_bias_linear>},
    {"model.add_qkv_bias", kField<&ModelConfig::add_qkv_bias>},
    {"model.normalization", kField<&ModelConfig::normalization>},
    {"model.deterministic_mode", kField<&ModelConfig::deterministic_mode>},
    {"model.cross_entropy_loss_fusion", kField<&ModelConfig::cross_entropy_loss_fusion>},
    {"model.cross_entropy_fusion_impl", kField<&ModelConfig::cross_entropy_fusion_impl>},
    {"model.parallel_output", kField<&ModelConfig::parallel_output>},
    {"model.bias_activation_fusion", kField<&ModelConfig::bias_activation_fusion>},
    {"extensions.norm_fusion", kField<&ModelConfig::norm_fusion>},
    {"data_parallel_size", kField<&ParallelConfig::data_parallel_size>},
    {"model.tensor_model_parallel_size", kField<&ParallelConfig::tensor_model_parallel_size>},
    {"model.pipeline_model_parallel_size", kField<&ParallelConfig::pipeline_model_parallel_size>},
    {"model.virtual_pipeline_model_parallel_size", kField<&ParallelConfig::virtual_pipeline_model_parallel_size>},
    {"model.context_parallel_size", kField<&ParallelConfig::context_parallel_size>},
    {"model.sequence_parallel", kField<&ParallelConfig::sequence_parallel>},
    {"train.micro_batch_size", kField<&TrainConfig::micro_batch_size>},
    {"train.num_microbatches", kField<&TrainConfig::num_microbatches>},
    {"train.data", kField<&TrainConfig::data>},
    {"environment.gpu_arch", kField<&EnvironmentConfig::gpu_arch>},
    {"environment.torch_nccl_high_priority", kField<&EnvironmentConfig::torch_nccl_high_priority>},
    {"extensions.param_gather_prefetch", kField<&Extensions::param_gather_prefetch>},
    {"extensions.separate_gather_communicator", kField<&Extensions::separate_gather_communicator>},
    {"extensions.reduce_accumulator", kField<&Extensions::reduce_accumulator>},
    {"extensions.pipeline_schedule", kField<&Extensions::pipeline_schedule>},
    {"extensions.bucket_every_stage", kField<&Extensions::bucket_every_stage>},
    {"extensions.overlap_without_virtual_stages", kField<&Extensions::overlap_without_virtual_stages>},
    {"extensions.release_by_event", kField<&Extensions::release_by_event>},
    {"extensions.scatter_gather_tensors_in_pipeline", kField<&Extensions::scatter_gather_tensors_in_pipeline>},
    {"extensions.cp_overlap", kField<&Extensions::cp_overlap>},
    {"run.backend", kField<&RunConfig::backend>},
    {"run.steps", kField<&RunConfig::steps>},
    {"run.blocks", kField<&RunConfig::blocks>},
    {"run.warmup", kField<&RunConfig::warmup>},
    {"run.seed", kField<&RunConfig::seed>},
    {"run.link", kField<&RunConfig::link>},
    {"run.link_gbps", kField<&RunConfig::link_gbps>},
    {"run.link_latency_us", kField<&RunConfig::link_latency_us>},
    {"run.peer_timeout_s", kField<&RunConfig::peer_timeout_s>},
    {"run.rank_processes", kField<&RunConfig::rank_processes>},
    {"run.trace", {&store_trace, &read_trace}},
    {"run.traces", kField<&RunConfig::traces>},
    {"run.no_comm", kField<&RunConfig::no_comm>},
    {"run.hardware", kField<&RunConfig::hardware>},
    {"run.speed", kField<&RunConfig::speed>},
    {"run.gpus_per_node", kField<&RunConfig::gpus_per_node>},
    {"run.numerics", kField<&RunConfig::numerics>},
    {"run.jitter_pct", kField<&RunConfig::jitter_pct>},
    {"run.fold", kField<&RunConfig::fold>},
});

}  // namespace

std::span<const KeyField> key_fields() { return kKeyFields; }

}  // namespace underlap::plan
