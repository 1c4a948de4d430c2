// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "profiler/analysis/breakdown.hpp"
#include "profiler/analysis/intervals.hpp"

namespace underlap::analysis {
namespace {

// The windows of every rank that the summary shows.
class ShownWindows {
 public:
  explicit ShownWindows(const Summary& summary) {
    for (const RankSummary& rank : summary.shown()) {
      if (rank.windows.empty()) continue;
      OfRank& of_rank = ranks_[rank.rank];
      std::vector<Interval> intervals;
      for (const Window& window : rank.windows) {
        intervals.push_back({window.begin_ns, window.end_ns});
        of_rank.begin_by_end.emplace(window.end_ns, window.begin_ns);
      }
      of_rank.all = IntervalSet(std::move(intervals));
      of_rank.count = static_cast<double>(rank.windows.size());
    }
  }

  /// 0: the rank is not shown.
  double count(std::int32_t rank) const {
    const auto found = ranks_.find(rank);
    return found == ranks_.end() ? 0 : found->second.count;
  }
  const IntervalSet& all(std::int32_t rank) const { return ranks_.at(rank).all; }
  bool holds_end(std::int32_t rank, std::int64_t end_ns) const {
    const auto found = ranks_.find(rank);
    if (found == ranks_.end()) return false;
    const auto window = found->second.begin_by_end.lower_bound(end_ns);
    return window != found->second.begin_by_end.end() && window->second < end_ns;
  }

 private:
  struct OfRank {
    IntervalSet all;
    std::map<std::int64_t, std::int64_t> begin_by_end;
    double count = 0;
  };
  std::map<std::int32_t, OfRank> ranks_;
};

// Work of one stream of one rank.
struct StreamWork {
  std::vector<Interval> compute, communication, copy;
  std::int64_t count = 0;
};

struct MeanFigures {
  std::vector<double> sums;
  double ranks = 0;
};

}  // namespace

FigureTable stream_table(const Trace& trace, const Summary& summary) {
  const ShownWindows windows(summary);
  std::map<std::int32_t, std::map<std::pair<std::int32_t, std::string>, StreamWork>> ranks;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const Track& track = trace.track_of(i);
    if (!trace.is_work(i) || windows.count(track.rank) == 0) continue;
    StreamWork& work = ranks[track.rank][{track.stream, track.name}];
    const Interval interval{trace.start_ns()[i], trace.end_ns(i)};
    const Kind kind = trace.tag(i).kind;
    (kind == Kind::compute         ? work.compute
     : kind == Kind::communication ? work.communication
                                   : work.copy)
        .push_back(interval);
    work.count += windows.holds_end(track.rank, interval.end) ? 1 : 0;
  }
  std::map<std::pair<std::int32_t, std::string>, MeanFigures> means;
  for (auto& [rank, streams] : ranks) {
    IntervalSet compute;
    std::map<const StreamWork*, IntervalSet> computes;
    for (auto& [stream, work] : streams) {
      computes[&work] = IntervalSet(std::move(work.compute));
      compute = unite(compute, computes[&work]);
    }
    for (auto& [stream, work] : streams) {
      const IntervalSet& in = windows.all(rank);
      const IntervalSet comm = intersect(IntervalSet(std::move(work.communication)), in);
      const IntervalSet own_compute = intersect(computes[&work], in);
      const IntervalSet copy = intersect(IntervalSet(std::move(work.copy)), in);
      const IntervalSet busy = unite(unite(own_compute, comm), copy);
      const double steps = windows.count(rank);
      MeanFigures& mean = means[stream];
      mean.sums.resize(6);
      mean.ranks += 1;
      const std::int64_t figures[]{
          work.count,   busy.length(), own_compute.length(), comm.length(), subtract(comm, compute).length(),
          copy.length()};
      for (std::size_t i = 0; i < std::size(figures); ++i) mean.sums[i] += static_cast<double>(figures[i]) / steps;
    }
  }
  FigureTable table{{{"stream", "stream"}},
                    {{"count", "count", FigureUnit::number, 1},
                     {"busy", "busy"},
                     {"compute", "compute"},
                     {"comm", "comm", FigureUnit::time, 0, true},
                     {"exposed", "exposed", FigureUnit::time, 0, true},
                     {"copy", "copy", FigureUnit::time, 0, true}},
                    {}};
  for (const auto& [stream, mean] : means) {
    FigureRow row{{stream.second.empty() ? std::to_string(stream.first) : stream.second}, {}};
    for (const double sum : mean.sums) row.figures.emplace_back(sum / mean.ranks);
    table.rows.push_back(std::move(row));
  }
  return table;
}

namespace {

struct KernelFigures {
  Kind kind = Kind::compute;
  Mode mode = Mode::none;
  double count = 0, total_ns = 0, longest_ns = 0;
};

std::string kernel_kind(const KernelFigures& kernel) {
  if (kernel.kind != Kind::communication) return std::string(to_string(kernel.kind));
  return kernel.mode == Mode::none ? "comm, unattributed" : "comm, " + std::string(to_string(kernel.mode));
}

// Without what every name of a kernel has.
std::string short_name(NameId name) {
  std::string text(name_of(name));
  if (text.starts_with("void ")) text.erase(0, 5);
  return text.empty() ? "(no name)" : text;
}

}  // namespace

FigureTable kernel_table(const Trace& trace, const Summary& summary) {
  const ShownWindows windows(summary);
  std::map<std::pair<NameId, std::pair<Kind, Mode>>, KernelFigures> kernels;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (!trace.is_work(i) || !windows.holds_end(trace.track_of(i).rank, trace.end_ns(i))) continue;
    const Tag& tag = trace.tag(i);
    KernelFigures& kernel = kernels[{trace.name(i), {tag.kind, tag.mode}}];
    const auto duration = static_cast<double>(trace.duration_ns()[i]);
    kernel.kind = tag.kind;
    kernel.mode = tag.mode;
    kernel.count += 1;
    kernel.total_ns += duration;
    kernel.longest_ns = std::max(kernel.longest_ns, duration);
  }
  double steps = 0;
  double length_ns = 0;
  for (const RankSummary& rank : summary.shown()) {
    steps += static_cast<double>(rank.windows.size());
    length_ns += static_cast<double>(rank.total.window_ns);
  }
  FigureTable table{{{"kernel", "kernel"}, {"kind", "kind"}},
                    {{"count", "count", FigureUnit::number},
                     {"total", "total"},
                     {"of step", "of_step", FigureUnit::percent},
                     {"mean us", "mean", FigureUnit::short_time, 1},
                     {"longest us", "longest", FigureUnit::short_time, 2}},
                    {}};
  for (const auto& [key, kernel] : kernels)
    table.rows.push_back({{short_name(key.first), kernel_kind(kernel)},
                          {kernel.count / steps, kernel.total_ns / steps, 100 * kernel.total_ns / length_ns,
                           kernel.total_ns / kernel.count, kernel.longest_ns}});
  std::ranges::sort(table.rows, [](const FigureRow& a, const FigureRow& b) {
    return a.figures[1] != b.figures[1] ? a.figures[1] > b.figures[1] : a.names < b.names;
  });
  return table;
}

}  // namespace underlap::analysis
