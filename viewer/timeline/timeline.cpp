// SPDX-License-Identifier: Apache-2.0
#include "viewer/timeline/timeline.hpp"

#include <fmt/format.h>

#include <iterator>
#include <set>
#include <thread>

#include "platform/threads/on_all_cores.hpp"

namespace underlap::viewer {
namespace {

using Indices = std::vector<std::uint32_t>;

LaneKind kind_of(TrackKind kind) {
  switch (kind) {
    case TrackKind::stream: return LaneKind::stream;
    case TrackKind::thread: return LaneKind::thread;
    case TrackKind::range: return LaneKind::range;
    case TrackKind::counter: break;
  }
  return LaneKind::counter;
}

// The order of lanes below the strip: streams first, then the lanes that explain them.
int place_in_rank(LaneKind kind) {
  switch (kind) {
    case LaneKind::strip: return 0;
    case LaneKind::stream: return 1;
    case LaneKind::counter: return 2;
    case LaneKind::range: return 3;
    case LaneKind::thread: break;
  }
  return 4;
}

std::string name_of_track(const Track& track) {
  if (!track.name.empty()) return track.name;
  return fmt::format("{} {}", to_string(track.kind), track.stream);
}

// Some tools name the ranges of a stream or a thread after it.
void name_ranges_by_thread(std::vector<Lane>& lanes) {
  for (Lane& lane : lanes) {
    if (lane.kind != LaneKind::range) continue;
    const bool has_namesake = std::ranges::any_of(
        lanes, [&](const Lane& other) { return other.kind != LaneKind::range && other.name == lane.name; });
    if (has_namesake) lane.name = fmt::format("ranges: {}", lane.name);  // first, since long names are cut
  }
}

// The slices of each track, by start.
std::vector<Indices> slices_of_tracks(const Trace& trace) {
  std::vector<std::size_t> counts(trace.tracks.size());
  for (std::size_t i = 0; i < trace.size(); ++i) ++counts[trace.track(i)];
  std::vector<Indices> tracks(trace.tracks.size());
  for (std::size_t track = 0; track < tracks.size(); ++track) tracks[track].reserve(counts[track]);
  for (std::size_t i = 0; i < trace.size(); ++i) tracks[trace.track(i)].push_back(static_cast<std::uint32_t>(i));
  const auto& start_ns = trace.start_ns();
  const auto by_start = [&](std::uint32_t a, std::uint32_t b) { return start_ns[a] < start_ns[b]; };
  for (Indices& slices : tracks)
    if (!std::ranges::is_sorted(slices, by_start)) std::ranges::stable_sort(slices, by_start);
  return tracks;
}

// Spreads slices of one track, sorted by start, over as few rows as it takes that no two of a row overlap. Most fit
// into the first row, which is what was given, without those that do not.
std::vector<Indices> rows_apart(const Trace& trace, Indices slices) {
  std::vector<Indices> rows(1);
  std::vector<std::int64_t> ends_ns{INT64_MIN};
  std::size_t num_first = 0;
  for (const std::uint32_t slice : slices) {
    const std::int64_t start_ns = trace.start_ns()[slice];
    std::size_t row = 0;
    while (row < rows.size() && ends_ns[row] > start_ns) ++row;
    if (row == rows.size()) {
      rows.emplace_back();
      ends_ns.push_back(0);
    }
    if (row == 0)
      slices[num_first++] = slice;
    else
      rows[row].push_back(slice);
    ends_ns[row] = trace.end_ns(slice);
  }
  slices.resize(num_first);
  slices.shrink_to_fit();
  rows.front() = std::move(slices);
  return rows;
}

// The same for calls and ranges, which nest: each is one row below the one that it is within.
std::vector<Indices> rows_nested(const Trace& trace, Indices slices) {
  // The longer of two that begin together is the outer one.
  std::ranges::stable_sort(slices, [&](std::uint32_t a, std::uint32_t b) {
    const std::int64_t first_ns = trace.start_ns()[a], second_ns = trace.start_ns()[b];
    return first_ns != second_ns ? first_ns < second_ns : trace.end_ns(a) > trace.end_ns(b);
  });
  std::vector<Indices> rows(1);
  std::vector<std::int64_t> open_ns;  // ends of those that the next one may be within
  for (const std::uint32_t slice : slices) {
    while (!open_ns.empty() && open_ns.back() <= trace.start_ns()[slice]) open_ns.pop_back();
    if (open_ns.size() == rows.size()) rows.emplace_back();
    rows[open_ns.size()].push_back(slice);
    open_ns.push_back(trace.end_ns(slice));
  }
  return rows;
}

// Calls and ranges: each slice as it is.
Segments segments_of(const Trace& trace, const Indices& slices, std::int64_t origin_ns) {
  Segments segments;
  for (const std::uint32_t slice : slices)
    segments.add(saturating_subtract(trace.start_ns()[slice], origin_ns),
                 saturating_subtract(trace.end_ns(slice), origin_ns), {Paint::range, 0});
  segments.finish();
  return segments;
}

}  // namespace

Timeline::Timeline(const Trace& trace, const analysis::Summary& summary, unsigned threads, const Reading& reading)
    : trace_(&trace) {
  std::set<std::int32_t> ranks;
  for (const Track& track : trace.tracks) ranks.insert(track.rank);
  ranks_.assign(ranks.begin(), ranks.end());
  find_origins(summary);
  add_lanes(threads, reading);
  add_counters();
  add_steps(summary);
}

void Timeline::find_origins(const analysis::Summary& summary) {
  std::map<std::int32_t, std::int64_t> offsets;
  for (const std::int32_t rank : ranks_)
    offsets[rank] = summary.communications ? summary.communications->offset_ns(rank) : 0;
  std::vector<std::int64_t> of_track;
  for (const Track& track : trace_->tracks) of_track.push_back(offsets[track.rank]);
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max(), last_ns = std::numeric_limits<std::int64_t>::min();
  for (std::size_t i = 0; i < trace_->size(); ++i) {
    const std::int64_t offset_ns = of_track[trace_->track(i)];
    first_ns = std::min(first_ns, saturating_subtract(trace_->start_ns()[i], offset_ns));
    last_ns = std::max(last_ns, saturating_subtract(trace_->end_ns(i), offset_ns));
  }
  if (trace_->size() == 0) first_ns = last_ns = 0;
  origin_ns_ = first_ns;
  length_ns_ = saturating_subtract(last_ns, first_ns);
  for (const auto& [rank, offset_ns] : offsets) origin_by_rank_[rank] = saturating_add(first_ns, offset_ns);
}

void Timeline::add_lanes(unsigned threads, const Reading& reading) {
  reading.check();
  std::vector<Indices> of_tracks = slices_of_tracks(*trace_);
  std::vector<std::vector<Lane>> lanes(ranks_.size());
  std::vector<std::vector<ExposedSlice>> exposed(ranks_.size());
  on_all_cores(
      ranks_.size(),
      [&, reader = std::this_thread::get_id()](std::size_t i) {
        if (std::this_thread::get_id() == reader) reading.check();
        build_rank(ranks_[i], of_tracks, lanes[i], exposed[i]);
      },
      threads);
  std::size_t num_exposed = 0;
  for (const auto& of_rank : exposed) num_exposed += of_rank.size();
  exposed_.reserve(num_exposed);
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    std::ranges::move(lanes[i], std::back_inserter(lanes_));
    exposed_.insert(exposed_.end(), exposed[i].begin(), exposed[i].end());
    exposed[i] = {};
  }
  std::ranges::sort(exposed_, {}, &ExposedSlice::slice);
  lane_of_track_.resize(trace_->tracks.size());
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
    if (lanes_[lane].track >= 0) lane_of_track_[static_cast<std::size_t>(lanes_[lane].track)] = lane;
}

