// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "research/calibrate/works.hpp"

namespace underlap::bench {

/// What the shapes of a transformer layer follow from.
struct LayerShape {
  std::int64_t sequence = 0;  ///< one sequence of tokens
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t groups = 0;  ///< key/value heads
  std::int64_t head_size = 0;
  std::int64_t ffn = 0;
  std::int64_t vocabulary = 0;
  std::int64_t parameters = 0;  ///< of a flat buffer, as the optimizer sees it
};

/// A layer of Llama 3 8B; 2^27 parameters are a little more than half of it.
constexpr LayerShape kLlama3_8b{.sequence = 8192,
                                .hidden = 4096,
                                .heads = 32,
                                .groups = 8,
                                .head_size = 128,
                                .ffn = 14336,
                                .vocabulary = 128256,
                                .parameters = std::int64_t{1} << 27};

/// A quarter of its width, and short: what one thread of a CPU computes in milliseconds.
constexpr LayerShape kQuarterLlama3_8b{.sequence = 256,
                                       .hidden = 1024,
                                       .heads = 8,
                                       .groups = 2,
                                       .head_size = 128,
                                       .ffn = 3584,
                                       .vocabulary = 8016,
                                       .parameters = std::int64_t{1} << 22};

/// A layer of the preset `tiny` at microbatches of one sequence and of eight, as its products see them.
constexpr LayerShape kTiny{.sequence = 128,
                           .hidden = 128,
                           .heads = 4,
                           .groups = 2,
                           .head_size = 32,
                           .ffn = 384,
                           .vocabulary = 256,
                           .parameters = std::int64_t{1} << 19};
constexpr LayerShape kEightTiny = [] {
  LayerShape shape = kTiny;
  shape.sequence *= 8;
  shape.parameters *= 2;
  return shape;
}();

/// Every operation of kernels/registry.hpp, at each shape that a layer has of it.
std::vector<Work> operation_works(const LayerShape& layer);

}  // namespace underlap::bench
