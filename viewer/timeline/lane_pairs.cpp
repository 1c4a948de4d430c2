// SPDX-License-Identifier: Apache-2.0
#include "viewer/timeline/lane_pairs.hpp"

#include <set>

namespace underlap::viewer {
namespace {

// What a stream mostly does.
std::pair<Paint, std::uint8_t> role_of(const Lane& lane) {
  Content content;
  for (const LaneRow& row : lane.rows) content.add(row.segments.content(0, row.segments.size()));
  const float communication_ns = content.hidden_ns + content.exposed_ns;
  if (communication_ns > content.compute_ns && communication_ns > content.other_ns)
    return {Paint::hidden, static_cast<std::uint8_t>(content.hidden_modes | content.exposed_modes)};
  return {content.compute_ns >= content.other_ns ? Paint::compute : content.other, 0};
}

std::vector<std::size_t> lanes_of(const Timeline& timeline, std::int32_t rank) {
  std::vector<std::size_t> lanes;
  for (std::size_t i = 0; i < timeline.lanes().size(); ++i) {
    const Lane& lane = timeline.lanes()[i];
    if (lane.rank == rank && (lane.kind == LaneKind::strip || lane.kind == LaneKind::stream)) lanes.push_back(i);
  }
  return lanes;
}

using Alike = std::function<bool(const Lane&, const Lane&)>;

}  // namespace

std::vector<std::pair<std::int32_t, std::int32_t>> rank_pairs(const Timeline& one, const Timeline& other) {
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
  for (const std::int32_t rank : one.ranks())
    if (std::ranges::binary_search(other.ranks(), rank)) pairs.emplace_back(rank, rank);
  for (std::size_t i = 0; pairs.size() == i && i < std::min(one.ranks().size(), other.ranks().size()); ++i)
    pairs.emplace_back(one.ranks()[i], other.ranks()[i]);
  return pairs;
}

std::map<std::size_t, std::size_t> lane_pairs(const Timeline& one, const Timeline& other) {
  std::map<std::size_t, std::size_t> pairs;
  std::set<std::size_t> taken;
  const Alike same_name = [](const Lane& a, const Lane& b) { return a.kind == LaneKind::strip || a.name == b.name; };
  const Alike same_role = [](const Lane& a, const Lane& b) { return role_of(a) == role_of(b); };
  for (const auto& [rank, counterpart] : rank_pairs(one, other)) {
    const std::vector<std::size_t> of_one = lanes_of(one, rank), of_other = lanes_of(other, counterpart);
    for (const Alike& are_alike : {same_name, same_role})
      for (const std::size_t lane : of_one) {
        if (pairs.contains(lane)) continue;
        const auto found = std::ranges::find_if(of_other, [&](std::size_t that) {
          const Lane &a = one.lanes()[lane], &b = other.lanes()[that];
          return !taken.contains(that) && a.kind == b.kind && are_alike(a, b);
        });
        if (found == of_other.end()) continue;
        pairs[lane] = *found;
        taken.insert(*found);
      }
  }
  return pairs;
}

}  // namespace underlap::viewer
