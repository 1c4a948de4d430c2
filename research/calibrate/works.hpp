// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/operation.hpp"

namespace underlap::bench {

/// An operation to be timed. Its tensors are numbered from 1; each has its own memory, filled with random numbers.
struct Work {
  std::string shape;
  Operation operation;
  std::vector<Operation> prepare{};  ///< run once before it, on its tensors, to set inputs that its result depends on
  std::int32_t num_tokens = 1;       ///< tensors of i32 hold random numbers below this
};

/// Whether cuDNN implements `operation`: attention, forward or backward.
bool is_attention(const Operation& operation);

/// Fills a tensor of numbers with normal deviates where its type holds them, with ones where it does not: random fp8
/// values come from earlier operations, which quantize.
Operation filling(const Tensor& tensor);

/// Makes views of new tensors.
class Tensors {
 public:
  View make(DataType dtype, std::int64_t rows, std::int64_t cols) {
    return matrix(Tensor{.id = ++last_, .dtype = dtype, .elements = rows * cols}, rows, cols);
  }
  View bf16(std::int64_t rows, std::int64_t cols) { return make(DataType::bf16, rows, cols); }
  View f32(std::int64_t rows, std::int64_t cols) { return make(DataType::f32, rows, cols); }

 private:
  std::uint32_t last_ = 0;
};

/// The products of a linear layer from `k` to `n` features: forward, input gradient, and weight gradient in f32 and
/// bf16.
std::vector<Work> linear_works(std::int64_t m, std::int64_t n, std::int64_t k);
/// Forward and backward.
std::array<Work, 2> attention_works(std::int64_t sequence, std::int64_t heads, std::int64_t groups,
                                    std::int64_t head_size);

Work gemm_work(std::int64_t m, std::int64_t n, std::int64_t k);
Work attention_work(std::int64_t sequence, std::int64_t heads, std::int64_t groups, std::int64_t head_size,
                    bool backward);
Work norm_work(std::int64_t tokens, std::int64_t hidden);

/// The forward products of a layer of llama3-8b and -70b at TP 1, 2, 4 and 8 with 8192 tokens, and squares; each size
/// as `size` makes it.
std::vector<Work> gemm_works(const std::function<std::int64_t(std::int64_t)>& size);

}  // namespace underlap::bench
