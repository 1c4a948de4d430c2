// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/memory/memory_parts.hpp"

#include "impl/plan/precision.hpp"
#include "impl/plan/tensor_slots.hpp"
#include "impl/plan/userbuffers.hpp"

namespace underlap::plan {
namespace {

constexpr double kMib = 1 << 20;

bool has_layers_in_bf16(const Config& c) {
  const auto last = static_cast<std::int32_t>(c.model.num_layers) - 1;
  return scaling_of(c) != Scaling::none && !(is_in_low_precision(c, 0) && is_in_low_precision(c, last));
}

/// Whole buffers of one byte a value that a slot holds.
double buffers_of_slot(TensorSlot slot, const TensorSlotOverlap& overlap, bool has_bf16_layers, double tp) {
  const TensorSlotKind kind = kind_of(slot);
  const bool reduces = kind == TensorSlotKind::gemm_scatter || kind == TensorSlotKind::column_dgrad;
  const double size = overlap.method == TensorMethod::ring_exchange && reduces ? (2 * tp - 1) / tp : 1;
  return size * ((overlap.fp8_buf ? 1 : 2) + (has_bf16_layers ? 2 : 0));
}

/// Messages between stages that a rank holds at once.
double messages(const Config& c, const Stage& stage) {
  if (stage.num_stages == 1) return 0;
  const InFlight in_flight = chunks_in_flight(c, stage);
  const bool is_interleaved = stage.chunks.size() > 1;
  const double ahead =
      is_interleaved ? double(c.pipeline.microbatch_group_size_per_vp_stage) - stage.num_stages + 2 : 1;
  const double outputs = c.pipeline.deallocate_pipeline_outputs ? 1 : double(in_flight.activations);
  const bool sends_outputs = is_interleaved || !stage.is_last();
  const bool sends_gradients = is_interleaved || !stage.is_first();
  return (sends_outputs ? outputs + ahead + double(in_flight.gradients) : 0) + (sends_gradients ? 1 + ahead : 0);
}

double ring_bytes(double kv, double ranks) { return ranks > 1 ? std::max(ranks - 1, 4.0) * kv : 0; }

/// Attention's sent and received data in the layer with the largest need.
double attention_exchange_bytes(const Config& c, const RankShape& s) {
  const double ranks = c.parallel.context_parallel_size;
  if (ranks == 1) return 0;
  const double kv = s.tokens * 2 * s.kv_of_rank * 2;
  const double regrouped = s.tokens * 2 * (s.attention / s.tp + s.kv_of_rank) * 2;
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

/// cuBLAS's, which Transformer Engine and PyTorch each hold one of, and userbuffers one for each of its three streams.
/// Sources: Transformer Engine, get_cublas_workspace_size_bytes and _NUM_MAX_UB_STREAMS; PyTorch,
/// CUBLAS_WORKSPACE_CONFIG.
double gemm_workspaces(const Config& c) {
  const bool is_hopper_or_later = architecture_of(c.environment.gpu_arch) >= 90;
  const double of_engine = (is_hopper_or_later ? 32 : 4) * kMib;
  const double of_torch = is_hopper_or_later ? 32 * kMib : 8.125 * kMib;
  return of_torch + of_engine * (uses_userbuffers(c.tensor_overlap) ? 1 + 3 : 1);
}

/// Workspace of attention's backward pass: the sums of dq in fp32. If they are added in a fixed order, also 2 bytes per
/// query, key and head of a sequence. Source of the latter: cuDNN's plan for its deterministic engine.
double attention_workspace(const Config& c, const RankShape& s) {
  const double sums = 4 * s.tokens * s.attention / s.tp;
  return c.model.deterministic_mode ? sums + 2 * s.tokens * double(c.model.seq_length) * s.heads / s.tp : sums;
}

/// Communicators that a step of Megatron's works with: tensor ranks, data ranks, context ranks, both neighbors in the
/// pipeline, tied embeddings, copies of the optimizer, and all ranks for the norm of the gradients.
int num_communicators(const Config& c) {
  const ParallelConfig& p = c.parallel;
  const bool shares_data = p.data_parallel_size > 1 || p.context_parallel_size > 1;
  const bool is_pipeline = p.pipeline_model_parallel_size > 1;
  return (p.tensor_model_parallel_size > 1) + shares_data + (p.context_parallel_size > 1) + 2 * is_pipeline +
         (is_pipeline && c.model.share_embeddings_and_output_weights) +
         (c.ddp.num_distributed_optimizer_instances > 1) + c.extensions.separate_gather_communicator +
         (p.world_size() > 1);
}

}  // namespace

double userbuffers_bytes(const Config& c, const RankShape& shape) {
  const bool has_bf16_layers = has_layers_in_bf16(c);
  double bytes = 0;
  for (std::size_t i = 0; i < kNumTensorSlots; ++i) {
    const TensorSlotOverlap& overlap = c.tensor_overlap.slots[i];
    if (in_userbuffers(overlap.method))
      bytes += buffers_of_slot(static_cast<TensorSlot>(i), overlap, has_bf16_layers, shape.tp);
  }
  return bytes * shape.tokens * shape.hidden;
}

double exchange_bytes(const Config& c, const RankShape& s, const Stage& stage) {
  return messages(c, stage) * s.tokens * s.hidden / s.sequence_ranks * 2 + attention_exchange_bytes(c, s);
}

double workspace_bytes(const Config& c, const RankShape& shape) {
  return gemm_workspaces(c) + attention_workspace(c, shape);
}

/// Unverified: a ring of 24 channels each, as NCCL makes them on a node of 8 H100, with a buffer for each of its three
/// protocols (4 MiB, 0.5 MiB and 4.7 MiB) and what steers them, which NCCL 2.26 was seen to allocate as 10 and 2 MiB.
/// Sources: NCCL's init.cc, computeBuffSizes; its issue 1685, with a log of the allocations.
/// Fails with other channels or NCCL_BUFFSIZE: the buffers then have other sizes.
/// On an emulated link: the staging memory of each block (LinkShape in impl/device/cuda/emulated_link).
double communicator_bytes(const Config& c) {
  constexpr double kStagingOfABlock = 5 * kMib;  // 4, and two pieces
  if (c.run.emulated_link) return num_communicators(c) * c.run.emulated_link->sms * kStagingOfABlock;
  constexpr double kChannels = 24, kOfAChannel = (10 + 2) * kMib;
  return num_communicators(c) * kChannels * kOfAChannel;
}

/// Unverified: a process that uses the GPU, its kernels loaded, before it allocates anything.
double context_bytes() { return 512 * kMib; }

}  // namespace underlap::plan
