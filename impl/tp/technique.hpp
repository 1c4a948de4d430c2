// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "impl/device/technique.hpp"
#include "impl/plan/slots/slot_key.hpp"
#include "impl/tp/communicators.hpp"
#include "impl/tp/token_gemm.hpp"

namespace underlap::tp {

/// What a technique works with: one slot of the layer, with buffers that all layers share, as userbuffers are.
/// T tokens of a microbatch, n ranks of the group. Under sequence parallelism each rank holds T/n rows between layers;
/// without it all T, nothing is gathered, and what is reduced is all-reduced in place: its part is the whole.
struct Context {
  Communicators* communicators = nullptr;
  std::string slot;                 ///< e.g. fc1_fprop: the first part of the purposes of what it enqueues
  plan::TensorSlotOverlap overlap;  ///< in effect for it
  std::int64_t tokens = 0;          ///< T
  std::int64_t features = 0;        ///< columns of the tensor that is gathered or reduced
  DataType dtype = DataType::bf16;  ///< of what moves
  Collective collective = Collective::all_gather;  ///< that, a reduce_scatter or an all_reduce

  std::int64_t num_parts() const { return communicators->group().size(); }
  std::int64_t tokens_of_part() const { return tokens / num_parts(); }
  /// A new [T, features] tensor for it, of its type; none for an all-reduce.
  View allocate_whole() const;
  /// The slot's collective between a rank's part and the whole; an all-reduce's is of the part alone.
  Transfer transfer(const View& part, const View& whole) const;
  bool gathers() const { return collective == Collective::all_gather; }
  bool is_in_place() const { return collective == Collective::all_reduce; }
  /// Multiprocessors that a GEMM under this overlap leaves free.
  int sm_margin() const { return overlap.set_sm_margin ? overlap.num_sm : 0; }
  /// `<slot>_<what>`, e.g. fc1_fprop_ring_hop.
  NameId purpose(std::string_view what) const;
};

/// All-gather, then GEMM: a column-parallel layer's forward pass, a row-parallel layer's dgrad.
class GatherGemm {
 public:
  virtual ~GatherGemm() = default;

  /// Enqueues out = all_gather(in) times the weight, between what the compute stream holds and what it is given next.
  ///
  /// in   [T/n, K] of the context's type, dense
  /// out  [T, gemm.features()] bf16
  virtual void run(const TokenGemm& gemm, const View& in, const View& out) = 0;

  /// What the last run gathered, [T, K]: whole once run() returned, until the next run.
  virtual View gathered() const = 0;
};

/// GEMM, then reduce-scatter, or all-reduce: a row-parallel layer's forward pass, and with tp_comm_overlap_rs_dgrad a
/// column-parallel layer's dgrad.
class GemmScatter {
 public:
  virtual ~GemmScatter() = default;

  /// Enqueues out = reduce_scatter(in times the weight), between what the compute stream holds and what it is given
  /// next.
  ///
  /// in   [T, K] as the product reads it
  /// out  [T/n, gemm.features()] bf16, dense; all-reduced [T, gemm.features()]
  virtual void run(const TokenGemm& gemm, const View& in, const View& out) = 0;
};

/// A collective and a GEMM that do not depend on each other. In the backward pass of a column-parallel layer, the
/// gather of its input overlaps with dgrad, and the reduce-scatter or all-reduce of dgrad's output overlaps with wgrad.
class CollectiveDuringGemm {
 public:
  virtual ~CollectiveDuringGemm() = default;

  /// Enqueues the work that overlaps with the collective on `stream`.
  using Work = std::function<void(Stream stream)>;

  /// [T, F] of the context's type: what a gather fills, whole once run() returned; what a reduce-scatter sums, to be
  /// written before. Empty for an all-reduce.
  virtual View full() const = 0;

  /// Enqueues the collective between `shard` and full(), and `work` at the same time. Both run between what the compute
  /// stream holds and what it is given next.
  ///
  /// shard  [T/n, F] likewise, dense: this rank's part, read by a gather and written by a reduce-scatter; of an
  ///        all-reduce [T, F], in place
  /// tag    gives all but kind, mode and purpose
  virtual void run(const Tag& tag, const View& shard, const Work& work) = 0;
};

/// The operands of a deferred weight gradient, for one microbatch.
struct DeferredWgrad {
  Tag tag;  ///< gives all but kind, mode and purpose
  View dy;  ///< [T, N] bf16
  View x;   ///< [T/n, F] bf16, dense: this rank's rows of the layer's input
};

/// Computes the deferred weight gradients of a column-parallel layer. The slot of its context is the GEMM's purpose.
class WgradDrain {
 public:
  virtual ~WgradDrain() = default;

  /// Adds dy^T all_gather(x) of each of `wgrads` to main_grad, in their order, between what the compute stream holds
  /// and what it is given next.
  ///
  /// main_grad  [N, F] f32 or bf16
  virtual void run(std::span<const DeferredWgrad> wgrads, const View& main_grad) = 0;
};

template <plan::SlotTechnique kind>
plan::SlotKey key_of(const plan::TensorSlotOverlap& overlap) {
  return plan::slot_key(kind, overlap);
}

using GatherGemms = Techniques<GatherGemm, Context, key_of<plan::SlotTechnique::gather_gemm>>;
using GemmScatters = Techniques<GemmScatter, Context, key_of<plan::SlotTechnique::gemm_scatter>>;
using CollectivesDuringGemm =
    Techniques<CollectiveDuringGemm, Context, key_of<plan::SlotTechnique::collective_during_gemm>>;
using WgradDrains = Techniques<WgradDrain, Context, key_of<plan::SlotTechnique::wgrad_drain>>;

}  // namespace underlap::tp
