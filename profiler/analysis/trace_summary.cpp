// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/trace_summary.hpp"

#include <fmt/format.h>

#include "platform/text/digits.hpp"
#include "profiler/analysis/exposure.hpp"
#include "profiler/analysis/steps/pauses.hpp"

namespace underlap::analysis {
namespace {

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
  const auto windows_of = windows_by_rank(windows);
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const Kind kind = trace.tag(i).kind;
    if (kind == Kind::copy || kind == Kind::none || trace.is_part(i)) continue;
    const auto of_rank = windows_of.find(trace.track_of(i).rank);
    if (of_rank == windows_of.end() || window_of_end(of_rank->second, trace.end_ns(i)) == nullptr) continue;
    RankSummary& rank = list[index[of_rank->first]];
    ++(kind == Kind::compute ? rank.compute_kernels : rank.comm_kernels);
  }
  return list;
}

// Marks are on one clock; steps that a profiler found are on each rank's own.
Clock clock_of(const Trace& trace) { return trace.marks.empty() ? Clock::per_rank : Clock::common; }

// The windows of counted steps. Those of stalled steps go into the summary.
std::vector<Window> without_stalled(std::vector<Window> windows, Clock clock, Summary& summary) {
  const std::vector<JobStep> steps = job_steps(windows, clock);
  std::vector<std::int64_t> durations;
  for (const JobStep& step : steps) {
    std::int64_t longest = step.step_ns;
    for (const std::size_t window : step.windows) longest = std::max(longest, windows[window].length_ns());
    durations.push_back(longest);
  }
  std::vector<bool> is_left_out(windows.size());
  for (const std::size_t stalled : stalled_steps(durations)) {
    StalledStep& left_out = summary.stalled.emplace_back(steps[stalled]);
    left_out.step.step_ns = durations[stalled];
    for (const std::size_t window : steps[stalled].windows) {
      left_out.windows.push_back(windows[window]);
      is_left_out[window] = true;
    }
  }
  std::vector<Window> counted;
  for (std::size_t i = 0; i < windows.size(); ++i)
    if (!is_left_out[i]) counted.push_back(windows[i]);
  return counted;
}

// Names the host range that explains at least half of the extra time of each stalled step, on any of its ranks.
void find_causes(Summary& summary) {
  constexpr double kExplains = 0.5;
  const double typical_ns = typical_step_ns(summary);
  for (StalledStep& stalled : summary.stalled) {
    LongestPause longest;
    for (const Window& window : stalled.windows) {
      const auto steps = std::ranges::find(summary.steps.ranks, window.rank, &RankSteps::rank);
      const auto counted = std::ranges::find(summary.steps_of_ranks, window.rank, &RankSummary::rank);
      if (steps == summary.steps.ranks.end() || counted == summary.steps_of_ranks.end()) continue;
      const LongestPause of_rank = longest_pause(*steps, window, counted->windows);
      if (of_rank.longer_ns > longest.longer_ns) longest = of_rank;
    }
    const double excess_ns = static_cast<double>(stalled.step.step_ns) - typical_ns;
    if (static_cast<double>(longest.longer_ns) < kExplains * excess_ns || longest.longer_ns == 0) continue;
    stalled.cause = name_of(longest.name);
    stalled.cause_ns = longest.longer_ns;
  }
}

Summary over_steps(const Trace& trace, StepList steps) {
  Summary summary;
  summary.has_steps = !trace.marks.empty();
  if (summary.has_steps) {
    WindowList found = find_windows(trace);
    summary.window_errors = std::move(found.errors);
    summary.ranks =
        over_windows(trace, ranks_of(trace), without_stalled(std::move(found.windows), clock_of(trace), summary));
  } else {
    summary.ranks = over_windows(trace, ranks_of(trace), spans(trace));
    summary.steps = std::move(steps);
    std::vector<std::int32_t> ranks;
    for (const RankSteps& rank : summary.steps.ranks)
      if (!rank.windows.empty()) ranks.push_back(rank.rank);
    if (!ranks.empty())
      summary.steps_of_ranks =
          over_windows(trace, ranks, without_stalled(windows_of(summary.steps), clock_of(trace), summary));
  }
  summary.job_steps = job_steps(summary.shown_windows(), clock_of(trace));
  find_causes(summary);
  return summary;
}

// By block, a value of each counted step.
Blocks by_block(const Summary& summary, const std::function<double(const JobStep&)>& value) {
  Blocks blocks;
  for (const JobStep& step : summary.job_steps) blocks[step.block].push_back(value(step));
  return blocks;
}

