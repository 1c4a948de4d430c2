// SPDX-License-Identifier: Apache-2.0
// Peak memory of one rank, from shapes. With H hidden, F ffn, A = heads * features of a head, K = groups * the same, V
// vocabulary, n TP ranks, c CP ranks, p stages of v chunks, S seq_length, T tokens of a microbatch on this rank
// (micro_batch_size * S / c), s = n with sequence_parallel, else 1, k = n, or the groups where these are fewer, and U =
// 2 for a gated activation, else 1:
//   layer       H (2 A + 2 K + (U + 1) F) / n + 2 H parameters (qkv, projection, fc1 and fc2; two norms); with
//               LayerNorm 2 H more, with biases (A + 2 K + U F) / n + 2 H more
//   stage       its layers, as they are dealt out; on the first the embedding V H / n, and S H of learned positions; on
//               the last the head V H / n (unless tied on one stage) and norm H
//   parameters  2 bytes each. The weights of products in fp8 or fp4 take b bytes each, b = 1 with one scale for a
//               tensor, 1 + 4 / 128^2 in blocks, 1 + 1 / 32 in mxfp8, 1 / 2 + 1 / 16 in nvfp4, twice if the backward
//               pass needs another layout (impl/plan/precision.hpp), and 2 bytes more if they are gathered in bf16
//   gradients   2 or 4 bytes each, whole
//   optimizer   12 bytes each, with the distributed optimizer over the ranks of one instance: dp c /
//               num_distributed_optimizer_instances; 10 with use_precision_aware_optimizer where they are in bf16
//   Megatron-FSDP deals out to as many ranks the optimizer (optim), the gradients too (optim_grads) and the parameters
//               too (optim_grads_params). Of what is dealt out some layers are whole at a time (state.cpp), and the
//               tables of the first and the last stage are
//   activations (4 H / s + 2 K / k + (2 A + (U + 1) F) / n) * 2 bytes a token and layer (inputs and outputs of norms,
//               of the GEMMs and of attention, whose scores are recomputed). In fp8 or fp4 the inputs of the four GEMMs
//               are kept as b (2 H / s + (A + F) / n) bytes, with 4 / 128 in place of 4 / 128^2 in blocks, and
//               (2 H / s + F / n) * 2 of the above, which nothing else needs, is there once for all layers that are not
//               recomputed. (Since Transformer Engine 2.6 Megatron keeps the projection's input in bf16 alone: A / n
//               less.) That much for each chunk whose forward ran and whose backward did not: one more than the warm-up
//               of the schedule, which is p - 1 - stage, with virtual stages or overlap 2 (p - 1 - stage) +
//               (v - 1) group. Where chunks differ, the most of all moments of the schedule.
//               Of recomputed layers each such chunk keeps 2 H / s bytes a token and group, which uniform makes of
//               recompute_num_layers layers and block of one, and the layers of one group have their activations, once.
//               With the module mlp recomputed, (2 H / s + 2 (U + 1) F / n) of the above, or its like in fp8, is there
//               once. Of the layers that are offloaded one is there, on its way.
//               Without norm_fusion each norm keeps 8 H / s more, without bias_activation_fusion the activation 2 F /
//               n. On the last stage 14 V / n a token for the logits and their gradient, 2 V / n with Transformer
//               Engine's loss (V without parallel_output), and 2 H / s + 2 V / n for each microbatch whose weight
//               gradient of the head is put off. A schedule that splits backward passes defines how many chunks are in
//               flight; for each of those between the halves (2 H / s + 2 K / k + (H + U F) / n) * 2 bytes a token and
//               layer, the gradients of products' outputs, and of all but one of either count 2 V / n a token on the
//               last stage
//   userbuffers T H * 2 bytes, or 1 with fp8_buf, for each slot in userbuffers: allocated once, and (2 n - 1) / n of it
//               for a ring that reduces. Where some layers are bf16 under an fp8 recipe, bf16 buffers besides.
//   exchange    between stages T H / s * 2 bytes for each message: what is received ahead in each direction (one; with
//               virtual stages group - p + 2) and what is sent in each (one; every output in flight where
//               deallocate_pipeline_outputs is false). Inside attention, with KV = T 2 K / n * 2 bytes: for a ring of m
//               ranks m - 1 further KV in forward, or two of KV and its gradient in backward; for all_gather the KV of
//               c ranks and its gradient; for all-to-all q, k, v and the output once more.
//               Between the halves of a backward pass what was received for it is held too.
//   Left out, as each is below a thousandth of a layer's activations: what norms keep of a token, 4 bytes, or 8 with
//               LayerNorm, and the table of rotations, S / c numbers for each feature of a head.
//   workspaces  of GEMMs and of attention; communicators  of NCCL; context  of CUDA: buffers.cpp has their sources, and
//               marks unmeasured ones as unverified
// Fails when memory is fragmented, or when a library allocates what is not listed: the peak is then higher.
#include "impl/plan/memory/memory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "impl/plan/memory/memory_parts.hpp"
#include "impl/plan/rules/resolution.hpp"

namespace underlap::plan {
namespace {

/// predict_memory() rejects values beyond 64 bits. The sum of all members stays in range.
std::int64_t to_bytes(double bytes) { return static_cast<std::int64_t>(std::min(bytes, 1e18)); }

PeakMemory memory_of(const Config& c, const Stage& stage) {
  const RankShape shape(c);
  const StateBytes state = state_bytes(c, shape, stage);
  return {.parameters = to_bytes(state.parameters),
          .gradients = to_bytes(state.gradients),
          .optimizer = to_bytes(state.optimizer),
          .activations = to_bytes(activation_bytes(c, shape, stage)),
          .userbuffers = to_bytes(userbuffers_bytes(c, shape)),
          .exchange = to_bytes(exchange_bytes(c, shape, stage)),
          .workspaces = to_bytes(workspace_bytes(c, shape)),
          .communicators = to_bytes(communicator_bytes(c)),
          .context = to_bytes(context_bytes())};
}

}  // namespace

PeakMemory predicted_memory(const Config& config) {
  PeakMemory most;
  for (const Stage& stage : stages_to_compare(config)) {
    const PeakMemory peak = memory_of(config, stage);
    if (peak.total() > most.total()) most = peak;
  }
  return most;
}

namespace {

/// Sizes that are valid separately can be too large together: beyond this, counts of bytes and elements exceed 64 bits.
constexpr std::int64_t kMostBytes = 1'000'000'000'000'000;

/// A size that affects memory, and its value for a message.
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
  const bool is_attention_wider = m.kv_channels * m.num_attention_heads > m.ffn_hidden_size;
  const Factor width = is_attention_wider ? Factor{"model.kv_channels", m.kv_channels}
                                          : Factor{"model.ffn_hidden_size", m.ffn_hidden_size};
  const std::array<Factor, 4> weights{{{"model.hidden_size", m.hidden_size},
                                       width,
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
          fmt::format("a rank would need {}{:.1e} bytes for {}, more than the limit of {:.0e}; lower one of {}",
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
