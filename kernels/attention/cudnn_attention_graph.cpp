// SPDX-License-Identifier: Apache-2.0
//
// Attention as a cuDNN graph of its products, sums and exponentials, not as a single operation. cuDNN recognizes the
// graph as attention and computes it by fused kernels. Tensors with a number for each query and key are virtual: they
// are never in memory, except for the gradients of scores where dq is added up in order.
//
//   forward    q k^T * scale, masked = s ---- max ---- exp(s - max) ---- sum ---- lse = max + log(sum)
//                                                           |-- / sum = p ---- p v = out
//
//   backward   out * dout, summed over columns = row_sum
//              q k^T * scale - lse, masked ---- exp = p ---- p^T dout = dv
//              dout v^T - row_sum ---- * p * scale = ds ---- ds^T q = dk
//                                                      |---- ds k = dq, in order or by atomics (DqSums)
//
// cuDNN finds an engine by the shape of the graph, so the steps are in the order that cuDNN expects.
//
// cuDNN's dimensions are [sequence, head, position, column]. Strides express a view of tokens and packed heads, or a
// transpose, as such a tensor without a copy.
#include "kernels/attention/cudnn_attention_graph.hpp"

#include <fmt/format.h>

#include "platform/errors.hpp"

namespace underlap::cuda {
namespace {

using Tensor = CudnnGraph::Tensor;

/// Both graphs' tensors.
class AttentionGraph {
 public:
  AttentionGraph(const CudnnApi& api, const AttentionShape& shape) : graph(api), shape_(shape) {}

  /// Whose rows and heads a tensor has.
  struct Side {
    std::int64_t length, heads;
  };
  Side queries() const { return {shape_.seq_length, shape_.heads}; }
  Side keys() const { return {shape_.kv_length, shape_.groups}; }

  /// Tokens' heads in memory, `row` elements from token to token.
  Tensor heads(AttentionTensor name, const Side& of, std::int64_t row) {
    return graph.in_memory(name, CUDNN_DATA_BFLOAT16, {shape_.sequences, of.heads, of.length, shape_.head_size},
                           {of.length * row, shape_.head_size, row, 1}, kAttentionAlignment);
  }
  /// The same, position and column exchanged.
  Tensor transposed_heads(AttentionTensor name, const Side& of, std::int64_t row) {
    return graph.in_memory(name, CUDNN_DATA_BFLOAT16, {shape_.sequences, of.heads, shape_.head_size, of.length},
                           {of.length * row, shape_.head_size, 1, row}, kAttentionAlignment);
  }
  /// A number for each query and head in memory.
  Tensor rows(AttentionTensor name) {
    return graph.in_memory(name, CUDNN_DATA_FLOAT, {shape_.sequences, shape_.heads, shape_.seq_length, 1},
                           {shape_.heads * shape_.seq_length, shape_.seq_length, 1, 1}, sizeof(float));
  }

  /// dq before it is rounded.
  Tensor dq_sum() {
    const std::int64_t head = shape_.seq_length * shape_.head_size;
    return graph.in_memory(kDqSum, CUDNN_DATA_FLOAT,
                           {shape_.sequences, shape_.heads, shape_.seq_length, shape_.head_size},
                           {shape_.heads * head, head, shape_.head_size, 1}, kAttentionAlignment);
  }

  /// A number for each query and key.
  Tensor pairs(cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    return graph.between({shape_.sequences, shape_.heads, shape_.seq_length, shape_.kv_length}, type);
  }
  Tensor row_numbers() { return graph.between({shape_.sequences, shape_.heads, shape_.seq_length, 1}); }

  /// Scores of keys that a query does not see become what kHidden is.
  Tensor masked(const Tensor& scores) {
    if (!shape_.causal) return scores;
    const Tensor query = pairs(CUDNN_DATA_INT32), key = pairs(CUDNN_DATA_INT32), sees = pairs(CUDNN_DATA_BOOLEAN);
    const Tensor result = pairs();
    graph.index(scores, 2, query);
    graph.index(scores, 3, key);
    graph.pointwise(CUDNN_POINTWISE_CMP_GE, last_key(query), key, sees, CUDNN_DATA_BOOLEAN);
    graph.select(scores, graph.by_value(kHidden), sees, result);
    return result;
  }
  /// The last key that each query sees. cuDNN looks for the two steps in this order.
  Tensor last_key(const Tensor& query) {
    if (shape_.kv_length == shape_.seq_length) return query;
    const Tensor end = pairs(CUDNN_DATA_INT32), last = pairs(CUDNN_DATA_INT32);
    graph.pointwise(CUDNN_POINTWISE_ADD, query, graph.by_value(kKeys, CUDNN_DATA_INT32), end, CUDNN_DATA_INT32);
    graph.pointwise(CUDNN_POINTWISE_SUB, end, graph.by_value(kQueries, CUDNN_DATA_INT32), last, CUDNN_DATA_INT32);
    return last;
  }