// Takes the slices of the rank's tracks.
void Timeline::build_rank(std::int32_t rank, std::vector<Indices>& of_tracks, std::vector<Lane>& lanes,
                          std::vector<ExposedSlice>& exposed) const {
  std::vector<WorkRow> work;  // of all streams
  lanes.push_back(
      {.kind = LaneKind::strip, .rank = rank, .track = -1, .name = fmt::format("rank {}", rank), .rows = {}});
  for (std::size_t track = 0; track < of_tracks.size(); ++track) {
    const Track& of = trace_->tracks[track];
    if (of.rank != rank) continue;
    Lane& lane = lanes.emplace_back();
    lane = {kind_of(of.kind), rank, static_cast<std::int32_t>(track), name_of_track(of), {}};
    // Work counts on any kind of track, as it does for the analysis.
    const bool has_work = lane.kind == LaneKind::stream ||
                          std::ranges::any_of(of_tracks[track], [&](std::uint32_t i) { return trace_->is_work(i); });
    if (has_work) lane.kind = LaneKind::stream;
    Indices slices = std::move(of_tracks[track]);
    for (Indices& row : has_work ? rows_apart(*trace_, std::move(slices)) : rows_nested(*trace_, std::move(slices))) {
      LaneRow& shown = lane.rows.emplace_back();
      shown.slices = std::move(row);
      if (has_work)
        work.emplace_back(shown.slices);
      else
        shown.segments = segments_of(*trace_, shown.slices, origin_ns(rank));
    }
  }
  RankPicture picture = sweep_rank(*trace_, work, origin_ns(rank));
  std::size_t next = 0;
  for (Lane& lane : lanes)
    if (lane.kind == LaneKind::stream)
      for (LaneRow& row : lane.rows) row.segments = std::move(picture.rows[next++]);
  lanes.front().rows.emplace_back();
  lanes.front().rows.front().segments = std::move(picture.strip);
  exposed = std::move(picture.exposed);
  std::ranges::stable_sort(lanes, {}, [](const Lane& lane) { return place_in_rank(lane.kind); });
  name_ranges_by_thread(lanes);
}

