// SPDX-License-Identifier: Apache-2.0
#include "viewer/timeline/found_slices.hpp"

namespace underlap::viewer {

FoundSlices::FoundSlices(const Timeline& timeline, const std::vector<std::uint32_t>& slices) {
  std::map<std::int32_t, std::vector<TimeRange>> elsewhere;  // of lanes that are no streams
  for (const std::uint32_t slice : slices) {
    const Timeline::Place place = timeline.place_of(slice);
    if (place.lane == nullptr) continue;
    const TimeRange range{timeline.begin_ns(slice), timeline.end_ns(slice)};
    rows_[{place.lane_index, place.row}].push_back(range);
    (place.lane->kind == LaneKind::stream ? ranks_ : elsewhere)[place.lane->rank].push_back(range);
    starts_ns_.push_back(range.begin_ns);
  }
  ranks_.merge(elsewhere);
  for (auto& [place, ranges] : rows_) std::ranges::sort(ranges, {}, &TimeRange::begin_ns);
  for (auto& [rank, ranges] : ranks_) {
    std::ranges::sort(ranges, {}, &TimeRange::begin_ns);
    std::vector<TimeRange> merged;
    for (const TimeRange& range : ranges)
      if (merged.empty() || range.begin_ns >= merged.back().end_ns)
        merged.push_back(range);
      else
        merged.back().end_ns = std::max(merged.back().end_ns, range.end_ns);
    ranges = std::move(merged);
  }
  std::ranges::sort(starts_ns_);
}

}  // namespace underlap::viewer
