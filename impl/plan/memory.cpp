// SPDX-License-Identifier: Apache-2.0
// Peak memory of one rank, from shapes. With H hidden, F ffn, K = H * groups / heads, V vocabulary, L layers, n TP
// ranks, c CP ranks, p stages of v chunks, T tokens of a microbatch on this rank (micro_batch_size * seq_length / c),
// s = n with sequence_parallel, else 1, k = n, or the groups where these are fewer, and U = 2 for a gated activation,
// else 1:
//   layer       (H (H + 2 K) + H H + (U + 1) H F) / n + 2 H parameters (qkv, projection, fc1 and fc2; two norms)
//   stage       L / p layers, the embedding V H / n on the first, head V H / n (unless tied on one stage) and norm H on
//               the last
//   fp8         of all layers but the model's first and last a byte a weight for its transpose, and one more where it
//   is
//               gathered in bf16 (gathered in fp8 it takes a byte itself)
//   gradients   2 or 4 bytes each, whole;  optimizer  12 bytes each, with the distributed optimizer over the ranks of
//               one instance: dp c / num_distributed_optimizer_instances
//   activations (4 H / s + 2 K / k + (2 H + (U + 1) F) / n) * 2 bytes a token and layer (inputs and outputs of norms,
//               of the GEMMs and of attention, whose scores are recomputed). In fp8 the inputs of the four GEMMs are
//               kept as 2 H / s + (H + F) / n bytes, and (2 H / s + F / n) * 2 of the above, which nothing else needs,
//               is there once for all layers that are not recomputed. That much for each chunk of
//               L / (p v) layers whose forward ran and whose backward did not: one more than the warm-up of the
//               schedule, which is p - 1 - stage, with virtual stages or overlap 2 (p - 1 - stage) + (v - 1) group.
//               Of recomputed layers each such chunk keeps 2 H / s bytes a token and group, which uniform makes of
//               recompute_num_layers layers and block of one, and the layers of one group have their activations, once.
//               On the last stage 6 V / n a token for the logits and their gradient, and 2 H / s + 2 V / n for each
//               microbatch whose weight gradient of the head is put off.
//               A schedule that splits backward passes says itself how many chunks are in flight; for each of those
//               between the halves (2 H / s + 2 K / k + (H + U F) / n) * 2 bytes a token and layer, the gradients of
//               products' outputs, and of all but one of either count 2 V / n a token on the last stage
//   userbuffers T H * 2 bytes, or 1 with fp8_buf, for each slot in userbuffers: allocated once, and (2 n - 1) / n of it
//               for a ring that reduces. Where the first and last layers are bf16 under an fp8 recipe, bf16 buffers
//               besides.
//   exchange    between stages T H / s * 2 bytes for each message: what is received ahead in each direction (one; with
//               virtual stages group - p + 2) and what is sent in each (one; every output in flight where
//               deallocate_pipeline_outputs is false). Inside attention, with KV = T 2 K / n * 2 bytes: for a ring of m
//               ranks m - 1 further KV in forward, or two of KV and its gradient in backward; for all_gather the KV of
//               c ranks and its gradient; for all-to-all q, k, v and the output once more.
//               Between the halves of a backward pass what was received for it is held too.
// The stage that needs most is the first or the last: those between hold fewer parameters than both and fewer
// microbatches than the first, or no more gradients than the last.
#include "impl/plan/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "impl/plan/pipeline_schedules.hpp"
#include "impl/plan/rules/resolution.hpp"
#include "impl/plan/tensor_slots.hpp"

namespace underlap::plan {
namespace {

/// Doubles: products of absurd but permitted sizes leave 64 bits, and predict_memory() refuses them. The sum of all
/// members stays within this limit.
std::int64_t to_bytes(double bytes) { return static_cast<std::int64_t>(std::min(bytes, 1e18)); }

struct Shape {
  double hidden, ffn, kv, groups, vocab, layers, up;