void Timeline::add_counters() {
  std::vector<Lane*> lane_of_track(trace_->tracks.size());
  for (Lane& lane : lanes_)
    if (lane.kind == LaneKind::counter) lane_of_track[static_cast<std::size_t>(lane.track)] = &lane;
  for (const CounterSample& sample : trace_->counters)
    if (Lane* lane = lane_of_track[sample.track]) lane->values.add(time_of(lane->rank, sample.time_ns), sample.value);
  for (Lane& lane : lanes_) lane.values.finish();
}

void Timeline::add_steps(const analysis::Summary& summary) {
  if (!summary.shows_steps()) return;
  for (const analysis::Window& window : summary.all_windows())
    steps_.push_back({window.rank, window.block, window.step, time_of(window.rank, window.begin_ns),
                      time_of(window.rank, window.end_ns)});
  const auto same_times = [](const StepSpan& a, const StepSpan& b) {
    return a.begin_ns == b.begin_ns && a.end_ns == b.end_ns;
  };
  for (const std::int32_t rank : ranks_)
    has_own_steps_ |= !steps_of(rank).empty() && !std::ranges::equal(steps_of(rank), first_steps(), same_times);
  add_uncounted();
}

// Work is adjacent to a step if the pauses between them are shorter than that step. Longer pauses separate the blocks
// of a cell, and other cells run in them.
void Timeline::add_uncounted() {
  if (steps_.empty()) return;
  const Segments& work = strip_of(steps_.front().rank);
  const std::span<const StepSpan> steps = first_steps();
  std::int64_t counted_until = std::numeric_limits<std::int64_t>::min();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const StepSpan& step = steps[i];
    const std::int64_t pause_ns = step.end_ns - step.begin_ns;
    std::int64_t begin = step.begin_ns;
    for (std::size_t at = work.first_beginning_at(step.begin_ns, 0); at > 0; --at) {
      if (work.end_ns(at - 1) <= counted_until || begin - work.end_ns(at - 1) >= pause_ns) break;
      begin = std::max(std::min(begin, work.begin_ns(at - 1)), counted_until);
    }
    if (begin < step.begin_ns) uncounted_.push_back({begin, step.begin_ns});
    const std::int64_t until = i + 1 < steps.size() ? steps[i + 1].begin_ns : std::numeric_limits<std::int64_t>::max();
    std::int64_t end = step.end_ns;
    for (std::size_t at = work.first_ending_after(step.end_ns); at < work.size(); ++at) {
      if (work.begin_ns(at) >= until || work.begin_ns(at) - end >= pause_ns) break;
      end = std::min(std::max(end, work.end_ns(at)), until);
    }
    if (end > step.end_ns) uncounted_.push_back({step.end_ns, end});
    counted_until = end;
  }
}

TimeRange Timeline::opening() const {
  if (std::ranges::all_of(steps_, [&](const StepSpan& step) { return step.block == steps_.front().block; }))
    return all();
  const std::int32_t first = std::ranges::min(steps_, {}, &StepSpan::begin_ns).block;
  TimeRange block{std::numeric_limits<std::int64_t>::max(), 0};
  for (const StepSpan& step : steps_) {
    if (step.block != first) continue;
    block.begin_ns = std::min(block.begin_ns, step.begin_ns);
    block.end_ns = std::max(block.end_ns, step.end_ns);
  }
  return block;
}

