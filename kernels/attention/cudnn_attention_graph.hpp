// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "kernels/attention/cudnn_graph.hpp"

namespace underlap::cuda {

/// Where the rows of one tensor lie: elements from one token to the next.
struct AttentionStrides {
  std::int64_t q = 0, k = 0, v = 0, out = 0;
  std::int64_t dout = 0, dq = 0, dk = 0, dv = 0;  ///< 0 in forward

  auto operator<=>(const AttentionStrides&) const = default;
};

/// What every row of a tensor but lse is a multiple of, in bytes: cuDNN's kernels move as much at a time.
inline constexpr std::int64_t kAttentionAlignment = 16;

/// What a plan of attention is made for.
struct AttentionShape {
  std::int64_t sequences = 0;
  std::int64_t seq_length = 0;  ///< queries of each sequence
  std::int64_t kv_length = 0;   ///< keys of each sequence
  bool causal = true;           ///< with more keys than queries, the last query sees the last key
  std::int64_t heads = 0;
  std::int64_t groups = 0;
  std::int64_t head_size = 0;
  AttentionStrides strides;

  auto operator<=>(const AttentionShape&) const = default;
};

/// As "2 sequences of 4096, 32 heads of 128, 8 key/value heads", with the keys of a tile, and the strides.
std::string to_string(const AttentionShape& shape);

/// The names that a plan knows its tensors by.
enum AttentionTensor : std::int64_t {
  kQ = 1,
  kK,
  kV,
  kOut,
  kLse,  ///< [sequences, heads, positions] f32, dense: cuDNN ignores other strides, before 9.12 when it writes and
         ///< before 9.26 when it reads
  kDout,
  kDq,
  kDk,
  kDv,
  kDqSum,    ///< [sequences, heads, positions, head_size] f32 in the workspace, where dq is added up by atomics
  kRowSum,   ///< [sequences, heads, positions] f32 in the workspace: sums of out * dout
  kScale,    ///< f32 by value: 1 / sqrt(head_size)
  kHidden,   ///< f32 by value: the score of a key that a query does not see
  kOne,      ///< f32 by value: 1
  kKeys,     ///< i32 by value: kv_length, where the diagonal is not the square's
  kQueries,  ///< i32 by value: seq_length, likewise
};

/// out and lse from q, k and v. The graph is what cuDNN's engines for fused attention look for: two products with a
/// scaled, masked softmax between them. Throws MachineError naming the shape where cuDNN refuses it, and where this
/// release is known to make a plan whose results are wrong.
CudnnPlan plan_attention_forward(const CudnnApi& api, const CudnnTarget& target, const AttentionShape& shape);

/// How the backward pass adds up dq, whose terms many blocks compute.
enum class DqSums : std::uint8_t {
  ordered,  ///< the scores' gradients pass through the workspace in bf16, all at once: 2 bytes for each query and key
            ///< of a sequence and head; the same bits at every run
  atomic,   ///< by atomics in fp32, in any order: 4 bytes for each element of dq, and the last bits change
};

/// dq, dk and dv. Throws likewise.
CudnnPlan plan_attention_backward(const CudnnApi& api, const CudnnTarget& target, const AttentionShape& shape,
                                  DqSums sums);

}  // namespace underlap::cuda
