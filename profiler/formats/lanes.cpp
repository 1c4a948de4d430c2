// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/lanes.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace underlap::formats {

std::uint32_t Lanes::place(std::int64_t start_ns, std::int64_t end_ns, std::uint64_t index) {
  const auto is_over = [&](const Open& slice) {
    return slice.end_ns < start_ns || (slice.end_ns == start_ns && slice.index < index);
  };
  const auto fits = [&](Lane& lane) {
    while (!lane.empty() && is_over(lane.back())) lane.pop_back();
    return lane.empty() || (nests_ && end_ns <= lane.back().end_ns);
  };
  auto lane = std::find_if(lanes_.begin(), lanes_.end(), fits);
  const auto number = static_cast<std::uint32_t>(lane - lanes_.begin());
  if (lane == lanes_.end()) lane = lanes_.emplace(lane);
  lane->push_back({end_ns, index});
  return number;
}

std::vector<std::uint32_t> Lanes::assign(const Trace& trace, std::span<const std::size_t> slices,
                                         std::uint64_t first_index) {
  std::vector<std::size_t> order(slices.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto key = [&](std::size_t i) {
    // If two begin at once, the one that is later in the file can only be nested in the other.
    return std::tuple(trace.start_ns()[slices[i]], nests_ ? 0 : trace.end_ns(slices[i]), slices[i]);
  };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  std::vector<std::uint32_t> result(slices.size());
  for (const std::size_t i : order)
    result[i] = place(trace.start_ns()[slices[i]], trace.end_ns(slices[i]), first_index + slices[i]);
  return result;
}

}  // namespace underlap::formats
