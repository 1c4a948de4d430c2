// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/operation.hpp"

namespace underlap::bench {

/// An operation to be timed. Its tensors are numbered from 1, each with memory of its own.
struct Work {
  std::string shape;
  Operation operation;
};

Work gemm_work(std::int64_t m, std::int64_t n, std::int64_t k);
Work attention_work(std::int64_t sequence, std::int64_t heads, std::int64_t groups, std::int64_t head_size,
                    bool backward);
Work norm_work(std::int64_t tokens, std::int64_t hidden);

/// The forward products of a layer of llama3-8b and -70b at TP 1, 2, 4 and 8 with 8192 tokens, and squares.
std::vector<Work> gemm_works();

}  // namespace underlap::bench
