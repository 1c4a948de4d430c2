// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/exposure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "platform/threads/on_all_cores.hpp"
#include "profiler/analysis/intervals.hpp"
#include "profiler/analysis/mode_name.hpp"

namespace underlap::analysis {
namespace {

constexpr std::size_t kNumModes = static_cast<std::size_t>(Mode::other) + 1;
constexpr std::size_t kManySlices = 200'000;  ///< fewer are split before other threads have begun

std::string modes_key(unsigned modes) {
  std::string key;
  for (std::size_t mode = 0; mode < kNumModes; ++mode)
    if (modes & (1U << mode)) key += (key.empty() ? "" : "+") + mode_name(static_cast<Mode>(mode));
  return key;
}

// Communication of one mode or purpose, as cut intervals.
struct CommunicationIntervals {
  std::vector<Interval> active;
  std::vector<Interval> transfer;      ///< from the last member's arrival
  std::vector<Interval> unsplit;       ///< all of those whose last arrival is not known
  std::vector<Interval> receive_wait;  ///< of a pipeline's receives, until the peer sends
  std::vector<Interval> other_wait;
  std::int64_t bytes_on_wire = 0;
  std::int64_t count = 0;
  std::int64_t without_bytes = 0;
};

struct CommunicationSets {
  IntervalSet active;
  IntervalSet transfer;
  IntervalSet unsplit;
  IntervalSet receive_wait;
  IntervalSet other_wait;
};

// All that one window holds, before any of it is measured.
struct WindowContent {
  std::vector<Interval> compute;
  std::vector<Interval> fused;         ///< part of the compute
  std::vector<Interval> unclassified;  ///< part of the compute
  std::vector<Interval> copy;
  std::array<CommunicationIntervals, kNumModes> by_mode;
  std::map<NameId, CommunicationIntervals> by_purpose;
};

Interval cut(std::int64_t begin, std::int64_t end, const Window& window) {
  return {std::max(begin, window.begin_ns), std::min(end, window.end_ns)};
}

bool ends_in(std::int64_t end, const Window& window) { return window.begin_ns < end && end <= window.end_ns; }

void add_communication(const Trace& trace, std::size_t slice, const Window& window, CommunicationIntervals& into) {
  const std::int64_t start = trace.start_ns()[slice];
  const std::int64_t end = trace.end_ns(slice);
  const CommunicationRecord* record = trace.communication(slice);
  const bool arrival_known = record != nullptr && record->last_arrival_ns != -1;
  into.active.push_back(cut(start, end, window));
  if (arrival_known) {
    const std::int64_t arrival = std::clamp(record->last_arrival_ns, start, end);
    into.transfer.push_back(cut(arrival, end, window));
    (receives_in_pipeline(trace, slice) ? into.receive_wait : into.other_wait).push_back(cut(start, arrival, window));
  } else {
    into.unsplit.push_back(cut(start, end, window));
  }
  if (!ends_in(end, window) || trace.is_part(slice)) return;
  ++into.count;
  if (record != nullptr) into.bytes_on_wire += record->bytes_on_wire();
  if (!trace.knows_bytes_on_wire(slice)) ++into.without_bytes;
}

void add_slice(const Trace& trace, std::size_t slice, const Window& window, WindowContent& content) {
  const Tag& tag = trace.tag(slice);
  const Interval active = cut(trace.start_ns()[slice], trace.end_ns(slice), window);
  // A slice without a duration has no length to give, but it is counted.
  if (active.end <= active.begin && !ends_in(trace.end_ns(slice), window)) return;
  switch (tag.kind) {
    case Kind::compute:
      content.compute.push_back(active);
      if (trace.attribution(slice).source == AttributionSource::fused) content.fused.push_back(active);
      if (trace.attribution(slice).source == AttributionSource::unclassified) content.unclassified.push_back(active);
      break;
    case Kind::copy: content.copy.push_back(active); break;
    case Kind::none: break;
    case Kind::communication:
      add_communication(trace, slice, window, content.by_mode[static_cast<std::size_t>(tag.mode)]);
      add_communication(trace, slice, window, content.by_purpose[tag.purpose]);
      break;
  }
}

CommunicationSets sets_of(CommunicationIntervals& intervals) {
  return {IntervalSet(std::move(intervals.active)), IntervalSet(std::move(intervals.transfer)),
          IntervalSet(std::move(intervals.unsplit)), IntervalSet(std::move(intervals.receive_wait)),
          IntervalSet(std::move(intervals.other_wait))};
}

struct ExposedParts {
  std::int64_t transfer_ns = 0;
  std::int64_t unsplit_ns = 0;
};

// A known transfer explains a moment, even if an unsplit communication runs, too.
ExposedParts exposed_parts(const IntervalSet& transfer, const IntervalSet& unsplit, const IntervalSet& compute) {
  return {subtract(transfer, compute).length(), subtract(subtract(unsplit, transfer), compute).length()};
}

// What nothing explains but a receive that waits by design.
std::int64_t dependency_ns(const CommunicationSets& sets, const IntervalSet& compute) {
  if (sets.receive_wait.empty()) return 0;
  const IntervalSet explained = unite(unite(sets.transfer, sets.unsplit), unite(sets.other_wait, compute));
  return subtract(sets.receive_wait, explained).length();
}

CommunicationSplit measure(const CommunicationIntervals& counts, const CommunicationSets& sets,
                           const IntervalSet& compute) {
  CommunicationSplit split;
  split.comm_ns = sets.active.length();
  split.exposed_ns = subtract(sets.active, compute).length();
  split.hidden_ns = split.comm_ns - split.exposed_ns;
  const ExposedParts parts = exposed_parts(sets.transfer, sets.unsplit, compute);
  split.exposed_transfer_ns = parts.transfer_ns;
  split.exposed_unsplit_ns = parts.unsplit_ns;
  split.exposed_wait_ns = split.exposed_ns - parts.transfer_ns - parts.unsplit_ns;
  split.pipeline_dependency_ns = dependency_ns(sets, compute);
  split.bytes_on_wire = counts.bytes_on_wire;
  split.count = counts.count;
  split.without_bytes = counts.without_bytes;
  return split;
}

using ModeSets = std::array<IntervalSet, kNumModes>;

// Goes through the beginnings and ends of a set's intervals.
class Edges {
 public:
  explicit Edges(std::span<const Interval> intervals) : intervals_(intervals) {}

