// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/summary.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "profiler/analysis/arrivals.hpp"
#include "profiler/analysis/communications.hpp"
#include "profiler/analysis/exposure.hpp"

namespace underlap::analysis {
namespace {

// Windows of one rank follow each other in time, so the one that may hold a moment is found by bisection.
bool ends_in_any(std::int64_t end_ns, const std::map<std::int64_t, std::int64_t>& begin_by_end) {
  const auto window = begin_by_end.lower_bound(end_ns);
  return window != begin_by_end.end() && window->second < end_ns;
}

void count_kernels(const Trace& trace, std::vector<RankSummary>& ranks) {
  std::map<std::int32_t, std::map<std::int64_t, std::int64_t>> windows;
  std::map<std::int32_t, RankSummary*> by_rank;
  for (RankSummary& rank : ranks) {
    by_rank[rank.rank] = &rank;
    for (const Window& w : rank.windows) windows[rank.rank].emplace(w.end_ns, w.begin_ns);
  }
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const std::int32_t rank = trace.tracks[trace.track(i)].rank;
    const Kind kind = trace.tag(i).kind;
    if (kind == Kind::copy || kind == Kind::none || !by_rank.contains(rank)) continue;
    if (!ends_in_any(trace.end_ns(i), windows[rank])) continue;
    ++(kind == Kind::compute ? by_rank[rank]->compute_kernels : by_rank[rank]->comm_kernels);
  }
}

std::vector<Window> spans(const Trace& trace) {
  std::map<std::int32_t, Window> ranks;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (!trace.is_work(i)) continue;
    const std::int32_t rank = trace.track_of(i).rank;
    const Window slice{rank, -1, -1, trace.start_ns()[i], trace.end_ns(i)};
    Window& span = ranks.try_emplace(rank, slice).first->second;
    span.begin_ns = std::min(span.begin_ns, slice.begin_ns);
    span.end_ns = std::max(span.end_ns, slice.end_ns);
  }
  std::vector<Window> windows;
  for (const auto& [rank, span] : ranks) windows.push_back(span);
  return windows;
}

std::vector<Window> windows_of(const StepList& steps) {
  std::vector<Window> windows;
  for (const RankSteps& rank : steps.ranks) windows.insert(windows.end(), rank.windows.begin(), rank.windows.end());
  return windows;
}

// Of each of `ranks`, what its windows hold.
std::vector<RankSummary> over_windows(const Trace& trace, const std::vector<std::int32_t>& ranks,
                                      const std::vector<Window>& windows) {
  std::vector<RankSummary> list;
  std::map<std::int32_t, std::size_t> index;
  for (const std::int32_t rank : ranks) {
    index[rank] = list.size();
    list.push_back({.rank = rank, .total = {}, .windows = {}, .splits = {}});
  }
  const std::vector<Split> splits = split_windows(trace, windows);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    RankSummary& rank = list[index[windows[i].rank]];
    rank.windows.push_back(windows[i]);
    rank.splits.push_back(splits[i]);
    rank.total += splits[i];
  }
  count_kernels(trace, list);
  return list;
}

double median(std::vector<std::int64_t> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto low = static_cast<double>(values[(values.size() - 1) / 2]);
  return (low + static_cast<double>(values[values.size() / 2])) / 2;
}

Summary over_steps(const Trace& trace, StepList steps) {
  Summary summary;
  summary.has_steps = !trace.marks.empty();
  if (summary.has_steps) {
    WindowList found = find_windows(trace);
    summary.window_errors = std::move(found.errors);
    summary.ranks = over_windows(trace, ranks_of(trace), found.windows);
    return summary;
  }
  summary.ranks = over_windows(trace, ranks_of(trace), spans(trace));
  summary.steps = std::move(steps);
  std::vector<std::int32_t> ranks;
  for (const RankSteps& rank : summary.steps.ranks)
    if (!rank.windows.empty()) ranks.push_back(rank.rank);
  if (!ranks.empty()) summary.steps_of_ranks = over_windows(trace, ranks, windows_of(summary.steps));
  return summary;
}

void set_clock(Summary& summary, const ClockAlignment& alignment) {
  summary.clock_residual_ns = alignment.residual_ns;
  summary.lateness_ns = alignment.lateness_ns;
}

}  // namespace

std::string steps_text(const Summary& summary) {
  return summary.has_steps ? "the trace's own marks" : steps_text(summary.steps);
}

double median_of(std::span<const Split> splits, const std::function<std::int64_t(const Split&)>& part) {
  std::vector<std::int64_t> values;
  for (const Split& split : splits) values.push_back(part(split));
  return median(std::move(values));
}

double median_of(std::span<const Split> splits, const std::map<std::string, CommunicationSplit> Split::*kind,
                 const std::string& key, std::int64_t CommunicationSplit::*part) {
  return median_of(splits, [&](const Split& split) {
    const auto found = (split.*kind).find(key);
    return found == (split.*kind).end() ? 0 : found->second.*part;
  });
}

Summary summarise(const Trace& trace) { return summarise(trace, trace.marks.empty() ? find_steps(trace) : StepList{}); }

Summary summarise(const Trace& trace, StepList steps) {
  Summary summary = over_steps(trace, std::move(steps));
  set_clock(summary, align_clocks(trace));
  return summary;
}

Summary match_and_summarise(Trace& trace, StepList steps, const Reading& reading) {
  Communications communications =
      trace.marks.empty() ? match_and_align(trace) : Communications{match_communications(trace), align_clocks(trace)};
  reading.check();
  Summary summary = over_steps(trace, std::move(steps));
  set_clock(summary, communications.alignment);
  reading.check();
  summary.waits = find_waits(trace, communications, windows_of(summary.steps));
  summary.communications = std::move(communications);
  return summary;
}

std::vector<Window> Summary::shown_windows() const {
  std::vector<Window> windows;
  for (const RankSummary& rank : shown()) windows.insert(windows.end(), rank.windows.begin(), rank.windows.end());
  return windows;
}

}  // namespace underlap::analysis