  Tensor unary(cudnnPointwiseMode_t mode, const Tensor& x) {
    const Tensor y = graph.between(x.sizes);
    graph.pointwise(mode, x, y);
    return y;
  }
  Tensor binary(cudnnPointwiseMode_t mode, const Tensor& x, const Tensor& b) {
    const Tensor y = graph.between(x.sizes);
    graph.pointwise(mode, x, b, y);
    return y;
  }
  Tensor product(const Tensor& a, const Tensor& b) {
    const Tensor c = pairs();
    graph.matmul(a, b, c);
    return c;
  }

  /// to = pairs^T times `with`, added over the heads of each group where there are several. What is between is bf16, as
  /// in cuDNN's own front end.
  void multiply_transposed(const Tensor& pairs_of, const Tensor& with, const Tensor& to) {
    const std::int64_t queries = shape_.seq_length, keys = shape_.kv_length;
    const Tensor transposed =
        graph.between({shape_.sequences, shape_.heads, keys, queries},
                      {shape_.heads * queries * keys, queries * keys, 1, keys}, CUDNN_DATA_BFLOAT16);
    graph.reshape(pairs_of, transposed);
    if (shape_.heads == shape_.groups) return graph.matmul(transposed, with, to);
    const Tensor of_heads =
        graph.between({shape_.sequences, shape_.heads, keys, shape_.head_size}, CUDNN_DATA_BFLOAT16);
    graph.matmul(transposed, with, of_heads);
    graph.reduce(CUDNN_REDUCE_TENSOR_ADD, of_heads, to);
  }

  CudnnGraph graph;

