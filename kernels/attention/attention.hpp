// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/operation.hpp"

namespace underlap::kernels {

/// The tensors of attention_forward. A query heads share G key/value heads; A is a multiple of G.
/// q, k and v may be columns of one packed tensor.
struct AttentionForward {
  View q;                       ///< [T, A * D] bf16, head-major columns
  View k;                       ///< [U, G * D] bf16
  View v;                       ///< [U, G * D] bf16
  View out;                     ///< [T, A * D] bf16, out
  View lse;                     ///< [A, T] f32, out: log of the sum of exp(score) of each query
  std::int64_t seq_length = 0;  ///< S: queries of each sequence; T is a whole number of sequences
  std::int64_t head_size = 0;   ///< D
  std::int64_t kv_length = 0;   ///< K: keys of each sequence, U = T / S * K; 0: S. At least S where causal
  bool causal = true;           ///< query i sees keys j <= i + K - S; else all of them
};

/// out = softmax(q k^T / sqrt(D), over the keys that a query sees) v, each sequence by itself. Query head a reads
/// key/value head a / (A / G).
///
/// With K = S and causal this is all of attention. Else it is a tile of it: queries against a part of their keys, whose
/// result is merged with that of other tiles (kernels/attention_merge).
/// Scores, probabilities and sums are fp32; out is rounded once.
/// Cost: 4 D A floating-point operations for each query-key pair, of which a sequence has S K, and S (S - 1) / 2 fewer
/// where causal; every tensor moves once. Throws std::invalid_argument for shapes that do not fit.
/// Source: Vaswani et al. 2017, eq. 1; Ainslie et al. 2023 for grouped queries; Liu et al. 2023 for tiles.
Operation attention_forward(const AttentionForward& tensors);

/// The tensors of attention_backward; dq, dk and dv may be columns of one packed tensor.
struct AttentionBackward {
  View q;     ///< [T, A * D] bf16
  View k;     ///< [U, G * D] bf16
  View v;     ///< [U, G * D] bf16
  View out;   ///< [T, A * D] bf16, of the forward pass over all tiles
  View lse;   ///< [A, T] f32, of the forward pass over all tiles
  View dout;  ///< [T, A * D] bf16
  View dq;    ///< [T, A * D] bf16, out
  View dk;    ///< [U, G * D] bf16, out: summed over the query heads of the group in head order
  View dv;    ///< [U, G * D] bf16, out: likewise
  std::int64_t seq_length = 0;
  std::int64_t head_size = 0;
  std::int64_t kv_length = 0;
  bool causal = true;
};

/// The gradients of attention_forward. Probabilities are computed again from lse, never stored.
///
/// Of a tile they are its terms of the sums that dq, dk and dv are: lse and out being those of all tiles, nothing has
/// to be corrected. Cost: 10 D A floating-point operations for each query-key pair; every tensor moves once. Throws
/// std::invalid_argument for shapes that do not fit. Source: Dao et al. 2022, algorithm 4.
Operation attention_backward(const AttentionBackward& tensors);

}  // namespace underlap::kernels