  bool has_next() const { return next_ < 2 * intervals_.size(); }
  std::int64_t next_ns() const {
    const Interval& interval = intervals_[next_ / 2];
    return next_ % 2 == 0 ? interval.begin : interval.end;
  }
  void pass() { ++next_; }

 private:
  std::span<const Interval> intervals_;
  std::size_t next_ = 0;
};

// Length of every combination of modes that are exposed at one time.
std::map<std::string, std::int64_t> exposed_by_modes(const ModeSets& exposed) {
  std::vector<std::pair<Edges, unsigned>> modes;
  for (std::size_t mode = 0; mode < kNumModes; ++mode)
    if (!exposed[mode].empty()) modes.emplace_back(exposed[mode].intervals(), 1U << mode);
  std::array<std::int64_t, 1U << kNumModes> length_of{};
  unsigned active = 0;
  std::int64_t since = 0;
  while (!modes.empty()) {
    const std::int64_t now =
        std::ranges::min(modes, {}, [](const auto& mode) { return mode.first.next_ns(); }).first.next_ns();
    if (active != 0) length_of[active] += now - since;
    since = now;
    for (auto& [edges, mode] : modes) {
      if (edges.next_ns() != now) continue;
      edges.pass();
      active ^= mode;
    }
    std::erase_if(modes, [](const auto& mode) { return !mode.first.has_next(); });
  }
  std::map<std::string, std::int64_t> lengths;
  for (unsigned combination = 1; combination < length_of.size(); ++combination)
    if (length_of[combination] > 0) lengths[modes_key(combination)] = length_of[combination];
  return lengths;
}

Split measure(WindowContent& content, const Window& window) {
  Split split;
  const IntervalSet compute(std::move(content.compute));
  IntervalSet comm;
  IntervalSet transfer;
  IntervalSet unsplit;
  ModeSets exposed;
  for (std::size_t mode = 0; mode < kNumModes; ++mode) {
    CommunicationIntervals& intervals = content.by_mode[mode];
    if (intervals.active.empty()) continue;
    const CommunicationSets sets = sets_of(intervals);
    split.modes[mode_name(static_cast<Mode>(mode))] = measure(intervals, sets, compute);
    exposed[mode] = subtract(sets.active, compute);
    comm = unite(comm, sets.active);
    transfer = unite(transfer, sets.transfer);
    unsplit = unite(unsplit, sets.unsplit);
  }
  for (auto& [purpose, intervals] : content.by_purpose)
    split.purposes[purpose_name(purpose)] = measure(intervals, sets_of(intervals), compute);

  const IntervalSet busy = unite(compute, comm);
  const IntervalSet copy(std::move(content.copy));
  split.window_ns = window.length_ns();
  split.hidden_ns = intersect(comm, compute).length();
  split.compute_only_ns = compute.length() - split.hidden_ns;
  split.fused_ns = IntervalSet(std::move(content.fused)).length();
  split.unclassified_ns = IntervalSet(std::move(content.unclassified)).length();
  split.copy_only_ns = subtract(copy, busy).length();
  split.idle_ns = split.window_ns - busy.length() - split.copy_only_ns;
  split.exposed_ns_by_modes = exposed_by_modes(exposed);
  const ExposedParts parts = exposed_parts(transfer, unsplit, compute);
  split.exposed_unsplit_ns = parts.unsplit_ns;
  split.exposed_wait_ns = split.exposed_ns() - parts.transfer_ns - parts.unsplit_ns;
  return split;
}

void check_window(const Window& window) {
  if (window.end_ns < window.begin_ns)
    throw std::invalid_argument(fmt::format("window of rank {} step {} ends at {} ns, before it starts at {} ns",
                                            window.rank, window.step, window.end_ns, window.begin_ns));
}

// Hands out the slices of one rank to its windows, which must come in order of time.
class RankSweep {
 public:
  /// `slices`: by start.
  RankSweep(const Trace& trace, std::vector<std::uint32_t> slices) : trace_(trace), slices_(std::move(slices)) {}