  explicit Shape(const ModelConfig& m)
      : hidden(double(m.hidden_size)),
        ffn(double(m.ffn_hidden_size)),
        kv(hidden * double(m.num_query_groups) / double(m.num_attention_heads)),
        groups(double(m.num_query_groups)),
        vocab(double(m.vocab_size)),
        layers(double(m.num_layers)),
        up(m.activation == Activation::swiglu ? 2 : 1) {}

  double linear_parameters(double tp) const {
    return (hidden * (hidden + 2 * kv) + hidden * hidden + (up + 1) * hidden * ffn) / tp;
  }
  double layer_parameters(double tp) const { return linear_parameters(tp) + 2 * hidden; }
  /// Inputs of products that nothing else reads: outputs of both norms and of the activation.
  double inputs_per_token(double tp, double sequence_ranks) const {
    return 2 * (2 * hidden / sequence_ranks + ffn / tp);
  }
  /// What backward needs of the inputs of four products, a byte each.
  double fp8_inputs_per_token(double tp, double sequence_ranks) const {
    return 2 * hidden / sequence_ranks + (hidden + ffn) / tp;
  }
  /// Keys of one rank; where they have fewer heads than there are ranks several hold the same.
  double kv_of_rank(double tp) const { return kv / std::max(1.0, std::min(tp, groups)); }
  double activations_per_token(double tp, double sequence_ranks) const {
    return 2 * (4 * hidden / sequence_ranks + 2 * kv_of_rank(tp) + (2 * hidden + (up + 1) * ffn) / tp);
  }
  /// What weight gradients that are put off need of the gradients of four products' outputs.
  double gradients_per_token(double tp, double sequence_ranks) const {
    return 2 * (2 * hidden / sequence_ranks + 2 * kv_of_rank(tp) + (hidden + up * ffn) / tp);
  }
};

/// Where a rank stands in the pipeline.
struct Stage {
  double index, stages, chunks;
  bool is_first() const { return index == 0; }
  bool is_last() const { return index == stages - 1; }
};

/// Parameters of one TP rank.
double stage_parameters(const Shape& shape, bool tied, const Stage& stage, double tp) {
  const double table = shape.vocab * shape.hidden / tp;
  const bool has_own_head = stage.is_last() && !(tied && stage.stages == 1);
  return shape.layers / stage.stages * shape.layer_parameters(tp) + (stage.is_first() ? table : 0) +
         (has_own_head ? table : 0) + (stage.is_last() ? shape.hidden : 0);
}

bool is_fp8(const Config& c) { return c.mixed_precision.recipe.find("current_scaling") != std::string::npos; }

/// Layers of a stage whose products are in fp8: all but the model's first and last that stay in bf16.
double fp8_layers(const Config& c, const Shape& shape, const Stage& stage) {
  if (!is_fp8(c)) return 0;
  const double in_bf16 = (stage.is_first() ? c.mixed_precision.bf16_layers_at_start : 0) +
                         (stage.is_last() ? c.mixed_precision.bf16_layers_at_end : 0);
  return std::max(0.0, shape.layers / stage.stages - in_bf16);
}

InFlight chunks_in_flight(const Config& c, const Stage& stage) {
  const PipelineSchedule* schedule = find_schedule_in_effect(c);
  if (schedule != nullptr && schedule->splits_backward && schedule->refusal(c).empty())
    return schedule->in_flight(c, static_cast<std::int32_t>(stage.index));
  const double behind = stage.stages - 1 - stage.index;
  const double per_stage = stage.chunks > 1 || c.pipeline.overlap_p2p_comm ? 2 : 1;
  const double warmup = per_stage * behind + (stage.chunks - 1) * double(c.pipeline.microbatch_group_size_per_vp_stage);
  const double most = std::min(warmup + 1, double(c.train.num_microbatches) * stage.chunks);
  return {.activations = static_cast<std::int64_t>(most), .gradients = 0};
}

/// Bytes a token that a layer leaves: where it keeps them, where it is recomputed, and its input.
struct LayerBytes {
  double kept, recomputed, input;
};

/// Bytes a token of the layers of all chunks in flight, and of the group that is recomputed.
double layer_activations(const Config& c, double layers, double in_flight, const LayerBytes& bytes) {
  const double num = c.recompute.num_layers;
  switch (c.recompute.method) {
    case RecomputeMethod::none: break;
    case RecomputeMethod::uniform: return in_flight * std::ceil(layers / num) * bytes.input + num * bytes.recomputed;
    case RecomputeMethod::block:
      return in_flight * (num * bytes.input + (layers - num) * bytes.kept) + bytes.recomputed;
  }
  return in_flight * layers * bytes.kept;
}

/// Whether some layer of a stage keeps what it leaves, in fp8.
bool keeps_in_fp8(const Config& c, double in_fp8, double layers) {
  const RecomputeConfig& recompute = c.recompute;
  const bool all_are_recomputed = recompute.method == RecomputeMethod::uniform ||
                                  (recompute.method == RecomputeMethod::block && recompute.num_layers >= layers);
  return in_fp8 > 0 && !all_are_recomputed;
}

/// Microbatches that keep what the head's weight gradient is made of.
double wgrads_put_off(const Config& c) {
  const PipelineConfig& p = c.pipeline;
  if (!p.defer_embedding_wgrad_compute) return 0;
  const std::int64_t limit = p.wgrad_deferral_limit > 0 ? p.wgrad_deferral_limit : c.train.num_microbatches;
  return double(std::min(limit, c.train.num_microbatches));
}

/// Whole buffers of one byte a value that a slot holds.
double buffer_bytes(TensorSlot slot, const TensorSlotOverlap& overlap, bool has_bf16_layers, double tp) {
  const TensorSlotKind kind = kind_of(slot);
  const bool reduces = kind == TensorSlotKind::gemm_scatter || kind == TensorSlotKind::column_dgrad;
  const double size = overlap.method == TensorMethod::ring_exchange && reduces ? (2 * tp - 1) / tp : 1;
  return size * ((overlap.fp8_buf ? 1 : 2) + (has_bf16_layers ? 2 : 0));
}

double userbuffers_bytes(const Config& c, double tokens) {
  const bool has_bf16_layers =
      is_fp8(c) && c.mixed_precision.bf16_layers_at_start + c.mixed_precision.bf16_layers_at_end > 0;
  double bytes = 0;
  for (std::size_t i = 0; i < kNumTensorSlots; ++i) {
    const TensorSlotOverlap& overlap = c.tensor_overlap.slots[i];
    if (in_userbuffers(overlap.method))
      bytes +=
          buffer_bytes(static_cast<TensorSlot>(i), overlap, has_bf16_layers, c.parallel.tensor_model_parallel_size);
  }
  return bytes * tokens * double(c.model.hidden_size);
}

/// Messages between stages that a rank holds at once.
double messages(const Config& c, const Stage& stage, const InFlight& in_flight) {
  if (stage.stages == 1) return 0;
  const bool is_interleaved = stage.chunks > 1;
  const double ahead = is_interleaved ? double(c.pipeline.microbatch_group_size_per_vp_stage) - stage.stages + 2 : 1;
  const double outputs = c.pipeline.deallocate_pipeline_outputs ? 1 : double(in_flight.activations);
  const bool sends_outputs = is_interleaved || !stage.is_last();
  const bool sends_gradients = is_interleaved || !stage.is_first();
  return (sends_outputs ? outputs + ahead + double(in_flight.gradients) : 0) + (sends_gradients ? 1 + ahead : 0);
}

double ring_bytes(double kv, double ranks) { return ranks > 1 ? std::max(ranks - 1, 4.0) * kv : 0; }

/// What attention sends and receives in the layer that needs most.
double attention_exchange_bytes(const Config& c, const Shape& shape, double tokens, double tp) {
  const double ranks = c.parallel.context_parallel_size;
  if (ranks == 1) return 0;
  const double kv = tokens * 2 * shape.kv_of_rank(tp) * 2;
  const double regrouped = tokens * 2 * (shape.hidden / tp + shape.kv_of_rank(tp)) * 2;
  double most = 0;
  for (const CpCommType type : c.context.cp_comm_type) switch (type) {
      case CpCommType::p2p: most = std::max(most, ring_bytes(kv, ranks)); break;
      case CpCommType::all_gather: most = std::max(most, 2 * ranks * kv); break;
      case CpCommType::a2a: most = std::max(most, regrouped); break;
      case CpCommType::a2a_p2p:
        most = std::max(most, regrouped + ring_bytes(kv, c.context.hierarchical_context_parallel_sizes.value_or(
                                                             std::array<std::int32_t, 2>{1, 1})[1]));
        break;
    }
  return most;
}

PeakMemory memory_of(const Config& c, const Stage& stage) {
  const Shape shape(c.model);
  const double tp = c.parallel.tensor_model_parallel_size;
  const double cp = c.parallel.context_parallel_size;
  const double parameters = stage_parameters(shape, c.model.share_embeddings_and_output_weights, stage, tp);
  const double shards = c.ddp.use_distributed_optimizer
                            ? c.parallel.data_parallel_size * cp / c.ddp.num_distributed_optimizer_instances
                            : 1;
  const double tokens = double(c.train.micro_batch_size) * double(c.model.seq_length) / cp;
  const double sequence_ranks = c.parallel.sequence_parallel ? tp : 1;
  const InFlight in_flight = chunks_in_flight(c, stage);
  const auto activations = double(in_flight.activations), gradients = double(in_flight.gradients);
  const double layers = shape.layers / (stage.stages * stage.chunks);
  const double put_off = wgrads_put_off(c) * 2 * (shape.hidden / sequence_ranks + shape.vocab / tp);
  const double more_logits = gradients > 0 ? activations - 1 + gradients - 1 : 0;
  const double head = stage.is_last() ? (6 + 2 * more_logits) * shape.vocab / tp + put_off : 0;
  const double in_fp8 = fp8_layers(c, shape, stage);
  const double share_in_fp8 = in_fp8 / (shape.layers / stage.stages);
  const double inputs = shape.inputs_per_token(tp, sequence_ranks);
  const double recomputed =
      shape.activations_per_token(tp, sequence_ranks) + share_in_fp8 * shape.fp8_inputs_per_token(tp, sequence_ranks);
  const LayerBytes of_layer{
      .kept = recomputed - share_in_fp8 * inputs, .recomputed = recomputed, .input = 2 * shape.hidden / sequence_ranks};
  const double shared_inputs = keeps_in_fp8(c, in_fp8, layers) ? inputs : 0;
  // In fp8 a weight has a transposed copy, and where it is gathered in bf16 an own one: of one byte each.
  const double copies =
      c.mixed_precision.fp8_param_gather ? 0 : 2;  // a byte gathered and a byte transposed are the two
  PeakMemory peak;
  peak.parameters = to_bytes(2 * parameters + copies * in_fp8 * shape.linear_parameters(tp));
  peak.gradients = to_bytes((c.ddp.grad_reduce_in_fp32 ? 4 : 2) * parameters);
  peak.optimizer = to_bytes(12 * parameters / std::max(shards, 1.0));
  peak.activations = to_bytes(tokens * (layer_activations(c, layers, activations, of_layer) + shared_inputs +
                                        gradients * layers * shape.gradients_per_token(tp, sequence_ranks) + head));
  peak.userbuffers = to_bytes(userbuffers_bytes(c, tokens));
  peak.exchange = to_bytes(messages(c, stage, in_flight) * tokens * shape.hidden / sequence_ranks * 2 +
                           attention_exchange_bytes(c, shape, tokens, tp));
  return peak;
}

// The configuration with fewer layers, of which no more are recomputed together than a chunk has.
Config shortened(const Config& config, std::int64_t layers) {
  Config shorter = config;
  shorter.model.num_layers = layers;
  const std::int64_t chunks =
      std::int64_t{config.parallel.pipeline_model_parallel_size} * config.parallel.virtual_pipeline_model_parallel_size;
  shorter.recompute.num_layers = std::min<std::int64_t>(config.recompute.num_layers, layers / chunks);
  return shorter;
}

}  // namespace

PeakMemory predicted_memory(const Config& c) {
  const double stages = c.parallel.pipeline_model_parallel_size;
  const double chunks = stages > 1 ? c.parallel.virtual_pipeline_model_parallel_size : 1;
  const PeakMemory first = memory_of(c, {0, stages, chunks});
  const PeakMemory last = memory_of(c, {stages - 1, stages, chunks});
  return first.total() >= last.total() ? first : last;
}

std::optional<std::int64_t> layers_that_fit(const Config& config, std::int64_t bytes) {
  const std::int64_t unit =
      std::int64_t{config.parallel.pipeline_model_parallel_size} * config.parallel.virtual_pipeline_model_parallel_size;
  const auto fits = [&](std::int64_t layers_of_chunk) {
    return predicted_memory(shortened(config, layers_of_chunk * unit)).total() <= bytes;
  };
  std::int64_t fitting = 0;  // layers of a chunk
  std::int64_t too_many = (config.model.num_layers + unit - 1) / unit;
  while (too_many - fitting > 1) {
    const std::int64_t middle = (fitting + too_many) / 2;
    (fits(middle) ? fitting : too_many) = middle;
  }
  if (fitting == 0) return std::nullopt;
  return fitting * unit;
}

std::string advice_on_memory(const Config& config, std::int64_t bytes) {
  if (const std::int64_t needed = predicted_memory(config).total(); needed <= bytes)
    return fmt::format(
        "{:.1f} GB were predicted, without workspaces, buffers of communicators and other programs: fewer "
        "layers, a smaller micro_batch_size, or more ranks",
        double(needed) / 1e9);
  const std::optional<std::int64_t> layers = layers_that_fit(config, bytes);
  if (!layers) return "no fewer layers fit: a smaller micro_batch_size, or more ranks";
  const std::int64_t recomputed = shortened(config, *layers).recompute.num_layers;
  if (recomputed < config.recompute.num_layers)
    return fmt::format("--layers {} with model.recompute_num_layers {} fits as predicted", *layers, recomputed);
  return fmt::format("--layers {} fits as predicted", *layers);
}

namespace {

/// Sizes that each may have are too much together: beyond this, counts of bytes and elements leave 64 bits.
constexpr std::int64_t kMostBytes = 1'000'000'000'000'000;

/// A size that memory grows with, and its value for a message.
struct Factor {
  std::string_view path;
  std::int64_t value;
};

void check_memory_is_counted(Resolution& r) {
  const PeakMemory& peak = r.plan.peak_memory;
  if (peak.total() <= kMostBytes) return;
  const ModelConfig& m = r.config().model;
  const std::int64_t of_weights = peak.parameters + peak.gradients + peak.optimizer;
  const bool by_weights = of_weights > kMostBytes / 2;
  const std::array<Factor, 4> weights{{{"model.hidden_size", m.hidden_size},
                                       {"model.ffn_hidden_size", m.ffn_hidden_size},
                                       {"model.vocab_size", m.vocab_size},
                                       {"model.num_layers", m.num_layers}}};
  const std::array<Factor, 4> tokens{{{"train.micro_batch_size", r.config().train.micro_batch_size},
                                      {"model.seq_length", m.seq_length},
                                      {"model.hidden_size", m.hidden_size},
                                      {"model.vocab_size", m.vocab_size}}};
  const auto& factors = by_weights ? weights : tokens;
  std::string words;
  for (const Factor& factor : factors)
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", factor.path, factor.value);
  const std::int64_t bytes = by_weights ? of_weights : peak.total() - of_weights;
  r.error({factors[0].path, factors[1].path, factors[2].path, factors[3].path},
          fmt::format("a rank would need {}{:.1e} bytes for {}, and at most {:.0e} are planned for; lower one of {}",
                      bytes >= to_bytes(1e18) ? "at least " : "", double(bytes),
                      by_weights ? "weights, gradients and the optimizer" : "activations", double(kMostBytes), words));
}

}  // namespace

void predict_memory(Resolution& r) {
  if (r.config().model.num_attention_heads < 1) return;
  r.plan.peak_memory = predicted_memory(r.config());
  check_memory_is_counted(r);
}

}  // namespace underlap::plan
