// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "profiler/trace/tag.hpp"

namespace underlap::attribution {

/// How many ranks each kind of parallelism has, as a configuration says; 0: not said.
struct ParallelSizes {
  std::int32_t tp = 0;
  std::int32_t cp = 0;
  std::int32_t ep = 0;
  std::int32_t dp = 0;
  std::int32_t pp = 0;

  /// Whether a configuration said them.
  bool are_known() const { return tp > 0 && cp > 0 && dp > 0 && pp > 0; }
  friend bool operator==(const ParallelSizes&, const ParallelSizes&) = default;
};

/// The modes that communication in a group of these ranks may have, where ranks are counted in Megatron's order: tensor
/// parallelism innermost, then context, expert, data and pipeline parallelism. Expert parallelism counts the ranks of
/// context and data parallelism anew. Gradients are reduced over context and data parallelism together, so where there
/// is but one replica, a group of context parallelism is one of data parallelism, too. Mode::other: the ranks of
/// several modes that communicate together. Empty for a group of one, and for ranks that the sizes do not have.
std::vector<Mode> modes_of_ranks(std::span<const std::int32_t> ranks, const ParallelSizes&);

/// The same where only the number of the group's ranks is known.
std::vector<Mode> modes_of_size(std::int32_t num_ranks, const ParallelSizes&);

/// The same where nothing is known of the group: every mode of more than one rank.
std::vector<Mode> modes_in_use(const ParallelSizes&);

}  // namespace underlap::attribution
