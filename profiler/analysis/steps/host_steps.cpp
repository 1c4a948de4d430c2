// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/steps/host_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace underlap::analysis {
namespace {

constexpr std::array<std::string_view, 2> kLightningBatches{"[pl][profile]run_training_batch", "run_training_batch"};

// A range that occurs once in a step. Sources: torch/optim/optimizer.py, megatron/core/optimizer of NeMo's NVTX ranges,
// deepspeed/runtime/engine.py.
struct PeriodMark {
  std::string_view prefix;
  bool ends_step;  // otherwise it starts one
};
constexpr std::array kPeriodMarks{
    PeriodMark{"Optimizer.step#", true}, PeriodMark{"nemo.core.optim.mcore_optim.step.step", true},
    PeriodMark{"DeepSpeedEngine.step", true}, PeriodMark{"DeepSpeedEngine.forward", false}};

// Words in the names of ranges that repeat within a step, or contain many steps.
constexpr std::array<std::string_view, 8> kNotSteps{"epoch", "layer",  "block", "bucket",
                                                    "stage", "module", "micro", "optimizer."};

constexpr double kCovered = 0.8;   ///< of a repeating range's span that its ranges cover, and of the launches in it
constexpr double kSameStep = 0.1;  ///< gap between calls of one step's optimizers, as a part of a usual gap
constexpr std::size_t kLongestMatched = 1000;  ///< characters of a name that a regular expression sees

struct Range {
  std::size_t slice;
  std::optional<std::int32_t> number;
};

struct Family {
  std::string name;
  bool is_of_device = false;
  std::vector<Range> ranges{};  // none inside another
  std::int64_t end_ns = INT64_MIN;
  double total_ns = 0;
};

// Decides whether a name is used, and under which name without number. Called once for each name.
using Pick = std::function<std::optional<NumberedName>(std::string_view)>;

std::vector<Family> families_of(const Trace& trace, std::span<const std::uint32_t> ranges, const Pick& pick) {
  std::unordered_map<NameId, std::optional<NumberedName>> picked;
  std::map<std::pair<bool, std::string>, Family> families;
  for (const std::uint32_t slice : ranges) {
    const auto [known, is_new] = picked.try_emplace(trace.name(slice));
    if (is_new) known->second = pick(name_of(trace.name(slice)));
    if (!known->second) continue;
    const bool is_of_device = trace.track_of(slice).device >= 0;
    Family& family = families[{is_of_device, known->second->family}];
    if (trace.start_ns()[slice] < family.end_ns) continue;
    family.name = known->second->family;
    family.is_of_device = is_of_device;
    family.end_ns = trace.end_ns(slice);
    family.total_ns += static_cast<double>(trace.duration_ns()[slice]);
    family.ranges.push_back({slice, known->second->number});
  }
  std::vector<Family> list;
  for (auto& [key, family] : families) list.push_back(std::move(family));
  return list;
}

HostSteps steps_of(const Trace& trace, const Family& family) {
  HostSteps found{.source = family.name == "ProfilerStep" ? StepSource::profiler_step : StepSource::range,
                  .range = family.name};
  for (const Range& range : family.ranges)
    found.steps.push_back({trace.start_ns()[range.slice], trace.end_ns(range.slice), range.number});
  return found;
}

int preference(std::string_view family) {
  if (std::ranges::find(kLightningBatches, family) != kLightningBatches.end()) return 2;
  return family == "ProfilerStep" ? 1 : 0;
}

// The preferred family, or else the one with the longest total; annotations of threads before those of devices.
HostSteps best_of(const Trace& trace, const std::vector<Family>& families) {
  const auto best = std::ranges::max_element(families, {}, [](const Family& family) {
    return std::tuple(!family.is_of_device, preference(family.name), family.total_ns);
  });
  return best == families.end() ? HostSteps{} : steps_of(trace, *best);
}

HostSteps named_by(const Trace& trace, const RankSlices& rank, const std::string& wanted) {
  auto families = families_of(trace, rank.ranges, [&](std::string_view name) -> std::optional<NumberedName> {
    NumberedName numbered = numbered_name(name);
    if (name == wanted) return NumberedName{wanted, numbered.number};
    if (numbered.family == wanted) return numbered;
    return std::nullopt;
  });
  if (!families.empty()) return best_of(trace, families);
  try {
    const std::regex pattern(wanted);
    families = families_of(trace, rank.ranges, [&](std::string_view name) -> std::optional<NumberedName> {
      const std::string seen(name.substr(0, kLongestMatched));
      if (!std::regex_search(seen, pattern)) return std::nullopt;
      return NumberedName{wanted, numbered_name(name).number};
    });
  } catch (const std::regex_error& error) {
    throw std::invalid_argument(
        fmt::format("--steps: no range is named \"{}\", and it is not a regular expression: {}", wanted, error.what()));
  }
  return best_of(trace, families);
}

HostSteps named_like_steps(const Trace& trace, const RankSlices& rank) {
  return best_of(trace, families_of(trace, rank.ranges, [](std::string_view name) -> std::optional<NumberedName> {
                   if (std::ranges::find(kLightningBatches, name) != kLightningBatches.end())
                     return NumberedName{std::string(name), std::nullopt};
                   return step_name(name);
                 }));
}

bool may_be_step(std::string_view name) {
  const std::string small = lower(name);
  return std::ranges::none_of(kNotSteps, [&](std::string_view part) { return small.find(part) != std::string::npos; });
}

// Whether the ranges of a family are numbered upward, or not numbered.
bool counts_up(const Family& family) {
  for (std::size_t i = 1; i < family.ranges.size(); ++i) {
    const auto& before = family.ranges[i - 1].number;
    const auto& number = family.ranges[i].number;
    if ((before || number) && !(before && number && *before < *number)) return false;
  }
  return true;
}

bool covers_most(const Trace& trace, const Family& family, std::span<const std::int64_t> asked_ns) {
  const auto begin_of = [&](const Range& range) { return trace.start_ns()[range.slice]; };
  const double span = static_cast<double>(trace.end_ns(family.ranges.back().slice)) -
                      static_cast<double>(begin_of(family.ranges.front()));
  if (family.total_ns < kCovered * span) return false;
  std::int64_t known = 0, inside = 0;
  for (const std::int64_t asked : asked_ns) {
    if (asked == kNotLaunched) continue;
    ++known;
    const auto after = std::ranges::upper_bound(family.ranges, asked, {}, begin_of);
    if (after != family.ranges.begin() && asked < trace.end_ns(std::prev(after)->slice)) ++inside;
  }
  return known > 0 && static_cast<double>(inside) >= kCovered * static_cast<double>(known);
}

HostSteps repeating(const Trace& trace, const RankSlices& rank, std::span<const std::int64_t> asked_ns) {
  std::vector<Family> families =
      families_of(trace, rank.ranges, [](std::string_view name) -> std::optional<NumberedName> {
        if (!may_be_step(name)) return std::nullopt;
        return numbered_name(name);
      });
  std::erase_if(families, [&](const Family& family) {
    return family.is_of_device || family.ranges.size() < 2 || !counts_up(family) ||
           !covers_most(trace, family, asked_ns);
  });
  return best_of(trace, families);
}

// Joins calls that are close together: a step may call several optimizers.
std::vector<HostStep> joined(std::vector<HostStep> marks) {
  std::vector<std::int64_t> gaps;
  for (std::size_t i = 1; i < marks.size(); ++i) gaps.push_back(marks[i].begin_ns - marks[i - 1].end_ns);
  if (gaps.empty()) return marks;
  std::ranges::sort(gaps);
  const double usual = static_cast<double>(gaps[std::min(gaps.size() * 9 / 10, gaps.size() - 1)]);
  std::vector<HostStep> steps{marks.front()};
  for (std::size_t i = 1; i < marks.size(); ++i)
    if (static_cast<double>(marks[i].begin_ns - steps.back().end_ns) < kSameStep * usual)
      steps.back().end_ns = marks[i].end_ns;
    else
      steps.push_back(marks[i]);
  return steps;
}

HostSteps periods_of(const Trace& trace, const RankSlices& rank, std::span<const std::int64_t> asked_ns,
                     const PeriodMark& mark) {
  HostSteps found{.source = StepSource::period};
  std::vector<HostStep> marks;
  for (const std::uint32_t slice : rank.ranges) {
    const std::string_view name = name_of(trace.name(slice));
    if (trace.track_of(slice).device >= 0 || !name.starts_with(mark.prefix)) continue;
    if (!marks.empty() && trace.start_ns()[slice] < marks.back().end_ns) continue;
    found.range = name;
    marks.push_back({trace.start_ns()[slice], trace.end_ns(slice)});
  }
  if (mark.ends_step) marks = joined(std::move(marks));
  if (marks.size() < 2) return {};
  std::int64_t first_ns = marks.front().begin_ns;
  std::int64_t last_ns = marks.back().end_ns;
  for (const std::int64_t asked : asked_ns) {
    if (asked == kNotLaunched) continue;
    first_ns = std::min(first_ns, asked);
    last_ns = std::max(last_ns, asked + 1);
  }
  for (std::size_t i = 0; i < marks.size(); ++i)
    if (mark.ends_step)
      found.steps.push_back({i == 0 ? first_ns : marks[i - 1].end_ns, marks[i].end_ns});
    else
      found.steps.push_back({marks[i].begin_ns, i + 1 == marks.size() ? last_ns : marks[i + 1].begin_ns});
  return found;
}

}  // namespace