  Split next(const Window& window) {
    while (next_ < slices_.size() && trace_.start_ns()[slices_[next_]] <= window.end_ns)
      open_.push_back(slices_[next_++]);
    WindowContent content;
    for (const std::size_t slice : open_) add_slice(trace_, slice, window, content);
    std::erase_if(open_, [&](std::size_t slice) { return trace_.end_ns(slice) <= window.end_ns; });
    return measure(content, window);
  }

 private:
  const Trace& trace_;
  std::vector<std::uint32_t> slices_;
  std::size_t next_ = 0;
  std::vector<std::size_t> open_;  ///< begun before the end of the last window and not ended in it
};

}  // namespace

bool receives_in_pipeline(const Trace& trace, std::size_t slice) {
  const CommunicationRecord* record = trace.communication(slice);
  return trace.tag(slice).kind == Kind::communication && trace.tag(slice).mode == Mode::pp && record != nullptr &&
         std::ranges::any_of(record->transfers,
                             [](const TransferRecord& transfer) { return transfer.collective == Collective::receive; });
}

Split split_window(const Trace& trace, const Window& window) {
  check_window(window);
  WindowContent content;
  for (std::size_t i = 0; i < trace.size(); ++i)
    if (trace.track_of(i).rank == window.rank) add_slice(trace, i, window, content);
  return measure(content, window);
}

std::vector<Split> split_windows(const Trace& trace, std::span<const Window> windows) {
  std::map<std::int32_t, std::vector<std::size_t>> windows_of;  // by rank
  for (std::size_t i = 0; i < windows.size(); ++i) {
    check_window(windows[i]);
    windows_of[windows[i].rank].push_back(i);
  }
  for (auto& [rank, of_rank] : windows_of) {
    std::ranges::stable_sort(of_rank, {}, [&](std::size_t i) { return windows[i].begin_ns; });
    for (std::size_t i = 1; i < of_rank.size(); ++i)
      if (windows[of_rank[i]].begin_ns < windows[of_rank[i - 1]].end_ns)
        throw std::invalid_argument(
            fmt::format("windows of rank {} overlap at {} ns", rank, windows[of_rank[i]].begin_ns));
  }
  auto by_rank = work_by_rank(trace);
  const std::vector<std::pair<std::int32_t, std::vector<std::size_t>>> ranks(windows_of.begin(), windows_of.end());
  std::vector<std::vector<std::uint32_t>> slices;
  for (const auto& [rank, of_rank] : ranks) slices.push_back(std::move(by_rank[rank]));
  std::vector<Split> splits(windows.size());
  on_all_cores(
      ranks.size(),
      [&](std::size_t rank) {
        RankSweep sweep(trace, std::move(slices[rank]));
        for (const std::size_t i : ranks[rank].second) splits[i] = sweep.next(windows[i]);
      },
      trace.size() < kManySlices ? 1 : 0);
  return splits;
}

}  // namespace underlap::analysis
