// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/memory/memory_parts.hpp"

#include "impl/plan/precision.hpp"

namespace underlap::plan {
namespace {

/// Bytes per token that one layer keeps, by the part of it that keeps them.
struct LayerBytes {
  double attention = 0;  ///< the layer's input and its norm, query, key, value, and attention's output
  double mlp_input = 0;  ///< the sum after attention, which the second norm reads
  double mlp = 0;        ///< that norm, fc1's output and the activation
  double all() const { return attention + mlp_input + mlp; }
};

LayerBytes bytes_in_16_bits(const RankShape& s) {
  return {.attention = 2 * (2 * s.hidden / s.sequence_ranks + 2 * s.kv_of_rank + 2 * s.attention / s.tp) + s.norm_extra,
          .mlp_input = 2 * s.hidden / s.sequence_ranks,
          .mlp = 2 * (s.hidden / s.sequence_ranks + (s.up + 1) * s.ffn / s.tp) + s.norm_extra + s.activation_extra};
}

/// The inputs of the four products, as `scaling` stores them for the weight gradients.
LayerBytes scaled_inputs(const RankShape& s, Scaling scaling) {
  const double bytes = input_bytes(scaling);
  return {.attention = bytes * (s.hidden / s.sequence_ranks + s.attention / s.tp),
          .mlp = bytes * (s.hidden / s.sequence_ranks + s.ffn / s.tp)};
}

/// The same in 16 bits, if only those products read them: without the output of attention, which its backward pass
/// needs.
LayerBytes inputs_in_16_bits(const RankShape& s) {
  return {.attention = 2 * s.hidden / s.sequence_ranks, .mlp = 2 * (s.hidden / s.sequence_ranks + s.ffn / s.tp)};
}

/// Gradients of the outputs of four products, which deferred weight gradients need.
double gradients_per_token(const RankShape& s) {
  return 2 * (2 * s.hidden / s.sequence_ranks + 2 * s.kv_of_rank + (s.attention + s.up * s.ffn) / s.tp);
}

/// Memory that exists once, for the running layer or group, instead of for each microbatch in flight.
struct Once {
  double recomputed = 0;  ///< the largest group of layers, or part of a layer, that is recomputed
  double inputs = 0;      ///< of a layer's products in 16 bits, if layers keep them in fewer bits
  double on_the_way = 0;  ///< a layer in transfer from or to the host
};

/// Bytes per token that the layers of each chunk keep.
class ChunkBytes {
 public:
  ChunkBytes(const Config& config, const RankShape& shape)
      : config_(config),
        scaling_(scaling_of(config)),
        in_16_bits_(bytes_in_16_bits(shape)),
        scaled_(scaled_inputs(shape, scaling_)),
        inputs_(inputs_in_16_bits(shape)),
        layer_input_(2 * shape.hidden / shape.sequence_ranks) {}

  double of(const LayerRange& chunk) {
    const RecomputeConfig& recompute = config_.recompute;
    double kept = 0, group = 0;
    for (std::int32_t i = 0; i < chunk.num_layers; ++i) {
      const bool is_low = is_in_low_precision(config_, chunk.first_layer + i);
      const bool opens_group = recompute.method == RecomputeMethod::block || i % std::max(1, recompute.num_layers) == 0;
      const bool runs_again = recompute.method == RecomputeMethod::uniform ||
                              (recompute.method == RecomputeMethod::block && i < recompute.num_layers);
      if (runs_again) {
        if (opens_group) kept += layer_input_;
        group = (opens_group ? 0 : group) + while_it_runs(is_low).all();
        once_.recomputed = std::max(once_.recomputed, group);
      } else {
        kept += kept_layer(is_low, chunk.first_layer + i);
      }
    }
    return kept;
  }

  const Once& once() const { return once_; }

 private:
  /// Of a layer in its forward pass: everything in 16 bits, plus the scaled inputs.
  LayerBytes while_it_runs(bool is_low) const {
    if (!is_low) return in_16_bits_;
    return {in_16_bits_.attention + scaled_.attention, in_16_bits_.mlp_input, in_16_bits_.mlp + scaled_.mlp};
  }

  double kept_layer(bool is_low, std::int32_t layer) {
    LayerBytes bytes = while_it_runs(is_low);
    if (config_.recompute.mlp) {
      once_.recomputed = std::max(once_.recomputed, bytes.mlp);
      bytes.mlp = 0;
    }
    if (is_low) {
      once_.inputs = config_.recompute.mlp ? inputs_.attention : inputs_.all();
      bytes.attention -= inputs_.attention;
      if (!config_.recompute.mlp) bytes.mlp -= inputs_.mlp;
    }
    if (layer >= config_.offload.num_layers) return bytes.all();
    once_.on_the_way = std::max(once_.on_the_way, bytes.all());
    return 0;
  }

  const Config& config_;
  Scaling scaling_;
  LayerBytes in_16_bits_, scaled_, inputs_;
  double layer_input_;
  Once once_;
};

double passes_of_warmup(const Config& c, const Stage& stage) {
  const double behind = stage.num_stages - 1 - stage.index;
  const auto chunks = static_cast<double>(stage.chunks.size());
  const double per_stage = chunks > 1 || c.pipeline.overlap_p2p_comm ? 2 : 1;
  return per_stage * behind + (chunks - 1) * double(c.pipeline.microbatch_group_size_per_vp_stage);
}

/// The chunk of a stage's k-th pass: groups of microbatches run through one chunk after the other.
class ChunkOrder {
 public:
  ChunkOrder(const Config& c, std::size_t num_chunks)
      : microbatches_(c.train.num_microbatches),
        group_(std::max<std::int64_t>(1, c.pipeline.microbatch_group_size_per_vp_stage)),
        chunks_(static_cast<std::int64_t>(num_chunks)) {}

