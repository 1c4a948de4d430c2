// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "profiler/analysis/breakdown.hpp"
#include "profiler/analysis/intervals.hpp"
#include "profiler/analysis/mode_name.hpp"
#include "profiler/analysis/waits/covered_time.hpp"
#include "profiler/trace/compute_class.hpp"

namespace underlap::analysis {
namespace {

// In Underlap's traces the purpose shows what a kernel computes, in other traces its name.
ComputeClass class_of(const Trace& trace, std::size_t slice, ComputeClasses& classes) {
  const NameId purpose = trace.tag(slice).purpose;
  const ComputeClass by_purpose = purpose == kNoName ? ComputeClass::other : classes.of(purpose);
  return by_purpose == ComputeClass::other ? classes.of(trace.name(slice)) : by_purpose;
}

// The key of a mode's time hidden under one class of compute.
std::string key_of(const std::string& mode, std::size_t compute) {
  return mode + " " + std::string(to_string(static_cast<ComputeClass>(compute)));
}

// By mode and class of compute, when communication of one rank is hidden. Compute of several classes at once counts for
// the first of them.
using HiddenTimes = std::map<Mode, std::array<CoveredTime, kNumComputeClasses>>;

std::map<std::int32_t, HiddenTimes> hidden_times(const Trace& trace) {
  struct Intervals {
    std::map<Mode, std::vector<Interval>> communication;
    std::array<std::vector<Interval>, kNumComputeClasses> compute;
  };
  std::map<std::int32_t, Intervals> ranks;
  ComputeClasses classes;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    Intervals& rank = ranks[trace.track_of(i).rank];
    const Interval interval{trace.start_ns()[i], trace.end_ns(i)};
    if (trace.tag(i).kind == Kind::communication) rank.communication[trace.tag(i).mode].push_back(interval);
    if (trace.tag(i).kind == Kind::compute)
      rank.compute[static_cast<std::size_t>(class_of(trace, i, classes))].push_back(interval);
  }
  std::map<std::int32_t, HiddenTimes> hidden;
  for (auto& [rank, intervals] : ranks) {
    std::array<IntervalSet, kNumComputeClasses> compute;
    IntervalSet before;
    for (std::size_t i = 0; i < kNumComputeClasses; ++i) {
      const IntervalSet of_class(std::move(intervals.compute[i]));
      compute[i] = subtract(of_class, before);
      before = unite(before, of_class);
    }
    for (auto& [mode, list] : intervals.communication) {
      const IntervalSet communication(std::move(list));
      for (std::size_t i = 0; i < kNumComputeClasses; ++i)
        hidden[rank][mode][i] = CoveredTime(intersect(communication, compute[i]));
    }
  }
  return hidden;
}

}  // namespace

FigureTable hidden_table(const Trace& trace, const Summary& summary) {
  std::map<std::int32_t, HiddenTimes> times = hidden_times(trace);
  // Splits the same windows by class of compute, so that typical() forms these figures like all others.
  Summary hidden = summary;
  std::map<std::string, bool> modes;
  for (std::vector<RankSummary>* ranks : {&hidden.ranks, &hidden.steps_of_ranks})
    for (RankSummary& rank : *ranks)
      for (std::size_t w = 0; w < rank.windows.size(); ++w) {
        rank.splits[w].modes.clear();
        for (const auto& [mode, classes] : times[rank.rank])
          for (std::size_t i = 0; i < kNumComputeClasses; ++i) {
            const std::int64_t ns = classes[i].within(rank.windows[w].begin_ns, rank.windows[w].end_ns);
            rank.splits[w].modes[key_of(mode_name(mode), i)].hidden_ns = ns;
            if (ns > 0) modes[mode_name(mode)] = true;
          }
      }
  FigureTable table{{{"mode", "mode"}},
                    {{"hidden", "hidden"},
                     {"attention", "attention"},
                     {"grouped GEMM", "grouped_gemm"},
                     {"GEMM", "gemm"},
                     {"other", "other"}},
                    {}};
  for (const auto& [mode, is_hidden] : modes) {
    FigureRow row{{mode}, {typical(summary, part_of(&Split::modes, mode, &CommunicationSplit::hidden_ns))}};
    for (std::size_t i = 0; i < kNumComputeClasses; ++i)
      row.figures.emplace_back(
          typical(hidden, part_of(&Split::modes, key_of(mode, i), &CommunicationSplit::hidden_ns)));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace underlap::analysis
