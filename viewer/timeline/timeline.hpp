// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "profiler/analysis/trace_summary.hpp"
#include "profiler/trace/reading.hpp"
#include "profiler/trace/saturating.hpp"
#include "profiler/trace/trace.hpp"
#include "viewer/timeline/counter_series.hpp"
#include "viewer/timeline/lane_segments.hpp"
#include "viewer/timeline/rank_sweep.hpp"

namespace underlap::viewer {

/// What a lane shows: one file in viewer/lanes draws each.
enum class LaneKind : std::uint8_t {
  strip,    ///< a rank's exposure at a glance
  stream,   ///< work of a device
  thread,   ///< calls of the host
  range,    ///< annotations: NVTX ranges, user annotations, steps
  counter,  ///< a value over time
};

/// A part of a lane in which no two slices overlap.
struct LaneRow {
  std::vector<std::uint32_t> slices;  ///< of the trace, by start; of a strip none
  Segments segments;
};

/// One lane of one rank: its rows lie below each other.
struct Lane {
  LaneKind kind = LaneKind::stream;
  std::int32_t rank = 0;
  std::int32_t track = -1;  ///< index into Trace::tracks; of a strip -1
  std::string name;
  std::vector<LaneRow> rows;
  CounterSeries values = {};  ///< of a counter
};

/// A step of one rank, in the time of a timeline.
struct StepSpan {
  std::int32_t rank = 0;
  std::int32_t block = 0;
  std::int32_t step = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

/// A part of time on a timeline. Nanoseconds.
struct TimeRange {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;

  friend bool operator==(const TimeRange&, const TimeRange&) = default;
};

/// A trace as it is drawn. Times count from the first work of the trace, on the clock of all ranks (offsets that
/// analysis::ClockAlignment found are taken off). The trace must outlive it.
class Timeline {
 public:
  /// Lays out a trace, with `threads` threads; the summary provides steps and clocks. Lanes are in the order of ranks,
  /// and for each rank: strip, streams, counters, ranges, threads.
  /// Throws Cancelled; checks for cancellation at each rank.
  Timeline(const Trace&, const analysis::Summary&, unsigned threads, const Reading& = {});

  const Trace& trace() const { return *trace_; }
  const std::vector<Lane>& lanes() const { return lanes_; }
  const std::vector<std::int32_t>& ranks() const { return ranks_; }
  /// Rank by rank, in the order of time.
  const std::vector<StepSpan>& steps() const { return steps_; }
  std::span<const StepSpan> steps_of(std::int32_t rank) const;
  /// Of the first rank that has steps; of no rank where none has.
  std::span<const StepSpan> first_steps() const { return steps_.empty() ? steps_ : steps_of(steps_.front().rank); }
  /// The step of a rank at a moment; nullptr where there is none.
  const StepSpan* step_at(std::int32_t rank, std::int64_t time_ns) const;
  /// Whether the steps of the ranks begin or end at different times.
  bool has_own_steps() const { return has_own_steps_; }
  /// Work outside of all steps, on the first rank that has steps: warm-up, and work that was cut off. One range before
  /// or after each step that it adjoins. No figure counts it.
  const std::vector<TimeRange>& uncounted() const { return uncounted_; }
  /// From 0 to the end, and never empty.
  TimeRange all() const { return {0, std::max<std::int64_t>(length_ns_, 1)}; }
  /// What is worth seeing first: all, or of a trace in blocks, between which other cells ran, the steps of the first.
  TimeRange opening() const;
  /// The strip of one of the ranks.
  const Segments& strip_of(std::int32_t rank) const { return strip_place_of(rank).lane->rows.front().segments; }
  /// Length of what there is; its begin is 0.
  std::int64_t length_ns() const { return length_ns_; }
  /// Communication slices with exposed time, by number of the slice.
  const std::vector<ExposedSlice>& exposed() const { return exposed_; }
  /// Of one slice; nullptr where none of it is exposed.
  const ExposedSlice* exposed_of(std::uint32_t slice) const;

  /// From a moment of a rank's clock to one of the timeline, and back.
  std::int64_t time_of(std::int32_t rank, std::int64_t trace_ns) const {
    return saturating_subtract(trace_ns, origin_ns(rank));
  }
  std::int64_t trace_ns_of(std::int32_t rank, std::int64_t time_ns) const {
    return saturating_add(time_ns, origin_ns(rank));
  }
  std::int64_t begin_ns(std::uint32_t slice) const;
  std::int64_t end_ns(std::uint32_t slice) const;

  /// The slice of a row at a moment; kNoSlice where none pieces.
  static constexpr std::uint32_t kNoSlice = ~std::uint32_t{0};
  std::uint32_t slice_at(const LaneRow&, std::int64_t time_ns) const;
  /// The slices of a row that touch [begin_ns, end_ns): from, to.
  std::pair<std::size_t, std::size_t> slices_within(const LaneRow&, std::int64_t begin_ns, std::int64_t end_ns) const;

  /// A slice of a row's communication that begins in [begin_ns, end_ns) and has exposed time; among millions, one where
  /// most of it is. kNoSlice if there is no such slice. As fast for millions as for a few.
  std::uint32_t exposed_within(const LaneRow&, std::int64_t begin_ns, std::int64_t end_ns) const;

  /// The lane and the row of a slice; nullptr where it is in none.
  struct Place {
    const Lane* lane = nullptr;
    std::size_t lane_index = 0;
    std::size_t row = 0;
  };
  Place place_of(std::uint32_t slice) const;
  /// The strip of one of the ranks.
  Place strip_place_of(std::int32_t rank) const;

  /// What memory lanes take, without the trace.
  std::size_t bytes() const;

 private:
  std::int64_t origin_ns(std::int32_t rank) const;
  void find_origins(const analysis::Summary&);
  void add_lanes(unsigned threads, const Reading&);
  void build_rank(std::int32_t rank, std::vector<std::vector<std::uint32_t>>& slices_of_tracks,
                  std::vector<Lane>& lanes, std::vector<ExposedSlice>& exposed) const;
  void add_counters();
  void add_steps(const analysis::Summary&);
  void add_uncounted();

  const Trace* trace_;
  std::vector<std::int32_t> ranks_;
  std::map<std::int32_t, std::int64_t> origin_by_rank_;
  std::int64_t origin_ns_ = 0;
  std::int64_t length_ns_ = 0;
  std::vector<Lane> lanes_;
  std::vector<std::size_t> lane_of_track_;
  std::vector<StepSpan> steps_;
  bool has_own_steps_ = false;
  std::vector<TimeRange> uncounted_;
  std::vector<ExposedSlice> exposed_;
};

}  // namespace underlap::viewer
