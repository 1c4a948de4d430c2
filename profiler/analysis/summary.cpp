// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "profiler/analysis/analysis.hpp"
#include "profiler/analysis/arrivals.hpp"
#include "profiler/analysis/exposure.hpp"

namespace underlap::analysis {
namespace {

void add(Split& sum, const Split& part) {
  sum.window_ns += part.window_ns;
  sum.compute_only_ns += part.compute_only_ns;
  sum.hidden_ns += part.hidden_ns;
  sum.copy_only_ns += part.copy_only_ns;
  sum.idle_ns += part.idle_ns;
  sum.exposed_wait_ns += part.exposed_wait_ns;
  sum.exposed_unsplit_ns += part.exposed_unsplit_ns;
  for (const auto& [modes, ns] : part.exposed_ns_by_modes) sum.exposed_ns_by_modes[modes] += ns;
  for (const auto& [mode, split] : part.modes) sum.modes[mode] += split;
  for (const auto& [purpose, split] : part.purposes) sum.purposes[purpose] += split;
}

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
    if (kind == Kind::copy || !ends_in_any(trace.end_ns(i), windows[rank])) continue;
    ++(kind == Kind::compute ? by_rank[rank]->compute_kernels : by_rank[rank]->comm_kernels);
  }
}

std::vector<Window> spans(const Trace& trace) {
  std::vector<Window> windows;
  for (const std::int32_t rank : ranks_of(trace))
    if (const auto span = span_of_rank(trace, rank)) windows.push_back(*span);
  return windows;
}

double median(std::vector<std::int64_t> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto low = static_cast<double>(values[(values.size() - 1) / 2]);
  return (low + static_cast<double>(values[values.size() / 2])) / 2;
}

}  // namespace

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

Summary summarise(const Trace& trace) {
  Summary summary;
  WindowList found = find_windows(trace);
  summary.window_errors = std::move(found.errors);
  summary.has_steps = !trace.marks.empty();
  const std::vector<Window> windows = summary.has_steps ? std::move(found.windows) : spans(trace);
  const std::vector<Split> splits = split_windows(trace, windows);
  std::map<std::int32_t, std::size_t> index;
  for (const std::int32_t rank : ranks_of(trace)) {
    index[rank] = summary.ranks.size();
    summary.ranks.push_back({.rank = rank, .total = {}, .windows = {}, .splits = {}});
  }
  for (std::size_t i = 0; i < windows.size(); ++i) {
    RankSummary& rank = summary.ranks[index[windows[i].rank]];
    rank.windows.push_back(windows[i]);
    rank.splits.push_back(splits[i]);
    add(rank.total, splits[i]);
  }
  count_kernels(trace, summary.ranks);
  const ClockAlignment alignment = align_clocks(trace);
  summary.clock_residual_ns = alignment.residual_ns;
  summary.lateness_ns = alignment.lateness_ns;
  return summary;
}

}  // namespace underlap::analysis
