// SPDX-License-Identifier: Apache-2.0
#include "research/calibrate/works.hpp"

#include <fmt/format.h>

#include "kernels/attention/attention.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/gemm/gemm.hpp"
#include "kernels/random/random.hpp"
#include "kernels/rms_norm/rms_norm.hpp"

namespace underlap::bench {
namespace {

using Size = std::function<std::int64_t(std::int64_t)>;

void add_layer(std::vector<Work>& works, const Size& size, std::int64_t hidden, std::int64_t qkv, std::int64_t ffn,
               std::int64_t tp) {
  const auto add = [&](std::int64_t n, std::int64_t k) {
    constexpr std::int64_t kTokens = 8192;
    works.push_back(gemm_work(size(kTokens), size(n), size(k)));
  };
  add(qkv / tp, hidden);
  add(hidden, hidden / tp);
  add(2 * ffn / tp, hidden);
  add(hidden, ffn / tp);
}

}  // namespace

bool is_attention(const Operation& operation) {
  const auto work = operation.cost().work;
  return work == underlap::Work::attention_forward || work == underlap::Work::attention_backward;
}

Operation filling(const Tensor& tensor) {
  const bool has_deviates = tensor.dtype == DataType::f32 || tensor.dtype == DataType::bf16;
  return has_deviates ? kernels::random_normal(flat(tensor), tensor.id, 0, 0.02) : kernels::fill(flat(tensor), 1);
}

std::vector<Work> linear_works(std::int64_t m, std::int64_t n, std::int64_t k) {
  const std::string shape = fmt::format("M{}_N{}_K{}", m, n, k);
  Tensors t;
  const View x = t.bf16(m, k), w = t.bf16(n, k), y = t.bf16(m, n);
  return {{shape, kernels::gemm_fprop(x, w, y)},
          {shape, kernels::gemm_dgrad(y, w, x)},
          {shape + "_f32", kernels::gemm_wgrad(y, x, t.f32(n, k))},
          {shape + "_bf16", kernels::gemm_wgrad(y, x, w)}};
}

Work gemm_work(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {fmt::format("M {}, N {}, K {}", m, n, k), linear_works(m, n, k).front().operation};
}

std::array<Work, 2> attention_works(std::int64_t sequence, std::int64_t heads, std::int64_t groups,
                                    std::int64_t head_size) {
  Tensors t;
  const std::int64_t queries = heads * head_size, keys = groups * head_size;
  const kernels::AttentionForward forward{.q = t.bf16(sequence, queries),
                                          .k = t.bf16(sequence, keys),
                                          .v = t.bf16(sequence, keys),
                                          .out = t.bf16(sequence, queries),
                                          .lse = t.f32(heads, sequence),
                                          .seq_length = sequence,
                                          .head_size = head_size};
  const kernels::AttentionBackward backward{.q = forward.q,
                                            .k = forward.k,
                                            .v = forward.v,
                                            .out = forward.out,
                                            .lse = forward.lse,
                                            .dout = t.bf16(sequence, queries),
                                            .dq = t.bf16(sequence, queries),
                                            .dk = t.bf16(sequence, keys),
                                            .dv = t.bf16(sequence, keys),
                                            .seq_length = sequence,
                                            .head_size = head_size};
  const std::string shape = fmt::format("S{}_A{}_G{}_D{}", sequence, heads, groups, head_size);
  return {Work{shape, kernels::attention_forward(forward)},
          Work{shape, kernels::attention_backward(backward), {kernels::attention_forward(forward)}}};
}

Work attention_work(std::int64_t sequence, std::int64_t heads, std::int64_t groups, std::int64_t head_size,
                    bool backward) {
  Work work = attention_works(sequence, heads, groups, head_size)[backward ? 1 : 0];
  work.shape = fmt::format("sequence {}, heads {} of {}, groups {}", sequence, heads, head_size, groups);
  return work;
}

Work norm_work(std::int64_t tokens, std::int64_t hidden) {
  Tensors t;
  return {fmt::format("tokens {}, hidden {}", tokens, hidden),
          kernels::rms_norm_forward(t.bf16(tokens, hidden), t.bf16(1, hidden), t.bf16(tokens, hidden),
                                    t.make(DataType::f32, 1, tokens), 1e-5)};
}

std::vector<Work> gemm_works(const Size& size) {
  std::vector<Work> works;
  for (const std::int64_t tp : {1, 2, 4, 8}) {
    add_layer(works, size, 4096, 6144, 14336, tp);
    add_layer(works, size, 8192, 10240, 28672, tp);
  }
  for (std::int64_t side = 512; side <= 16384; side *= 2)
    works.push_back(gemm_work(size(side), size(side), size(side)));
  return works;
}

}  // namespace underlap::bench
