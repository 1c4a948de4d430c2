// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace underlap::compare {

/// What an operation's change of one layer did to the step.
struct LayerChange {
  std::int32_t layer = 0;
  std::int64_t delta_ns = 0;
};

/// Neighbouring layers whose changes are alike.
struct LayerRange {
  std::int32_t first = 0;
  std::int32_t last = 0;
  friend bool operator==(const LayerRange&, const LayerRange&) = default;
};

/// Cuts layers, which are in order, where their changes differ: changes are alike that have one sign and are within a
/// factor of two of each other, or that are all below 1 % of the operation's largest. More ranges than three and than a
/// quarter of the layers are scatter and no change of some layers: then all are one.
std::vector<LayerRange> alike_ranges(std::span<const LayerChange> layers);

}  // namespace underlap::compare
