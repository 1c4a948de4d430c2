// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "profiler/trace/tag.hpp"

namespace underlap {

/// One digit of a rank's number. The ranks that differ in it alone are a group of its mode.
struct RankDigit {
  Mode mode = Mode::none;
  std::int32_t size = 1;
  bool has_part_groups = true;   ///< some of such a group communicate, too: neighbors of a ring, ends of a pipeline
  bool has_pair_groups = false;  ///< two of them may have a communicator of their own
};

/// The digits of a rank's number, the one that changes first from rank to rank first.
using RankLayout = std::vector<RankDigit>;

/// All ranks that differ in several digits of a layout communicate in one mode.
struct JointGroup {
  Mode mode = Mode::none;
  std::size_t layout = 0;    ///< index into RankLayouts::layouts
  std::vector<Mode> digits;  ///< in the layout's order
};

/// How a configuration numbers its ranks. Every layout counts the same ranks, for other parts of the model.
struct RankLayouts {
  std::vector<RankLayout> layouts;
  std::vector<JointGroup> joint_groups;

  /// Whether they come from a configuration.
  bool are_known() const { return !layouts.empty(); }
};

}  // namespace underlap
