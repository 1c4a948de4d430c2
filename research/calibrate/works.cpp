// SPDX-License-Identifier: Apache-2.0
#include "research/calibrate/works.hpp"

#include <fmt/format.h>

#include "kernels/attention/attention.hpp"
#include "kernels/gemm/gemm.hpp"
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

Work gemm_work(std::int64_t m, std::int64_t n, std::int64_t k) {
  Tensors t;
  return {fmt::format("M {}, N {}, K {}", m, n, k), kernels::gemm_fprop(t.bf16(m, k), t.bf16(n, k), t.bf16(m, n))};
}

Work attention_work(std::int64_t sequence, std::int64_t heads, std::int64_t groups, std::int64_t head_size,
                    bool backward) {
  Tensors t;
  const View q = t.bf16(sequence, heads * head_size), k = t.bf16(sequence, groups * head_size);
  const View v = t.bf16(sequence, groups * head_size), out = t.bf16(sequence, heads * head_size);
  const View lse = t.make(DataType::f32, heads, sequence);
  const std::string shape = fmt::format("sequence {}, heads {} of {}, groups {}", sequence, heads, head_size, groups);
  if (!backward) return {shape, kernels::attention_forward({q, k, v, out, lse, sequence, head_size})};
  return {shape, kernels::attention_backward({.q = q,
                                              .k = k,
                                              .v = v,
                                              .out = out,
                                              .lse = lse,
                                              .dout = t.bf16(sequence, heads * head_size),
                                              .dq = t.bf16(sequence, heads * head_size),
                                              .dk = t.bf16(sequence, groups * head_size),
                                              .dv = t.bf16(sequence, groups * head_size),
                                              .seq_length = sequence,
                                              .head_size = head_size})};
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
