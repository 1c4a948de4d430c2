// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/attention/attention.hpp"
#include "tests/kernels/reference.hpp"

namespace underlap::test {

/// A shape of attention, and how its tensors lie in memory.
struct AttentionShape {
  std::int64_t sequences, seq_length, heads, groups, head_size;
  bool packed = false;         ///< q, k and v are columns of one tensor, and so are their gradients
  std::int64_t kv_length = 0;  ///< 0: as many as queries
  bool causal = true;
  std::int64_t lse_gap = 0;  ///< of columns that lse has before its own

  std::int64_t keys() const { return kv_length == 0 ? seq_length : kv_length; }
  std::int64_t tokens() const { return sequences * seq_length; }
  std::int64_t wide() const { return heads * head_size; }
  std::int64_t narrow() const { return groups * head_size; }
  std::int64_t row_of_queries() const { return wide() + (packed ? 2 * narrow() : 0); }
};

/// The tensors of both passes, with random q, k, v and dout.
struct AttentionTensors {
  explicit AttentionTensors(const AttentionShape& shape) : s(shape) {
    for (View* view : {&q, &k, &v, &dout}) memory.randomize(*view);
  }

  Operation forward() const {
    return kernels::attention_forward({.q = q,
                                       .k = k,
                                       .v = v,
                                       .out = out,
                                       .lse = lse,
                                       .seq_length = s.seq_length,
                                       .head_size = s.head_size,
                                       .kv_length = s.kv_length,
                                       .causal = s.causal});
  }
  Operation backward() const {
    return kernels::attention_backward({.q = q,
                                        .k = k,
                                        .v = v,
                                        .out = out,
                                        .lse = lse,
                                        .dout = dout,
                                        .dq = dq,
                                        .dk = dk,
                                        .dv = dv,
                                        .seq_length = s.seq_length,
                                        .head_size = s.head_size,
                                        .kv_length = s.kv_length,
                                        .causal = s.causal});
  }

  View queries() { return memory.columns(DataType::bf16, s.tokens(), s.wide(), s.row_of_queries(), 0); }
  /// Beside the queries where they are packed.
  View keys(const View& queries, std::int64_t first) {
    if (!s.packed) return memory.dense(DataType::bf16, s.sequences * s.keys(), s.narrow());
    View part = queries;
    part.offset = first;
    part.rows = s.sequences * s.keys();
    part.cols = s.narrow();
    return part;
  }

  AttentionShape s;
  Memory memory;
  View q = queries(), k = keys(q, s.wide()), v = keys(q, s.wide() + s.narrow());
  View out = memory.dense(DataType::bf16, s.tokens(), s.wide()),
       dout = memory.dense(DataType::bf16, out.rows, out.cols);
  View lse = memory.columns(DataType::f32, s.heads, s.tokens(), s.tokens() + s.lse_gap, s.lse_gap);
  View dq = queries(), dk = keys(dq, s.wide()), dv = keys(dq, s.wide() + s.narrow());
};

}  // namespace underlap::test
