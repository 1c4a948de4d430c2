// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/trace/rank_layout.hpp"

namespace underlap::testing_support {

struct ParallelSizes {
  std::int32_t tp = 1, cp = 1, ep = 1, dp = 1, pp = 1;
};

/// Ranks in Megatron's order, as a configuration with these sizes numbers them.
inline RankLayouts layouts_of(const ParallelSizes& sizes) {
  RankLayouts layouts{.layouts = {{{Mode::tp, sizes.tp},
                                   {Mode::cp, sizes.cp},
                                   {Mode::dp, sizes.dp},
                                   {.mode = Mode::pp, .size = sizes.pp, .has_pair_groups = true}}},
                      .joint_groups = {{Mode::dp, 0, {Mode::cp, Mode::dp}}}};
  if (sizes.ep > 1)
    layouts.layouts.push_back({{Mode::tp, sizes.tp, false},
                               {Mode::ep, sizes.ep, false},
                               {Mode::dp, sizes.cp * sizes.dp / sizes.ep, false},
                               {Mode::pp, sizes.pp, false}});
  return layouts;
}

}  // namespace underlap::testing_support
