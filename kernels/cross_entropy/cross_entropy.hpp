// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/operation.hpp"
#include "kernels/vocab_shard.hpp"

namespace underlap::kernels {

/// loss += scale * sum over t of (lse[t] - logits[t, targets[t]]), and lse[t] = log sum over v of exp(logits[t, v]).
///
/// logits   [T, V] bf16
/// targets  [1, T] i32, each in [0, V)
/// lse      [1, T] f32, out
/// loss     [1, 1] f32, added to; the sum over tokens is fp64 (on the CPU in token order) and is added once
/// scale    e.g. 1 / (tokens of the global batch), dimensionless
/// Throws std::invalid_argument for shapes that do not fit; the implementation throws it for a target outside [0, V).
/// Traffic: 2 T V + 8 T bytes.
Operation cross_entropy_forward(const View& logits, const View& targets, const View& lse, const View& loss,
                                double scale);

/// The same over a vocabulary that n ranks share takes three operations: cross_entropy_max, the largest `max` of all
/// ranks, cross_entropy_sums, the sum of all ranks' `sums`, cross_entropy_finish.
///
/// max[t] = the largest of logits[t, v].
///
/// logits  [T, V / n] bf16, the columns of a shard
/// max     [1, T] f32, out
/// Throws std::invalid_argument for shapes that do not fit. Traffic: 2 T V / n + 4 T bytes.
/// Source: Shoeybi et al. 2019, section 3.
Operation cross_entropy_max(const View& logits, const View& max);

/// sums[0, t] = sum over v of exp(logits[t, v] - max[t]); sums[1, t] = the logit of targets[t] where the shard has it,
/// and 0 elsewhere.
///
/// logits   [T, V / n] bf16, the columns of `shard`
/// targets  [1, T] i32, each in [0, V)
/// max      [1, T] f32, the largest of all shards
/// sums     [2, T] f32, out
/// Throws as cross_entropy_forward does. Traffic: 2 T V / n + 16 T bytes.
Operation cross_entropy_sums(const View& logits, const View& targets, const View& max, const View& sums,
                             const VocabShard& shard = {});

/// lse[t] = max[t] + log(sums[0, t]), and loss += scale * sum over t of (lse[t] - sums[1, t]).
///
/// max   [1, T] f32, the largest of all shards
/// sums  [2, T] f32, the sums of all shards
/// lse   [1, T] f32, out
/// loss  [1, 1] f32, added to; the sum over tokens is fp64 (on the CPU in token order) and is added once
/// Throws std::invalid_argument for shapes that do not fit. Traffic: 16 T bytes.
Operation cross_entropy_finish(const View& max, const View& sums, const View& lse, const View& loss, double scale);

/// dlogits[t, v] = scale * (exp(logits[t, v] - lse[t]) - [v == targets[t]]).
///
/// logits, dlogits  [T, V] bf16, or the columns of `shard`
/// targets          [1, T] i32, each in [0, V)
/// lse              [1, T] f32, of the whole vocabulary
/// Throws as cross_entropy_forward does. Traffic: 4 T V + 8 T bytes.
Operation cross_entropy_backward(const View& logits, const View& targets, const View& lse, const View& dlogits,
                                 double scale, const VocabShard& shard = {});

}  // namespace underlap::kernels
