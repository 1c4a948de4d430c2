// SPDX-License-Identifier: Apache-2.0
#include "profiler/attribution/group_geometry.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>

namespace underlap::attribution {
namespace {

struct Dimension {
  Mode mode;
  std::int64_t size;
};

// The dimensions in which ranks differ, from the innermost. `is_full`: false where the group leaves out
// some of the ranks that differ in these alone.
struct Spread {
  std::vector<Mode> modes;
  bool is_full = false;
};

Spread spread_of(std::span<const std::int32_t> ranks, std::span<const Dimension> dimensions) {
  Spread spread;
  std::int64_t stride = 1;
  std::size_t full = 1;
  for (const Dimension& dimension : dimensions) {
    std::set<std::int64_t> coordinates;
    for (const std::int32_t rank : ranks) coordinates.insert(rank / stride % dimension.size);
    stride *= dimension.size;
    if (coordinates.size() < 2) continue;
    spread.modes.push_back(dimension.mode);
    full *= static_cast<std::size_t>(dimension.size);
  }
  spread.is_full = ranks.size() == full;
  return spread;
}

void add(std::vector<Mode>& modes, Mode mode) {
  if (std::ranges::find(modes, mode) == modes.end()) modes.push_back(mode);
}

bool is_gradients_group(const Spread& spread, const ParallelSizes& sizes) {
  if (!spread.is_full) return false;
  if (spread.modes == std::vector{Mode::cp}) return sizes.dp == 1;
  return spread.modes == std::vector{Mode::dp} || spread.modes == std::vector{Mode::cp, Mode::dp};
}

}  // namespace

std::vector<Mode> modes_of_ranks(std::span<const std::int32_t> ranks, const ParallelSizes& sizes) {
  std::vector<Mode> modes;
  const std::int64_t world = std::int64_t{sizes.tp} * sizes.cp * sizes.dp * sizes.pp;
  const bool are_ranks = std::ranges::all_of(ranks, [&](std::int32_t rank) { return rank >= 0 && rank < world; });
  if (ranks.size() < 2 || !sizes.are_known() || !are_ranks) return modes;
  const std::array dense{Dimension{Mode::tp, sizes.tp}, Dimension{Mode::cp, sizes.cp}, Dimension{Mode::dp, sizes.dp},
                         Dimension{Mode::pp, sizes.pp}};
  const Spread spread = spread_of(ranks, dense);
  // Neighbours of a ring or a pipeline, and the pipeline's two ends, are part of their group.
  if (spread.modes.size() == 1) add(modes, spread.modes.front());
  if (is_gradients_group(spread, sizes)) add(modes, Mode::dp);
  const std::int64_t replicas = std::int64_t{sizes.cp} * sizes.dp;
  if (sizes.ep > 1 && replicas % sizes.ep == 0) {
    const std::array experts{Dimension{Mode::tp, sizes.tp}, Dimension{Mode::ep, sizes.ep},
                             Dimension{Mode::dp, replicas / sizes.ep}, Dimension{Mode::pp, sizes.pp}};
    const Spread of_experts = spread_of(ranks, experts);
    if (of_experts.modes.size() == 1 && of_experts.is_full) add(modes, of_experts.modes.front());
  }
  if (modes.empty()) modes.push_back(Mode::other);
  return modes;
}

std::vector<Mode> modes_of_size(std::int32_t num_ranks, const ParallelSizes& sizes) {
  std::vector<Mode> modes;
  if (num_ranks < 2 || !sizes.are_known()) return modes;
  if (sizes.tp == num_ranks) add(modes, Mode::tp);
  if (sizes.cp == num_ranks) add(modes, Mode::cp);
  if (sizes.ep == num_ranks) add(modes, Mode::ep);
  if (sizes.dp == num_ranks || std::int64_t{sizes.dp} * sizes.cp == num_ranks) add(modes, Mode::dp);
  // Two stages may have a group of their own.
  if (sizes.pp == num_ranks || (sizes.pp > 1 && num_ranks == 2)) add(modes, Mode::pp);
  if (modes.empty()) modes.push_back(Mode::other);
  return modes;
}

std::vector<Mode> modes_in_use(const ParallelSizes& sizes) {
  std::vector<Mode> modes;
  if (!sizes.are_known()) return modes;
  if (sizes.tp > 1) add(modes, Mode::tp);
  if (sizes.cp > 1) add(modes, Mode::cp);
  if (sizes.ep > 1) add(modes, Mode::ep);
  if (std::int64_t{sizes.dp} * sizes.cp > 1) add(modes, Mode::dp);
  if (sizes.pp > 1) add(modes, Mode::pp);
  return modes;
}

}  // namespace underlap::attribution
