// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/layout/rank_layouts.hpp"

#include <algorithm>

#include "impl/plan/modes/mode_rules.hpp"

namespace underlap::plan {
namespace {

RankLayout dense_layout(const ParallelConfig& parallel) {
  RankLayout layout;
  for (const ModeRules* mode : dense_modes())
    layout.push_back({.mode = mode->mode,
                      .size = mode->size(parallel),
                      .has_part_groups = mode->has_part_groups,
                      .has_pair_groups = mode->has_pair_groups});
  return layout;
}

/// Nothing where the ranks cannot be numbered so.
RankLayout expert_layout(const ParallelConfig& parallel) {
  RankLayout layout;
  std::int32_t others = 1;
  std::vector<const ModeRules*> modes;
  for (const ModeRules& mode : all_mode_rules()) {
    if (!mode.expert_digit) continue;
    modes.push_back(&mode);
    if (!mode.takes_the_rest) others *= mode.size(parallel);
  }
  if (parallel.world_size() % others != 0) return {};
  std::ranges::sort(modes, {}, [](const ModeRules* mode) { return *mode->expert_digit; });
  for (const ModeRules* mode : modes)
    layout.push_back({.mode = mode->mode,
                      .size = mode->takes_the_rest ? parallel.world_size() / others : mode->size(parallel),
                      .has_part_groups = false});
  return layout;
}

/// All modes over which dense gradients are reduced: what takes the rest of the ranks, and those that share tokens.
std::vector<Mode> replica_digits() {
  std::vector<Mode> digits;
  for (const ModeRules* mode : dense_modes())
    if (mode->takes_the_rest || std::ranges::find(mode->shares, Shared::tokens) != mode->shares.end())
      digits.push_back(mode->mode);
  return digits;
}

bool has_experts(const ParallelConfig& parallel) {
  return std::ranges::any_of(all_mode_rules(), [&](const ModeRules& mode) {
    return mode.expert_digit && !mode.dense_digit && mode.size(parallel) > 1;
  });
}

}  // namespace

RankLayouts rank_layouts(const ParallelConfig& parallel) {
  RankLayouts layouts{.layouts = {dense_layout(parallel)},
                      .joint_groups = {{.mode = Mode::dp, .layout = 0, .digits = replica_digits()}}};
  if (has_experts(parallel))
    if (RankLayout experts = expert_layout(parallel); !experts.empty()) layouts.layouts.push_back(std::move(experts));
  return layouts;
}

}  // namespace underlap::plan
