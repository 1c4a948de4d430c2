// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/operation.hpp"

namespace underlap::kernels {

/// The tensors of attention_forward. A query heads share G key/value heads; A is a multiple of G.
/// q, k and v may be columns of one packed tensor.
struct AttentionForward {
  View q;                       ///< [T, A * D] bf16, head-major columns
  View k;                       ///< [T, G * D] bf16
  View v;                       ///< [T, G * D] bf16
  View out;                     ///< [T, A * D] bf16, out
  View lse;                     ///< [A, T] f32, out: log of the sum of exp(score) of each query
  std::int64_t seq_length = 0;  ///< S; T is a whole number of sequences
  std::int64_t head_size = 0;   ///< D
};

/// out = softmax(q k^T / sqrt(D), causal within each sequence) v. Query head a reads key/value head a / (A / G).
///
/// Scores, probabilities and sums are fp32; out is rounded once.
/// Cost: 4 D A floating-point operations for each of the S (S + 1) / 2 query-key pairs of a sequence; every tensor
/// moves once. Throws std::invalid_argument for shapes that do not fit.
/// Source: Vaswani et al. 2017, eq. 1; Ainslie et al. 2023 for grouped queries.
Operation attention_forward(const AttentionForward& tensors);

/// The tensors of attention_backward; dq, dk and dv may be columns of one packed tensor.
struct AttentionBackward {
  View q;     ///< [T, A * D] bf16
  View k;     ///< [T, G * D] bf16
  View v;     ///< [T, G * D] bf16
  View out;   ///< [T, A * D] bf16, of the forward pass
  View lse;   ///< [A, T] f32, of the forward pass
  View dout;  ///< [T, A * D] bf16
  View dq;    ///< [T, A * D] bf16, out
  View dk;    ///< [T, G * D] bf16, out: summed over the query heads of the group in head order
  View dv;    ///< [T, G * D] bf16, out: likewise
  std::int64_t seq_length = 0;
  std::int64_t head_size = 0;
};

/// The gradients of attention_forward. Probabilities are computed again from lse, never stored.
///
/// Cost: 10 D A floating-point operations for each query-key pair; every tensor moves once.
/// Throws std::invalid_argument for shapes that do not fit. Source: Dao et al. 2022, algorithm 4.
Operation attention_backward(const AttentionBackward& tensors);

}  // namespace underlap::kernels
