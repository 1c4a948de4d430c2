// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "profiler/analysis/steps/host_steps.hpp"
#include "profiler/analysis/steps/pauses.hpp"
#include "profiler/analysis/steps/step_ranges.hpp"
#include "profiler/trace/enum_names.hpp"

namespace underlap::analysis {
namespace {

constexpr EnumNames<StepSource, 6> kSources{{"marks", "profiler_step", "range", "period", "repetition", "none"}};

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
    case StepSource::period: return fmt::format("periods between ranges \"{}\"", steps.range);
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

std::string no_such_name(const Trace& trace, const StepChoice& choice) {
  const std::string repeating = repeating_ranges(trace);
  return fmt::format("--steps: no work was launched in ranges named \"{}\"; {}", choice.name,
                     repeating.empty() ? "the trace has no ranges that repeat" : "ranges that repeat: " + repeating);
}

std::string no_such_numbers(const StepChoice& choice, std::int32_t first, std::int32_t last) {
  return fmt::format("--steps: no step is in {}:{}; the trace has steps {} to {}", choice.numbers->first,
                     choice.numbers->second, first, last);
}

// Leaves the steps of `choice` in the list.
void choose_numbers(StepList& list, const StepChoice& choice) {
  std::int32_t least = INT32_MAX, most = INT32_MIN;
  for (RankSteps& rank : list.ranks) {
    for (const Window& window : rank.windows) {
      least = std::min(least, window.step);
      most = std::max(most, window.step);
    }
    std::erase_if(rank.windows, [&](const Window& window) {
      return window.step < choice.numbers->first || window.step > choice.numbers->second;
    });
  }
  if (!list.has_any())
    list.refusal =
        least > most ? "--steps: the trace has no steps to choose from" : no_such_numbers(choice, least, most);
}

}  // namespace

std::string_view to_string(StepSource source) { return kSources[source]; }

bool StepList::has_any() const {
  return std::ranges::any_of(ranks, [](const RankSteps& steps) { return !steps.windows.empty(); });
}

void StepList::append(StepList other) {
  std::ranges::move(other.ranks, std::back_inserter(ranks));
  if (refusal.empty()) refusal = std::move(other.refusal);
}

void StepList::check_choice() const {
  if (!refusal.empty() && !has_any()) throw std::invalid_argument(refusal);
}

StepList find_steps(const Trace& trace, const StepChoice& choice) {
  if (!trace.marks.empty()) return steps_of_marks(trace);
  const std::vector<std::int64_t> launched = launch_times(trace);
  StepList list;
  for (const RankSlices& rank : slices_of_ranks(trace)) {
    RankSteps steps = steps_of_ranges(trace, rank, launched, choice);
    if (steps.windows.empty() && choice.name.empty()) steps = steps_of_repetition(trace, rank);
    list.ranks.push_back(std::move(steps));
  }
  add_pauses(trace, list);
  if (!choice.name.empty() && !list.has_any())
    list.refusal = no_such_name(trace, choice);
  else if (choice.numbers)
    choose_numbers(list, choice);
  return list;
}

void choose_marks(Trace& trace, const StepChoice& choice) {
  if (trace.marks.empty() || choice.is_any()) return;
  if (!choice.name.empty())
    throw std::invalid_argument(fmt::format(
        "--steps: the trace has its own step markers, so steps cannot be chosen by the name \"{}\"; give A:B",
        choice.name));
  const auto [first, last] = *choice.numbers;
  const auto [least, most] = std::ranges::minmax(trace.marks, {}, &Mark::step);
  if (last <= least.step || first > most.step)
    throw std::invalid_argument(no_such_numbers(choice, least.step + 1, most.step));
  std::erase_if(trace.marks, [&](const Mark& mark) { return mark.step < first - 1 || mark.step > last; });
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
