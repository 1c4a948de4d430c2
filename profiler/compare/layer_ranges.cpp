// SPDX-License-Identifier: Apache-2.0
#include "profiler/compare/layer_ranges.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>

namespace underlap::compare {
namespace {

constexpr std::int64_t kNegligible = 100;  // parts of the largest
constexpr std::int64_t kMostApart = 2;
constexpr std::size_t kFewRanges = 3;

// The changes of one range so far.
class Alike {
 public:
  Alike(std::int64_t delta_ns, std::int64_t largest_ns)
      : largest_ns_(largest_ns), is_negligible_(is_negligible(delta_ns)), least_(delta_ns), most_(delta_ns) {}

  // Whether it takes one more.
  bool take(std::int64_t delta_ns) {
    if (is_negligible(delta_ns) != is_negligible_) return false;
    const std::int64_t least = std::min(least_, delta_ns), most = std::max(most_, delta_ns);
    const bool is_of_one_sign = (least > 0) == (most > 0);
    const std::int64_t smaller = std::min(std::abs(least), std::abs(most));
    const std::int64_t larger = std::max(std::abs(least), std::abs(most));
    if (!is_negligible_ && (!is_of_one_sign || larger > kMostApart * smaller)) return false;
    least_ = least;
    most_ = most;
    return true;
  }

 private:
  bool is_negligible(std::int64_t delta_ns) const {
    return std::abs(delta_ns) < largest_ns_ / kNegligible || delta_ns == 0;
  }

  std::int64_t largest_ns_;
  bool is_negligible_;
  std::int64_t least_, most_;
};

}  // namespace

std::vector<LayerRange> alike_ranges(std::span<const LayerChange> layers) {
  if (layers.empty()) return {};
  std::int64_t largest_ns = 0;
  for (const LayerChange& layer : layers) largest_ns = std::max(largest_ns, std::abs(layer.delta_ns));
  std::vector<LayerRange> ranges{{layers.front().layer, layers.front().layer}};
  Alike alike(layers.front().delta_ns, largest_ns);
  for (const LayerChange& layer : layers.subspan(1)) {
    if (!alike.take(layer.delta_ns)) {
      ranges.push_back({layer.layer, layer.layer});
      alike = Alike(layer.delta_ns, largest_ns);
    }
    ranges.back().last = layer.layer;
  }
  if (ranges.size() > std::max(kFewRanges, layers.size() / 4)) return {{layers.front().layer, layers.back().layer}};
  return ranges;
}

}  // namespace underlap::compare
