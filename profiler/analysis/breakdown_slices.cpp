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

using RankWindows = std::map<std::int32_t, std::vector<Window>>;

bool holds_end(const RankWindows& windows, std::int32_t rank, std::int64_t end_ns) {
  const auto found = windows.find(rank);
  return found != windows.end() && window_of_end(found->second, end_ns) != nullptr;
}

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
  const RankWindows windows = windows_by_rank(summary.shown_windows());
  std::map<std::int32_t, std::map<std::pair<std::int32_t, std::string>, StreamWork>> ranks;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const Track& track = trace.track_of(i);
    if (!trace.is_work(i) || !windows.contains(track.rank)) continue;
    StreamWork& work = ranks[track.rank][{track.stream, track.name}];
    const Interval interval{trace.start_ns()[i], trace.end_ns(i)};
    const Kind kind = trace.tag(i).kind;
    (kind == Kind::compute         ? work.compute
     : kind == Kind::communication ? work.communication
                                   : work.copy)
        .push_back(interval);
    work.count += holds_end(windows, track.rank, interval.end) ? 1 : 0;
  }
  std::map<std::pair<std::int32_t, std::string>, MeanFigures> means;
  for (auto& [rank, streams] : ranks) {
    IntervalSet compute;
    std::map<const StreamWork*, IntervalSet> computes;
    for (auto& [stream, work] : streams) {
      computes[&work] = IntervalSet(std::move(work.compute));
      compute = unite(compute, computes[&work]);
    }
    std::vector<Interval> shown;
    for (const Window& window : windows.at(rank)) shown.push_back({window.begin_ns, window.end_ns});
    const IntervalSet in(std::move(shown));
    for (auto& [stream, work] : streams) {
      const IntervalSet comm = intersect(IntervalSet(std::move(work.communication)), in);
      const IntervalSet own_compute = intersect(computes[&work], in);
      const IntervalSet copy = intersect(IntervalSet(std::move(work.copy)), in);
      const IntervalSet busy = unite(unite(own_compute, comm), copy);
      const auto steps = static_cast<double>(windows.at(rank).size());
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
  const RankWindows windows = windows_by_rank(summary.shown_windows());
  std::map<std::pair<NameId, std::pair<Kind, Mode>>, KernelFigures> kernels;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (!trace.is_work(i) || !holds_end(windows, trace.track_of(i).rank, trace.end_ns(i))) continue;
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