  std::size_t of(std::int64_t pass) const {
    const std::int64_t groups_before = pass / (group_ * chunks_);
    const std::int64_t size = std::clamp<std::int64_t>(microbatches_ - groups_before * group_, 1, group_);
    return static_cast<std::size_t>(std::min((pass - groups_before * group_ * chunks_) / size, chunks_ - 1));
  }
  /// Number of passes after which the pattern has repeated twice.
  std::int64_t two_rounds() const { return 2 * group_ * chunks_; }

 private:
  std::int64_t microbatches_, group_, chunks_;
};

/// The maximum that chunks of different sizes hold at once. Forward passes are earlier than backward passes by the
/// warm-up, and their chunks change over time.
double most_in_flight(const Config& c, const Stage& stage, const std::vector<double>& kept) {
  const ChunkOrder order(c, kept.size());
  const auto warmup = static_cast<std::int64_t>(passes_of_warmup(c, stage));
  const std::int64_t passes = c.train.num_microbatches * static_cast<std::int64_t>(kept.size());
  double held = 0, most = 0;
  for (std::int64_t k = 0; k < std::min(passes, warmup + order.two_rounds()); ++k) {
    held += kept[order.of(k)];
    most = std::max(most, held);
    if (k >= warmup) held -= kept[kept.size() - 1 - order.of(k - warmup)];
  }
  return most;
}

/// More stages use an upper bound: all chunks as large as the largest.
constexpr std::int32_t kMostStagesPlayed = 1024;

double in_flight_bytes(const Config& c, const Stage& stage, const std::vector<double>& kept, double count) {
  const double largest = *std::ranges::max_element(kept);
  const bool are_alike = largest == *std::ranges::min_element(kept);
  if (are_alike || splits_backward(c) || stage.num_stages > kMostStagesPlayed) return count * largest;
  return most_in_flight(c, stage, kept);
}

/// Microbatches that keep the inputs of the head's weight gradient.
double wgrads_put_off(const Config& c) {
  const PipelineConfig& p = c.pipeline;
  if (!p.defer_embedding_wgrad_compute) return 0;
  const std::int64_t limit = p.wgrad_deferral_limit > 0 ? p.wgrad_deferral_limit : c.train.num_microbatches;
  return double(std::min(limit, c.train.num_microbatches));
}

/// Megatron Core's own losses, fused or not, hold the logits and their gradient in 16 bits, and in 32 bits the logits,
/// their differences from the maximum or exponentials, and the gradient, not all of them at once. 14 is between
/// the 13.4 and 15.5 bytes that explain published peaks of Nemotron-4 15B and Llama 3.1 8B on H100s. Transformer
/// Engine's loss writes the gradient over the logits. Sources: NVIDIA's dgxc-benchmarking 25.04; Megatron Core's
/// fused_cross_entropy.py; Transformer Engine's triton/cross_entropy.py.
double bytes_of_a_logit(const Config& c) {
  return c.model.cross_entropy_loss_fusion && c.model.cross_entropy_fusion_impl == "te" ? 2 : 14;
}

double head_bytes(const Config& c, const RankShape& s, const InFlight& in_flight) {
  const auto activations = double(in_flight.activations), gradients = double(in_flight.gradients);
  const double more_logits = gradients > 0 ? activations - 1 + gradients - 1 : 0;
  const double logits_in_loss = s.vocab / (c.model.parallel_output ? s.tp : 1);
  return bytes_of_a_logit(c) * logits_in_loss + 2 * more_logits * s.vocab / s.tp +
         wgrads_put_off(c) * 2 * (s.hidden / s.sequence_ranks + s.vocab / s.tp);
}

}  // namespace

InFlight chunks_in_flight(const Config& c, const Stage& stage) {
  const PipelineSchedule* schedule = find_schedule_in_effect(c);
  if (schedule != nullptr && schedule->splits_backward && schedule->refusal(c).empty())
    return schedule->in_flight(c, stage.index);
  const double passes = double(c.train.num_microbatches) * static_cast<double>(stage.chunks.size());
  return {.activations = static_cast<std::int64_t>(std::min(passes_of_warmup(c, stage) + 1, passes)), .gradients = 0};
}

double activation_bytes(const Config& c, const RankShape& shape, const Stage& stage) {
  const InFlight in_flight = chunks_in_flight(c, stage);
  ChunkBytes chunks(c, shape);
  std::vector<double> kept;
  double most_layers = 0;
  for (const LayerRange& chunk : stage.chunks) {
    kept.push_back(chunks.of(chunk));
    most_layers = std::max<double>(most_layers, chunk.num_layers);
  }
  const Once& once = chunks.once();
  const double layers =
      in_flight_bytes(c, stage, kept, double(in_flight.activations)) + once.recomputed + once.inputs + once.on_the_way;
  const double gradients = double(in_flight.gradients) * most_layers * gradients_per_token(shape);
  return shape.tokens * (layers + gradients + (stage.is_last() ? head_bytes(c, shape, in_flight) : 0));
}

}  // namespace underlap::plan