std::span<const StepSpan> Timeline::steps_of(std::int32_t rank) const {
  return std::ranges::equal_range(steps_, rank, {}, &StepSpan::rank);
}

const StepSpan* Timeline::step_at(std::int32_t rank, std::int64_t time_ns) const {
  const std::span<const StepSpan> steps = steps_of(rank);
  const auto later = std::ranges::upper_bound(steps, time_ns, {}, &StepSpan::begin_ns);
  return later != steps.begin() && time_ns < later[-1].end_ns ? &later[-1] : nullptr;
}

std::int64_t Timeline::origin_ns(std::int32_t rank) const {
  const auto found = origin_by_rank_.find(rank);
  return found == origin_by_rank_.end() ? origin_ns_ : found->second;
}

// Lanes are in the order of ranks, and a rank's strip comes first.
Timeline::Place Timeline::strip_place_of(std::int32_t rank) const {
  const auto strip = std::ranges::lower_bound(lanes_, rank, {}, &Lane::rank);
  return {&*strip, static_cast<std::size_t>(strip - lanes_.begin()), 0};
}

const ExposedSlice* Timeline::exposed_of(std::uint32_t slice) const {
  const auto found = std::ranges::lower_bound(exposed_, slice, {}, &ExposedSlice::slice);
  return found != exposed_.end() && found->slice == slice ? &*found : nullptr;
}

std::int64_t Timeline::begin_ns(std::uint32_t slice) const {
  return time_of(trace_->track_of(slice).rank, trace_->start_ns()[slice]);
}

std::int64_t Timeline::end_ns(std::uint32_t slice) const {
  return saturating_add(begin_ns(slice), trace_->duration_ns()[slice]);
}

std::uint32_t Timeline::slice_at(const LaneRow& row, std::int64_t time_ns) const {
  const auto next = std::ranges::upper_bound(row.slices, time_ns, {}, [&](std::uint32_t i) { return begin_ns(i); });
  if (next == row.slices.begin()) return kNoSlice;
  return end_ns(*(next - 1)) > time_ns ? *(next - 1) : kNoSlice;
}

std::pair<std::size_t, std::size_t> Timeline::slices_within(const LaneRow& row, std::int64_t begin_ns,
                                                            std::int64_t end_ns) const {
  const auto starts = [&](std::uint32_t i) { return this->begin_ns(i); };
  auto from = std::ranges::lower_bound(row.slices, begin_ns, {}, starts);
  if (from != row.slices.begin() && this->end_ns(*(from - 1)) > begin_ns) --from;
  const auto to = std::ranges::lower_bound(row.slices, end_ns, {}, starts);
  const auto index = [&](auto place) { return static_cast<std::size_t>(place - row.slices.begin()); };
  return {index(from), std::max(index(from), index(to))};
}

// Goes to that half which holds more, down to one.
std::uint32_t Timeline::exposed_within(const LaneRow& row, std::int64_t begin_ns, std::int64_t end_ns) const {
  const Segments& segments = row.segments;
  std::size_t from = segments.first_beginning_at(begin_ns, 0), to = segments.first_beginning_at(end_ns, from);
  if (from >= to || segments.content(from, to).exposed_ns <= 0) return kNoSlice;
  while (to - from > 1) {
    const std::size_t middle = from + (to - from) / 2;
    if (segments.content(from, middle).exposed_ns >= segments.content(middle, to).exposed_ns)
      to = middle;
    else
      from = middle;
  }
  return slice_at(row, segments.begin_ns(from));
}

Timeline::Place Timeline::place_of(std::uint32_t slice) const {
  const std::size_t lane = lane_of_track_[trace_->track(slice)];
  const std::int64_t start_ns = begin_ns(slice);
  for (std::size_t row = 0; row < lanes_[lane].rows.size(); ++row) {
    const Indices& slices = lanes_[lane].rows[row].slices;
    auto place = std::ranges::lower_bound(slices, start_ns, {}, [&](std::uint32_t i) { return begin_ns(i); });
    for (; place != slices.end() && begin_ns(*place) == start_ns; ++place)
      if (*place == slice) return {&lanes_[lane], lane, row};
  }
  return {};
}

std::size_t Timeline::bytes() const {
  std::size_t bytes = exposed_.capacity() * sizeof(ExposedSlice);
  for (const Lane& lane : lanes_)
    for (const LaneRow& row : lane.rows) bytes += row.slices.capacity() * sizeof(std::uint32_t) + row.segments.bytes();
  return bytes;
}

}  // namespace underlap::viewer