void set_clock(Summary& summary, const ClockAlignment& alignment) {
  summary.clock_residual_ns = alignment.residual_ns;
  summary.lateness_ns = alignment.lateness_ns;
  summary.clock_pairs = alignment.pairs;
}

}  // namespace

std::string steps_text(const Summary& summary) {
  return summary.has_steps ? "the trace's step markers" : steps_text(summary.steps);
}

PartOfSplit part_of(const std::map<std::string, CommunicationSplit> Split::*kind, const std::string& key,
                    std::int64_t CommunicationSplit::*part) {
  return [=](const Split& split) {
    const auto found = (split.*kind).find(key);
    return found == (split.*kind).end() ? 0 : found->second.*part;
  };
}

double typical_step_ns(const Summary& summary) {
  return typical(by_block(summary, [](const JobStep& step) { return static_cast<double>(step.step_ns); }));
}

double typical(const Summary& summary, const PartOfSplit& part) {
  std::vector<const Split*> splits;
  for (const RankSummary& rank : summary.shown())
    for (const Split& split : rank.splits) splits.push_back(&split);
  return typical(by_block(summary, [&](const JobStep& step) {
    double sum = 0;
    for (const std::size_t window : step.windows) sum += static_cast<double>(part(*splits[window]));
    return sum / static_cast<double>(step.windows.size());
  }));
}

double typical(const RankSummary& rank, const PartOfSplit& part) {
  Blocks blocks;
  for (std::size_t i = 0; i < rank.windows.size(); ++i)
    blocks[rank.windows[i].block].push_back(static_cast<double>(part(rank.splits[i])));
  return typical(blocks);
}

std::string statistic_text(const Summary& summary) {
  const std::size_t steps = summary.job_steps.size();
  const std::size_t blocks = by_block(summary, [](const JobStep&) { return 0.0; }).size();
  if (steps < 2) return "";
  if (blocks == 1) return fmt::format("median of {} steps", steps);
  return fmt::format("median of {} block medians, {} steps", blocks, steps);
}

std::string stalled_text(const Summary& summary) {
  if (summary.stalled.empty()) return "";
  const StalledStep& longest =
      *std::ranges::max_element(summary.stalled, {}, [](const StalledStep& stalled) { return stalled.step.step_ns; });
  const std::size_t count = summary.stalled.size();
  std::string text = fmt::format("{} stalled {} excluded: {}step {} took {} ms (typically {} ms)", count,
                                 count == 1 ? "step is" : "steps are", count == 1 ? "" : "the longest, ",
                                 longest.step.step, in_digits(static_cast<double>(longest.step.step_ns) / 1e6, 4),
                                 in_digits(typical_step_ns(summary) / 1e6, 4));
  if (!longest.cause.empty())
    text += fmt::format(", {} ms of it in \"{}\"", in_digits(static_cast<double>(longest.cause_ns) / 1e6, 4),
                        longest.cause);
  return text;
}

Summary summarize(const Trace& trace) { return summarize(trace, trace.marks.empty() ? find_steps(trace) : StepList{}); }

Summary summarize(const Trace& trace, StepList steps) {
  Summary summary = over_steps(trace, std::move(steps));
  set_clock(summary, align_clocks(trace));
  return summary;
}

Summary match_and_summarize(Trace& trace, StepList steps, const Reading& reading) {
  Communications communications = trace.marks.empty() ? match_and_align(trace) : communications_of(trace);
  reading.check();
  Summary summary = over_steps(trace, std::move(steps));
  set_clock(summary, communications.alignment);
  reading.check();
  summary.waits = find_waits(trace, communications, windows_of(summary.steps));
  summary.communications = std::move(communications);
  return summary;
}

std::vector<Window> Summary::all_windows() const {
  std::vector<Window> windows = shown_windows();
  for (const StalledStep& step : stalled) windows.insert(windows.end(), step.windows.begin(), step.windows.end());
  std::ranges::stable_sort(windows, {}, [](const Window& window) { return std::pair(window.rank, window.begin_ns); });
  return windows;
}

std::vector<Window> Summary::shown_windows() const {
  std::vector<Window> windows;
  for (const RankSummary& rank : shown()) windows.insert(windows.end(), rank.windows.begin(), rank.windows.end());
  return windows;
}

}  // namespace underlap::analysis