 private:
  const AttentionShape& shape_;
};

/// How to get round what a release is known to compute wrongly without a word; empty where nothing is.
std::string way_round_faults(std::size_t version, bool is_backward, const AttentionShape& shape) {
  if (version == 91'000 || version == 91'001) return "use 9.10.2 or newer";
  if (is_backward && version <= 91'500 && shape.kv_length % 128 != 0)
    return "use 9.15.1 or newer, or a multiple of 128 keys";
  const bool ends_in_corner = shape.causal && shape.kv_length != shape.seq_length;
  if (ends_in_corner && version < 90'600 && (shape.seq_length % 64 != 0 || shape.kv_length % 64 != 0))
    return "use 9.6 or newer, or multiples of 64 queries and keys";
  return "";
}

/// Source: cuDNN's own front end, which refuses these graphs, or hides the keys that backward adds beyond the last.
void refuse_known_faults(const CudnnApi& api, bool is_backward, const AttentionShape& shape) {
  const std::string way_round = way_round_faults(api.get_version(), is_backward, shape);
  if (!way_round.empty())
    throw MachineError(fmt::format("cuDNN {} computes this incorrectly: {}", api.version(), way_round));
}

/// Calls `make`. Errors from known faults and from cuDNN are prefixed with the shape.
template <class Make>
CudnnPlan naming(const char* pass, const AttentionShape& shape, Make make) {
  try {
    return make();
  } catch (const MachineError& error) {
    throw MachineError(fmt::format("attention {}, {}: {}", pass, to_string(shape), error.what()));
  }
}

void softmax(AttentionGraph& attention, const Tensor& scores, const Tensor& lse, const Tensor& probabilities) {
  CudnnGraph& graph = attention.graph;
  const Tensor largest = attention.row_numbers(), total = attention.row_numbers();
  graph.reduce(CUDNN_REDUCE_TENSOR_MAX, scores, largest);
  const Tensor exponentials =
      attention.unary(CUDNN_POINTWISE_EXP, attention.binary(CUDNN_POINTWISE_SUB, scores, largest));
  graph.reduce(CUDNN_REDUCE_TENSOR_ADD, exponentials, total);
  graph.pointwise(CUDNN_POINTWISE_ADD, largest, attention.unary(CUDNN_POINTWISE_LOG, total), lse);
  graph.pointwise(CUDNN_POINTWISE_DIV, exponentials, total, probabilities);
}

}  // namespace

std::string to_string(const AttentionShape& s) {
  const bool is_whole = s.causal && s.kv_length == s.seq_length;
  const std::string keys =
      is_whole ? "" : fmt::format(" against {} keys{}", s.kv_length, s.causal ? "" : ", not causal");
  return fmt::format(
      "{} sequences of {}{}, {} heads of {}, {} key/value heads, rows of q {}, k {}, v {}, out {}, dout {}, dq {}, "
      "dk {}, dv {}",
      s.sequences, s.seq_length, keys, s.heads, s.head_size, s.groups, s.strides.q, s.strides.k, s.strides.v,
      s.strides.out, s.strides.dout, s.strides.dq, s.strides.dk, s.strides.dv);
}

CudnnPlan plan_attention_forward(const CudnnApi& api, const CudnnTarget& target, const AttentionShape& shape) {
  return naming("forward", shape, [&] {
    refuse_known_faults(api, false, shape);
    AttentionGraph attention(api, shape);
    CudnnGraph& graph = attention.graph;
    const Tensor q = attention.heads(kQ, attention.queries(), shape.strides.q);
    const Tensor k = attention.transposed_heads(kK, attention.keys(), shape.strides.k);
    const Tensor v = attention.heads(kV, attention.keys(), shape.strides.v);
    const Tensor scores = attention.binary(CUDNN_POINTWISE_MUL, attention.product(q, k), graph.by_value(kScale));
    const Tensor probabilities = attention.pairs(CUDNN_DATA_BFLOAT16);
    softmax(attention, attention.masked(scores), attention.rows(kLse), probabilities);
    graph.matmul(probabilities, v, attention.heads(kOut, attention.queries(), shape.strides.out));
    return graph.plan(target, true);
  });
}

CudnnPlan plan_attention_backward(const CudnnApi& api, const CudnnTarget& target, const AttentionShape& shape,
                                  DqSums sums) {
  return naming(sums == DqSums::ordered ? "backward, deterministic" : "backward", shape, [&] {
    refuse_known_faults(api, true, shape);
    AttentionGraph attention(api, shape);
    CudnnGraph& graph = attention.graph;
    const AttentionStrides& strides = shape.strides;
    const Tensor q = attention.heads(kQ, attention.queries(), strides.q);
    const Tensor k = attention.transposed_heads(kK, attention.keys(), strides.k);
    const Tensor v = attention.transposed_heads(kV, attention.keys(), strides.v);
    const Tensor out = attention.heads(kOut, attention.queries(), strides.out);
    const Tensor dout = attention.heads(kDout, attention.queries(), strides.dout);
    const Tensor scale = graph.by_value(kScale);

    const Tensor sum = attention.row_numbers();
    graph.reduce(CUDNN_REDUCE_TENSOR_ADD, attention.binary(CUDNN_POINTWISE_MUL, dout, out), sum);
    const Tensor row_sum = attention.rows(kRowSum);
    graph.pointwise(CUDNN_POINTWISE_MUL, sum, graph.by_value(kOne), row_sum);

    const Tensor scores = attention.binary(CUDNN_POINTWISE_MUL, attention.product(q, k), scale);
    const Tensor shifted = attention.binary(CUDNN_POINTWISE_SUB, scores, attention.rows(kLse));
    const Tensor p = attention.unary(CUDNN_POINTWISE_EXP, attention.masked(shifted));
    attention.multiply_transposed(p, dout, attention.heads(kDv, attention.keys(), strides.dv));

    const Tensor dp = attention.binary(CUDNN_POINTWISE_SUB, attention.product(dout, v), row_sum);
    const Tensor ds = attention.binary(CUDNN_POINTWISE_MUL, attention.binary(CUDNN_POINTWISE_MUL, dp, p), scale);
    attention.multiply_transposed(ds, q, attention.heads(kDk, attention.keys(), strides.dk));

    const Tensor keys =
        graph.between({shape.sequences, shape.groups, shape.kv_length, shape.head_size},
                      {shape.kv_length * strides.k, shape.head_size, strides.k, 1}, CUDNN_DATA_BFLOAT16);
    graph.reshape(k, keys);
    const Tensor dq = attention.heads(kDq, attention.queries(), strides.dq);
    if (sums == DqSums::ordered) {
      graph.matmul(ds, keys, dq);
    } else {
      const Tensor sum_of_dq = attention.dq_sum();
      graph.matmul(ds, keys, sum_of_dq);
      graph.pointwise(CUDNN_POINTWISE_IDENTITY, sum_of_dq, dq);
    }
    return graph.plan(target, sums == DqSums::ordered);
  });
}

}  // namespace underlap::cuda
