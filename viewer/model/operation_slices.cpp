// SPDX-License-Identifier: Apache-2.0
#include "viewer/model/operation_slices.hpp"

#include <tuple>

#include "profiler/analysis/mode_name.hpp"
#include "viewer/timeline/lane_pairs.hpp"

namespace underlap::viewer {
namespace {

// Names are compared by their numbers: a step may have millions of slices.
class Filter {
 public:
  explicit Filter(const compare::NetOperation& operation)
      : operation_(operation),
        purpose_(operation.purpose.empty() ? kNoName : intern(operation.purpose)),
        name_(operation.purpose.empty() ? intern(operation.name) : kNoName) {}

  bool takes(const Trace& trace, std::uint32_t slice) const {
    const Tag& tag = trace.tag(slice);
    if (tag.purpose != purpose_ || (name_ != kNoName && trace.name(slice) != name_)) return false;
    if (to_string(tag.kind) != operation_.kind) return false;
    if (operation_.is_of_some_layers && (tag.layer < operation_.first_layer || tag.layer > operation_.last_layer))
      return false;
    return tag.kind != Kind::communication || operation_.mode == analysis::mode_name(tag.mode);
  }

  bool is_its_stream(const Track& track) const {
    return operation_.stream == (track.name.empty() ? std::to_string(track.stream) : track.name);
  }

 private:
  const compare::NetOperation& operation_;
  NameId purpose_;
  NameId name_;
};

TimeRange step_of(const Timeline& timeline, std::int32_t rank, int nth) {
  const std::span<const StepSpan> steps = timeline.steps_of(rank);
  if (const auto i = static_cast<std::size_t>(nth); i < steps.size()) return {steps[i].begin_ns, steps[i].end_ns};
  if (timeline.steps().empty())
    return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  return {};
}

std::optional<int> nth_step_at(const Timeline& timeline, std::int32_t rank, std::int64_t time_ns) {
  if (timeline.steps().empty()) return 0;
  const StepSpan* step = timeline.step_at(rank, time_ns);
  return step == nullptr ? std::nullopt : std::optional(static_cast<int>(step - timeline.steps_of(rank).data()));
}

// What a slice does, in whichever step.
struct Doing {
  LaneKind lane;
  Tag tag;
  NameId name;  // where it has no purpose

  friend bool operator==(const Doing&, const Doing&) = default;
};

Doing doing_of(const Timeline& timeline, const Lane& lane, std::uint32_t slice) {
  const Trace& trace = timeline.trace();
  Doing doing{lane.kind, trace.tag(slice), kNoName};
  doing.tag.step = -1;
  if (doing.tag.purpose == kNoName) doing.name = trace.name(slice);
  return doing;
}

std::vector<std::uint32_t> all_in_step(const Timeline& timeline, std::int32_t rank, int nth, const Doing& doing) {
  const auto [begin_ns, end_ns] = step_of(timeline, rank, nth);
  std::vector<std::uint32_t> found;
  for (const Lane& lane : timeline.lanes()) {
    if (lane.rank != rank || lane.kind != doing.lane) continue;
    for (const LaneRow& row : lane.rows) {
      const auto [from, to] = timeline.slices_within(row, begin_ns, end_ns);
      for (std::size_t i = from; i < to; ++i)
        if (timeline.begin_ns(row.slices[i]) >= begin_ns && doing_of(timeline, lane, row.slices[i]) == doing)
          found.push_back(row.slices[i]);
    }
  }
  std::ranges::sort(found, {}, [&](std::uint32_t slice) { return std::pair(timeline.begin_ns(slice), slice); });
  return found;
}

}  // namespace

std::uint32_t first_slice_of(const Timeline& timeline, int nth_step, const compare::NetOperation& operation,
                             std::optional<std::int32_t> rank) {
  const Filter filter(operation);
  // Of the rank that was asked for, on the operation's stream, the first.
  const auto place = [&](const Lane& lane, std::uint32_t slice) {
    return std::tuple(rank && lane.rank != *rank,
                      !filter.is_its_stream(timeline.trace().tracks[static_cast<std::size_t>(lane.track)]),
                      timeline.begin_ns(slice));
  };
  std::uint32_t best = Timeline::kNoSlice;
  std::tuple<bool, bool, std::int64_t> best_place{true, true, std::numeric_limits<std::int64_t>::max()};
  for (const Lane& lane : timeline.lanes()) {
    if (lane.kind != LaneKind::stream) continue;
    const auto [begin_ns, end_ns] = step_of(timeline, lane.rank, nth_step);
    for (const LaneRow& row : lane.rows) {
      const auto [from, to] = timeline.slices_within(row, begin_ns, end_ns);
      for (std::size_t i = from; i < to; ++i) {
        if (timeline.begin_ns(row.slices[i]) < begin_ns || !filter.takes(timeline.trace(), row.slices[i])) continue;
        const auto here = place(lane, row.slices[i]);
        if (best == Timeline::kNoSlice || here < best_place) {
          best = row.slices[i];
          best_place = here;
        }
        break;  // a row is in the order of time
      }
    }
  }
  return best;
}

std::optional<Alike> alike_in_step(const Timeline& timeline, std::uint32_t slice) {
  const Timeline::Place place = timeline.place_of(slice);
  if (place.lane == nullptr) return std::nullopt;
  const auto nth = nth_step_at(timeline, place.lane->rank, timeline.begin_ns(slice));
  if (!nth) return std::nullopt;
  Alike alike{*nth, all_in_step(timeline, place.lane->rank, *nth, doing_of(timeline, *place.lane, slice))};
  alike.index = static_cast<std::size_t>(std::ranges::find(alike.slices, slice) - alike.slices.begin());
  return alike;
}

std::uint32_t counterpart_of(const Timeline& timeline, std::uint32_t slice, const Timeline& other) {
  const std::optional<Alike> alike = alike_in_step(timeline, slice);
  if (!alike) return Timeline::kNoSlice;
  const Lane& lane = *timeline.place_of(slice).lane;
  for (const auto& [rank, counterpart] : rank_pairs(timeline, other)) {
    if (rank != lane.rank) continue;
    const auto there = all_in_step(other, counterpart, alike->nth_step, doing_of(timeline, lane, slice));
    if (alike->index < there.size()) return there[alike->index];
  }
  return Timeline::kNoSlice;
}

}  // namespace underlap::viewer
