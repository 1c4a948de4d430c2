// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "impl/device/device.hpp"

namespace underlap::cp {

/// The part of a sequence that rank r of a context-parallel group of c holds. The sequence has 2c equal chunks, of
/// which the rank holds r and 2c-1-r, so that all ranks have the same number of causal query-key pairs. Alone: all of
/// it.
/// Source: Megatron Core's get_batch_on_this_cp_rank.
class SequencePart {
 public:
  SequencePart(std::int64_t seq_length, const Group& context) {
    const std::int64_t size = context.size(), rank = context.my_index;
    const std::int64_t chunk = seq_length / (2 * size);
    if (size == 1) {
      ranges_ = {{0, seq_length}};
    } else {
      for (const std::int64_t i : {rank, 2 * size - 1 - rank}) ranges_.push_back({i * chunk, (i + 1) * chunk});
    }
  }

  /// The token ranges [from, to) that this rank holds, in order.
  std::span<const std::pair<std::int64_t, std::int64_t>> ranges() const { return ranges_; }

  /// Appends this rank's part of `whole`, one number for each token of a sequence.
  void append(const std::vector<std::int32_t>& whole, std::vector<std::int32_t>& part) const {
    for (const auto& [begin, end] : ranges_) part.insert(part.end(), whole.begin() + begin, whole.begin() + end);
  }
  /// Appends the position of each of them in the sequence.
  void append_positions(std::vector<std::int32_t>& part) const {
    for (const auto& [begin, end] : ranges_)
      for (std::int64_t i = begin; i < end; ++i) part.push_back(static_cast<std::int32_t>(i));
  }

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges_;
};

}  // namespace underlap::cp