HostSteps host_steps(const Trace& trace, const RankSlices& rank, std::span<const std::int64_t> asked_ns,
                     const StepChoice& choice) {
  if (!choice.name.empty()) return named_by(trace, rank, choice.name);
  if (HostSteps named = named_like_steps(trace, rank); !named.steps.empty()) return named;
  if (HostSteps found = repeating(trace, rank, asked_ns); !found.steps.empty()) return found;
  for (const PeriodMark& mark : kPeriodMarks)
    if (HostSteps periods = periods_of(trace, rank, asked_ns, mark); !periods.steps.empty()) return periods;
  return {};
}

std::string repeating_ranges(const Trace& trace) {
  constexpr std::size_t kMostNamed = 10;
  struct Count {
    std::size_t ranges = 0;
    double total_ns = 0;
  };
  std::map<std::string, Count> names;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (trace.is_work(i) || trace.track_of(i).kind != TrackKind::range) continue;
    Count& count = names[numbered_name(name_of(trace.name(i))).family];
    ++count.ranges;
    count.total_ns += static_cast<double>(trace.duration_ns()[i]);
  }
  std::vector<std::pair<std::string, Count>> list(names.begin(), names.end());
  std::erase_if(list, [](const auto& entry) { return entry.second.ranges < 2; });
  std::ranges::stable_sort(list, std::greater(), [](const auto& entry) { return entry.second.total_ns; });
  if (list.size() > kMostNamed) list.resize(kMostNamed);
  std::string text;
  for (const auto& [name, count] : list)
    text += fmt::format("{}\"{}\" ({})", text.empty() ? "" : ", ", name, count.ranges);
  return text;
}

}  // namespace underlap::analysis
