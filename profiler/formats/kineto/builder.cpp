// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/kineto/builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "profiler/formats/kineto/arguments.hpp"
#include "profiler/formats/kineto/decimal_time.hpp"

namespace underlap::formats {
namespace {

constexpr std::uint32_t kNoTrack = ~std::uint32_t{0};
Kind kind_of(KinetoCategory category) {
  if (category == KinetoCategory::kernel) return Kind::compute;
  return category == KinetoCategory::copy ? Kind::copy : Kind::none;
}

TrackKind track_kind_of(KinetoCategory category) {
  switch (category) {
    case KinetoCategory::kernel:
    case KinetoCategory::copy:
    case KinetoCategory::sync: return TrackKind::stream;
    case KinetoCategory::annotation:
    case KinetoCategory::gpu_annotation: return TrackKind::range;
    default: return TrackKind::thread;
  }
}

// The number of "stream 7" or of 7; 0 where there is none. Numbers of threads that are wider are cut to 32 bits.
std::int32_t number_of(const KinetoId& id) {
  if (id.text == kNoName) return static_cast<std::int32_t>(id.number);
  const std::vector<std::string_view> numbers = numbers_in(name_of(id.text));
  return numbers.empty() ? 0 : static_cast<std::int32_t>(integer_of(numbers.front()).value_or(0));
}

std::string text_of(const KinetoId& id) {
  return id.text == kNoName ? std::to_string(id.number) : std::string(name_of(id.text));
}

// CUPTI gives a time of 0 to work whose times it could not collect.
bool is_without_time(const KinetoRow& row) {
  return row.time_ns == 0 && is_of_device(row.category) && (row.phase == 'X' || row.phase == 'B');
}

// Whether a file's times start long before its first event, so that 0 is not a valid time. nullopt: no event with
// another time.
std::optional<bool> is_far_from_zero(const KinetoEvents& events) {
  constexpr std::int64_t kFarNs = 1'000'000'000;
  std::optional<std::int64_t> nearest_ns;
  for (const KinetoRow& row : events.rows)
    if (row.time_ns != 0 && (row.phase == 'X' || row.phase == 'B'))
      nearest_ns = std::min(nearest_ns.value_or(std::abs(row.time_ns)), std::abs(row.time_ns));
  return nearest_ns ? std::optional(*nearest_ns > kFarNs) : std::nullopt;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

void KinetoBuilder::add(const KinetoEvents& events) {
  trace().import.events += events.events;
  for (const auto& [reason, count] : events.skipped) skip(reason, count);
  if (!is_zero_bad_) is_zero_bad_ = is_far_from_zero(events);
  if (is_zero_bad_) add_held();
  for (const KinetoRow& row : events.rows)
    if (!is_zero_bad_ && row.phase == 'X' && is_without_time(row))
      hold(row, events);
    else if (is_zero_bad_.value_or(false) && is_without_time(row))
      skip("GPU event with a time of 0");
    else
      add(row, events);
}

void KinetoBuilder::hold(KinetoRow row, const KinetoEvents& events) {
  KinetoWork work = events.work[row.extra];
  if (work.collective != KinetoWork::kNoCollective) {
    held_.collectives.push_back(events.collectives[work.collective]);
    work.collective = static_cast<std::uint32_t>(held_.collectives.size() - 1);
  }
  row.extra = static_cast<std::uint32_t>(held_.work.size());
  held_.work.push_back(work);
  held_.rows.push_back(row);
}

void KinetoBuilder::add_held() {
  const KinetoEvents held = std::exchange(held_, {});
  if (is_zero_bad_.value_or(false) && !held.rows.empty())
    return skip("GPU event with a time of 0", static_cast<std::int64_t>(held.rows.size()));
  for (const KinetoRow& row : held.rows) add(row, held);
}

void KinetoBuilder::add(const KinetoRow& row, const KinetoEvents& events) {
  static const KinetoWork kNoWork;
  switch (row.phase) {
    case 'X':
      if (dialect_ != nullptr) return add_foreign(row, events);
      return add_slice(row, is_of_device(row.category) ? events.work[row.extra] : kNoWork, events);
    case 'B': {
      const KinetoLane lane = lanes_.lane(row.lane);
      open_[{lane.pid, lane.tid}].push_back({row, is_of_device(row.category) ? events.work[row.extra] : kNoWork});
      return;
    }
    case 'E': return end_slice(row, events);
    case 'C': return trace().counters.push_back({counter_track_of(row), row.time_ns, events.values[row.extra]});
    case 's':
    case 'f': return add_flow_point(row);
    default: return add_name(row);
  }
}

void KinetoBuilder::add_name(const KinetoRow& row) {
  const KinetoLane lane = lanes_.lane(row.lane);
  const auto label = static_cast<KinetoLabel>(row.extra);
  if (label == KinetoLabel::thread_name) parts_.thread_names[{lane.pid, lane.tid}] = row.name;
  if (label == KinetoLabel::process_name) parts_.process_names[lane.pid] = row.name;
}

void KinetoBuilder::add_foreign(const KinetoRow& row, const KinetoEvents& events) {
  static const KinetoForeign kNothing;
  KinetoSlice slice{.row = row, .lane = lanes_.lane(row.lane), .collective = std::nullopt};
  slice.row.has_collective = false;
  dialect_->interpret(slice, row.foreign == KinetoRow::kNoForeign ? kNothing : events.foreign[row.foreign], parts_);
  if (slice.is_dropped) return;
  if (slice.row.category != slice.lane.category) {
    slice.lane.category = slice.row.category;
    slice.row.lane = lanes_.index_of(slice.lane);
  }
  const auto index = static_cast<std::uint32_t>(trace().size());
  add_slice(slice.row, slice.work, events);
  if (slice.collective) parts_.stated.push_back({index, *slice.collective});
}

std::uint32_t KinetoBuilder::track_of(std::uint32_t lane, const KinetoWork& work) {
  if (lane >= track_of_lane_.size()) track_of_lane_.resize(lane + 1, kNoTrack);
  if (track_of_lane_[lane] != kNoTrack) return track_of_lane_[lane];
  const KinetoLane of = lanes_.lane(lane);
  Track track{
      .stream = work.has_stream ? work.stream : number_of(of.tid), .name = "", .kind = track_kind_of(of.category)};
  if (is_of_device(of.category)) track.device = work.device >= 0 ? work.device : number_of(of.pid);
  // Kernels, copies and waits of a stream are one track.
  auto& tracks = trace().tracks;
  const auto [found, is_new] =
      tracks_.try_emplace({of.pid, of.tid, track.kind}, static_cast<std::uint32_t>(tracks.size()));
  if (is_new) {
    tracks.push_back(track);
    parts_.lane_of_track.push_back(of);
  }
  return track_of_lane_[lane] = found->second;
}

std::uint32_t KinetoBuilder::counter_track_of(const KinetoRow& row) {
  const KinetoLane lane = lanes_.lane(row.lane);
  auto& tracks = trace().tracks;
  const auto [found, is_new] =
      counter_tracks_.try_emplace({lane.pid, row.name}, static_cast<std::uint32_t>(tracks.size()));
  if (is_new) {
    tracks.push_back({.name = std::string(name_of(row.name)), .kind = TrackKind::counter});
    parts_.lane_of_track.push_back(lane);
  }
  return found->second;
}

// An id of 0 is none: CUPTI and rocprofiler count from 1.
void KinetoBuilder::add_slice(const KinetoRow& row, const KinetoWork& work, const KinetoEvents& events) {
  const auto index = static_cast<std::uint32_t>(trace().size());
  Slice slice{.track = track_of(row.lane, work),
              .start_ns = row.time_ns,
              .duration_ns = row.duration_ns,
              .name = row.name,
              .tag = {.kind = kind_of(row.category)},
              .attribution = kNotAttributed};
  if (slice.tag.kind != Kind::none) slice.shape = work.shape;
  trace().add(slice);
  if (slice.tag.kind != Kind::none) {
    work_has_correlation_ = work_has_correlation_ || row.id > 0;
    if (row.id > 0) parts_.work.push_back({row.id, index});
    if (work.collective != KinetoWork::kNoCollective)
      parts_.stated.push_back({index, events.collectives[work.collective]});
    else if (work.external_id > 0)
      parts_.unstated.push_back({work.external_id, index});
  } else if (row.category == KinetoCategory::sync && work.awaited_stream >= 0) {
    parts_.waits.push_back({index, work.awaited_stream, row.id, work.record_id});
  } else if (row.category == KinetoCategory::call && row.id > 0) {
    parts_.calls.push_back({row.id, index});
  } else if (row.has_collective && row.is_of_gloo) {
    parts_.gloo.push_back({index, events.collectives[row.extra]});
  } else if (row.has_collective && row.is_range_of_collective) {
    parts_.ranges.push_back({index, events.collectives[row.extra]});
  } else if (row.has_collective && !is_of_device(row.category) && row.id > 0) {
    parts_.recorded.insert_or_assign(row.id, events.collectives[row.extra]);
  }
}

void KinetoBuilder::end_slice(const KinetoRow& row, const KinetoEvents& events) {
  const KinetoLane lane = lanes_.lane(row.lane);
  auto& stack = open_[{lane.pid, lane.tid}];
  if (stack.empty()) return skip("end of a slice without a start");
  Open open = stack.back();
  stack.pop_back();
  open.row.duration_ns = row.time_ns - open.row.time_ns;
  open.row.has_collective = false;
  open.work.collective = KinetoWork::kNoCollective;
  const std::string_view fault = duration_fault(open.row.duration_ns, !is_of_device(open.row.category));
  if (!fault.empty()) return skip(fault);
  add_slice(open.row, open.work, events);
}

// Arrows of launches repeat the correlations, so they are kept only until some work has a correlation.
void KinetoBuilder::add_flow_point(const KinetoRow& row) {
  const auto kind = static_cast<FlowKind>(row.extra);
  if (kind == FlowKind::launch && work_has_correlation_ && dialect_ == nullptr) return;
  parts_.flow_points.push_back({row.id, row.time_ns, row.lane, kind, row.phase == 's'});
  parts_.lane_of_points.try_emplace(row.lane, lanes_.lane(row.lane));
}

void KinetoBuilder::name_tracks() {
  for (std::size_t i = 0; i < trace().tracks.size(); ++i) {
    Track& track = trace().tracks[i];
    const KinetoLane& lane = parts_.lane_of_track[i];
    if (track.kind == TrackKind::counter) continue;
    if (const std::string_view name = parts_.thread_name(lane); !name.empty())
      track.name = trimmed(name);
    else
      track.name = is_of_device(lane.category) ? fmt::format("stream {}", track.stream) : "thread " + text_of(lane.tid);
  }
}

Trace KinetoBuilder::finish(KinetoHeader header, const Reading& reading) {
  add_held();
  for (const auto& [thread, stack] : open_)
    if (!stack.empty()) skip("slice without an end", static_cast<std::int64_t>(stack.size()));
  Trace& trace = parts_.trace;
  const bool has_arrows = std::ranges::any_of(
      parts_.flow_points, [](const KinetoFlowPoint& point) { return point.kind == FlowKind::launch; });
  if (dialect_ != nullptr && has_arrows)
    parts_.work.clear();  // tasks of an NPU and their calls are numbered apart in some versions
  else if (work_has_correlation_)
    std::erase_if(parts_.flow_points, [](const KinetoFlowPoint& point) { return point.kind == FlowKind::launch; });
  trace.metadata = header.metadata;
  trace.metadata["format"] = dialect_ == nullptr ? "kineto" : dialect_->format();
  name_tracks();
  if (dialect_ != nullptr) dialect_->finish(parts_, header);
  reading.check();
  join_launches(parts_);
  join_waits(parts_);
  reading.check();
  place_ranks(parts_, header);
  reading.check();
  attach_collectives(parts_, header);
  reading.check();
  if (dialect_ == nullptr) add_gloo_work(parts_, header);
  reading.check();
  if (header.base_ns != 0) trace.shift(header.base_ns);
  return std::move(trace);
}

}  // namespace underlap::formats
