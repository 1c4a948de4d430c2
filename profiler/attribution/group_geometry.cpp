// SPDX-License-Identifier: Apache-2.0
#include "profiler/attribution/inference.hpp"

#include <algorithm>
#include <cstddef>
#include <set>

namespace underlap::attribution {
namespace {

// The digits in which ranks differ. `is_full`: false where the group leaves out some of the ranks that differ in these
// alone.
struct Spread {
  std::vector<const RankDigit*> digits;
  bool is_full = false;
};

Spread spread_of(std::span<const std::int32_t> ranks, const RankLayout& layout) {
  Spread spread;
  std::int64_t stride = 1;
  std::size_t full = 1;
  for (const RankDigit& digit : layout) {
    std::set<std::int64_t> values;
    for (const std::int32_t rank : ranks) values.insert(rank / stride % digit.size);
    stride *= digit.size;
    if (values.size() < 2) continue;
    spread.digits.push_back(&digit);
    full *= static_cast<std::size_t>(digit.size);
  }
  spread.is_full = ranks.size() == full;
  return spread;
}

std::int64_t num_ranks_of(const RankLayout& layout) {
  std::int64_t product = 1;
  for (const RankDigit& digit : layout) product *= digit.size;
  return product;
}

void add(std::vector<Mode>& modes, Mode mode) {
  if (std::ranges::find(modes, mode) == modes.end()) modes.push_back(mode);
}

// The digits of more than one rank in which the members of a joint group differ.
std::vector<const RankDigit*> digits_of(const JointGroup& group, const RankLayouts& layouts) {
  std::vector<const RankDigit*> digits;
  for (const RankDigit& digit : layouts.layouts.at(group.layout))
    if (digit.size > 1 && std::ranges::find(group.digits, digit.mode) != group.digits.end()) digits.push_back(&digit);
  return digits;
}

std::int64_t size_of(const JointGroup& group, const RankLayouts& layouts) {
  std::int64_t product = 1;
  for (const RankDigit* digit : digits_of(group, layouts)) product *= digit->size;
  return product;
}

}  // namespace

// Fails when the configuration is of another job with as many ranks: modes are then wrong and look certain.
std::vector<Mode> modes_of_ranks(std::span<const std::int32_t> ranks, const RankLayouts& layouts) {
  std::vector<Mode> modes;
  if (ranks.size() < 2 || !layouts.are_known()) return modes;
  const std::int64_t world = num_ranks_of(layouts.layouts.front());
  if (std::ranges::any_of(ranks, [&](std::int32_t rank) { return rank < 0 || rank >= world; })) return modes;
  for (std::size_t i = 0; i < layouts.layouts.size(); ++i) {
    const Spread spread = spread_of(ranks, layouts.layouts[i]);
    if (spread.digits.size() == 1 && (spread.is_full || spread.digits.front()->has_part_groups))
      add(modes, spread.digits.front()->mode);
    for (const JointGroup& group : layouts.joint_groups)
      if (group.layout == i && spread.is_full && spread.digits == digits_of(group, layouts)) add(modes, group.mode);
  }
  if (modes.empty()) modes.push_back(Mode::other);
  return modes;
}

// Fails when a group over several modes has the size of one: it then counts as that mode.
std::vector<Mode> modes_of_size(std::int32_t num_ranks, const RankLayouts& layouts) {
  std::vector<Mode> modes;
  if (num_ranks < 2 || !layouts.are_known()) return modes;
  for (const RankLayout& layout : layouts.layouts)
    for (const RankDigit& digit : layout)
      if (digit.size == num_ranks || (digit.has_pair_groups && digit.size > 1 && num_ranks == 2))
        add(modes, digit.mode);
  for (const JointGroup& group : layouts.joint_groups)
    if (size_of(group, layouts) == num_ranks) add(modes, group.mode);
  if (modes.empty()) modes.push_back(Mode::other);
  return modes;
}

std::vector<Mode> modes_in_use(const RankLayouts& layouts) {
  std::vector<Mode> modes;
  for (const RankLayout& layout : layouts.layouts)
    for (const RankDigit& digit : layout)
      if (digit.size > 1) add(modes, digit.mode);
  for (const JointGroup& group : layouts.joint_groups)
    if (size_of(group, layouts) > 1) add(modes, group.mode);
  return modes;
}

}  // namespace underlap::attribution
