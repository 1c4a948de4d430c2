// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace underlap::kernels {

/// fp32 working memory of one call of one implementation. The calling thread keeps it, so that in steady state nothing
/// is allocated. An implementation makes one Scratch and hands it down: a second one on the same thread would hand out
/// the same memory.
class Scratch {
 public:
  /// Returns `floats` floats of any value, valid while this object lives.
  float* take(std::int64_t floats) {
    thread_local std::vector<std::vector<float>> blocks;
    if (next_ == blocks.size()) blocks.emplace_back();
    std::vector<float>& block = blocks[next_++];
    if (block.size() < static_cast<std::size_t>(floats)) block.resize(static_cast<std::size_t>(floats));
    return block.data();
  }

 private:
  std::size_t next_ = 0;
};

}  // namespace underlap::kernels
