// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "profiler/analysis/steps/step_ranges.hpp"
#include "profiler/trace/enum_names.hpp"

namespace underlap::analysis {
namespace {

constexpr EnumNames<StepSource, 5> kSources{{"marks", "profiler_step", "range", "repetition", "none"}};

std::vector<RankSlices> slices_of_ranks(const Trace& trace) {
  std::map<std::int32_t, std::vector<std::uint32_t>> ranges;
  for (std::size_t i = 0; i < trace.size(); ++i)
    if (!trace.is_work(i) && trace.track_of(i).kind == TrackKind::range)
      ranges[trace.track_of(i).rank].push_back(static_cast<std::uint32_t>(i));
  std::vector<RankSlices> list;
  for (auto& [rank, work] : work_by_rank(trace)) {
    list.push_back({rank, std::move(work), std::move(ranges[rank])});
    std::ranges::stable_sort(list.back().ranges, {}, [&](std::uint32_t i) { return trace.start_ns()[i]; });
  }
  return list;
}

StepList steps_of_marks(const Trace& trace) {
  std::map<std::int32_t, RankSteps> ranks;
  for (const Window& window : find_windows(trace).windows) {
    RankSteps& steps = ranks[window.rank];
    steps.rank = window.rank;
    steps.source = StepSource::marks;
    steps.windows.push_back(window);
  }
  StepList list;
  for (auto& [rank, steps] : ranks) list.ranks.push_back(std::move(steps));
  return list;
}

std::string cut_text(const RankSteps& steps) {
  const char* which = steps.is_first_cut && steps.is_last_cut ? "the first and the last one"
                      : steps.is_first_cut                    ? "the first one"
                                                              : "the last one";
  if (!steps.is_first_cut && !steps.is_last_cut) return "";
  return steps.source == StepSource::repetition
             ? fmt::format(", work {} excluded", steps.is_first_cut && steps.is_last_cut ? "before and after them"
                                                 : steps.is_first_cut                    ? "before them"
                                                                                         : "after them")
             : fmt::format(", {} cut off and excluded", which);
}

// What a rank's steps are, but for their number.
std::string kind_text(const RankSteps& steps) {
  switch (steps.source) {
    case StepSource::marks: return "the trace's step markers";
    case StepSource::profiler_step: return "ProfilerStep";
    case StepSource::range: return fmt::format("ranges named \"{}\"", steps.range);
    case StepSource::repetition: return "repeating kernels on the busiest stream";
    case StepSource::none: break;
  }
  return "none found: no range marks a step, and kernels do not repeat";
}

struct Alike {
  RankSteps example;
  std::size_t ranks = 0, fewest = SIZE_MAX, most = 0;
};

std::string text_of(const Alike& alike) {
  if (alike.example.windows.empty() && alike.example.source == StepSource::none) return kind_text(alike.example);
  const std::string number =
      alike.fewest == alike.most ? std::to_string(alike.most) : fmt::format("{} to {}", alike.fewest, alike.most);
  std::string text = fmt::format("{} ({}){}", kind_text(alike.example), number, cut_text(alike.example));
  if (alike.example.num_without > 0) text += fmt::format(", {} without work excluded", alike.example.num_without);
  return text;
}

}  // namespace

std::string_view to_string(StepSource source) { return kSources[source]; }

bool StepList::has_any() const {
  return std::ranges::any_of(ranks, [](const RankSteps& steps) { return !steps.windows.empty(); });
}

StepList find_steps(const Trace& trace) {
  if (!trace.marks.empty()) return steps_of_marks(trace);
  const std::vector<std::int64_t> launched = launch_times(trace);
  StepList list;
  for (const RankSlices& rank : slices_of_ranks(trace)) {
    RankSteps steps = steps_of_ranges(trace, rank, launched);
    if (steps.windows.empty()) steps = steps_of_repetition(trace, rank);
    list.ranks.push_back(std::move(steps));
  }
  return list;
}

std::string steps_text(const StepList& list) {
  std::map<std::pair<StepSource, std::string>, Alike> kinds;
  for (const RankSteps& steps : list.ranks) {
    Alike& alike = kinds[{steps.source, steps.range + cut_text(steps)}];
    if (++alike.ranks == 1) alike.example = steps;
    alike.fewest = std::min(alike.fewest, steps.windows.size());
    alike.most = std::max(alike.most, steps.windows.size());
  }
  if (kinds.empty()) return kind_text({});
  std::string text;
  for (const auto& [kind, alike] : kinds) {
    if (!text.empty()) text += "; ";
    if (kinds.size() > 1) text += fmt::format("{} rank{}: ", alike.ranks, alike.ranks == 1 ? "" : "s");
    text += text_of(alike);
  }
  return text;
}

}  // namespace underlap::analysis
