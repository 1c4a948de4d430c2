// SPDX-License-Identifier: Apache-2.0
// Peak memory of one rank, from shapes. With H hidden, F ffn, K = H * groups / heads, V vocabulary, L layers, T tokens
// of a microbatch on this rank (micro_batch_size * seq_length / cp), and U = 2 for a gated activation, else 1:
//   layer       H (H + 2 K) + H H + (U + 1) H F + 2 H parameters (qkv, projection, fc1 and fc2, two norms)
//   stage       L / pp layers, the embedding V H on the first, head V H (unless tied) and norm H on the last; / tp
//   gradients   2 or 4 bytes each, whole;  optimizer  12 bytes each, / dp with the distributed optimizer
//   activations (4 H + 2 K + (U + 1) F) * 2 bytes a token and layer (inputs of the GEMMs, the norms and attention,
//   whose
//               scores are recomputed), / tp, times the microbatches in flight (pp of them in 1F1B), and 6 V a token
//               for the logits and their gradient.
#include <algorithm>

#include "impl/plan/resolution.hpp"

namespace underlap::plan {
namespace {

/// Doubles: products of absurd but permitted sizes leave 64 bits.
std::int64_t to_bytes(double bytes) { return static_cast<std::int64_t>(std::min(bytes, 9e18)); }

struct Shape {
  double hidden, ffn, kv, vocab, layers, up;

  explicit Shape(const ModelConfig& m)
      : hidden(double(m.hidden_size)),
        ffn(double(m.ffn_hidden_size)),
        kv(hidden * double(m.num_query_groups) / double(m.num_attention_heads)),
        vocab(double(m.vocab_size)),
        layers(double(m.num_layers)),
        up(m.activation == Activation::swiglu ? 2 : 1) {}

  double layer_parameters() const {
    return hidden * (hidden + 2 * kv) + hidden * hidden + (up + 1) * hidden * ffn + 2 * hidden;
  }
  double activations_per_token() const { return 2 * (4 * hidden + 2 * kv + (up + 1) * ffn); }
};

/// Parameters of the largest pipeline stage before TP splits it.
double stage_parameters(const Shape& shape, bool tied, double stages) {
  const double table = shape.vocab * shape.hidden;
  const double layers = shape.layers / stages * shape.layer_parameters();
  const double last = (tied && stages == 1 ? 0 : table) + shape.hidden;
  return stages == 1 ? layers + table + last : layers + std::max(table, last);
}

}  // namespace

void predict_memory(Resolution& r) {
  const Config& c = r.config();
  if (c.model.num_attention_heads <= 0) return;
  const Shape shape(c.model);
  const double tp = c.parallel.tensor_model_parallel_size;
  const double pp = c.parallel.pipeline_model_parallel_size;
  const double parameters = stage_parameters(shape, c.model.share_embeddings_and_output_weights, pp) / tp;
  const double shards = c.ddp.use_distributed_optimizer ? c.parallel.data_parallel_size : 1;
  const double tokens =
      double(c.train.micro_batch_size) * double(c.model.seq_length) / c.parallel.context_parallel_size;
  const double in_flight = std::min(pp, double(c.train.num_microbatches));
  PeakMemory& peak = r.plan.peak_memory;
  peak.parameters = to_bytes(2 * parameters);
  peak.gradients = to_bytes((c.ddp.grad_reduce_in_fp32 ? 4 : 2) * parameters);
  peak.optimizer = to_bytes(12 * parameters / shards);
  peak.activations =
      to_bytes(tokens * (in_flight * shape.layers / pp * shape.activations_per_token() + 6 * shape.vocab) / tp);
}

}  // namespace underlap::plan
