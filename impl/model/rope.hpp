// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "impl/cp/attention.hpp"
#include "impl/cp/sequence_part.hpp"
#include "impl/model/weights.hpp"

namespace underlap::model {

/// The rotary positions of one rank's tokens, which turn queries and keys in place before attention; with
/// rotary_percent only that part of each head.
///
/// Their angles are a table that is made once before training. Of a context-parallel group a rank has those of the two
/// chunks of a sequence that it holds. Queries and keys are kernels of their own.
/// Source: Megatron Core's apply_rotary_pos_emb with apply_rope_fusion, which calls Transformer Engine's
/// fused_apply_rotary_pos_emb for each.
class Rope {
 public:
  /// Allocates the table on the device of `context`, the group that shares a sequence.
  Rope(const cp::Communicators& context, const plan::ModelConfig& model);

  /// Enqueues the making of the table.
  void initialize(const Enqueue& enqueue) const;

  void forward(const Enqueue& enqueue, const cp::Qkv& qkv) const;
  /// The gradients of what forward() took from those of what it gave.
  void backward(const Enqueue& enqueue, const cp::Qkv& d_qkv) const;

 private:
  std::int64_t head_size_;
  double base_;
  cp::SequencePart part_;
  View table_;  // f32 [S/c, rotated features of a head]
};

}  // namespace underlap::model
