// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/steps/step_ranges.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <system_error>
#include <utility>

#include "platform/numbers/median.hpp"
#include "profiler/analysis/steps/host_steps.hpp"

namespace underlap::analysis {
namespace {

constexpr double kWhole = 0.8;  ///< of the work of a median step: a step at either end with less is cut

bool is_separator(char c) { return std::string_view(" _#:=-.").find(c) != std::string_view::npos; }
bool is_digit(char c) { return '0' <= c && c <= '9'; }

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

void take_separators(std::string_view& text) {
  while (!text.empty() && is_separator(text.front())) text.remove_prefix(1);
}

// "12", "[12,16)", "12/100", "12 - overlap" and "" may follow the word; "12.forward" may not.
bool is_number_and_remark(std::string_view text, std::optional<std::int32_t>& number) {
  if (!text.empty() && (text.front() == '[' || text.front() == '(')) text.remove_prefix(1);
  if (text.empty()) return true;
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return false;
  number = value;
  const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  return rest.empty() || std::string_view("/,]) ").find(rest.front()) != std::string_view::npos;
}

// What was launched inside one range.
struct StepWork {
  std::int64_t count = 0;
  std::int64_t end_ns = INT64_MIN;
};

// When each work of a rank was asked for, in the order of rank.work.
std::vector<std::int64_t> asked_times(const Trace& trace, const RankSlices& rank,
                                      std::span<const std::int64_t> launched_ns) {
  std::set<std::uint32_t> with_launches;  // tracks
  for (const std::size_t slice : rank.work)
    if (launched_ns[slice] != kNotLaunched) with_launches.insert(trace.track(slice));
  std::unordered_map<std::uint32_t, std::int64_t> last_of_track;
  std::vector<std::int64_t> asked;
  asked.reserve(rank.work.size());
  for (const std::size_t slice : rank.work) {
    std::int64_t time = with_launches.contains(trace.track(slice)) ? launched_ns[slice] : trace.start_ns()[slice];
    std::int64_t& last = last_of_track.try_emplace(trace.track(slice), kNotLaunched).first->second;
    if (time == kNotLaunched) time = last;
    last = time;
    asked.push_back(time);
  }
  return asked;
}

// Leaves out the first and the last of `steps`, each with the number of its work, where they were not recorded whole.
void leave_out_cut_steps(RankSteps& steps, std::vector<std::int64_t> work) {
  if (steps.windows.size() < 2) return;
  const auto median = static_cast<double>(upper_median(work));
  const auto is_cut = [&](std::int64_t count) { return static_cast<double>(count) < kWhole * median; };
  if (is_cut(work.back())) {
    steps.is_last_cut = true;
    steps.windows.pop_back();
  }
  if (is_cut(work.front()) && !steps.windows.empty()) {
    steps.is_first_cut = true;
    steps.windows.erase(steps.windows.begin());
  }
}

// A step includes the pause before its first work. Of the first one, that pause is not recorded.
void leave_out_first_step(RankSteps& steps, bool is_begin_known) {
  if (is_begin_known || steps.is_first_cut || steps.windows.size() < 2) return;
  steps.is_first_cut = true;
  steps.windows.erase(steps.windows.begin());
}

}  // namespace

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if ('A' <= c && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::optional<NumberedName> step_name(std::string_view name) {
  const std::string small = lower(name);
  std::string_view rest = small;
  if (!take(rest, "profiler"))
    for (const std::string_view before : {"training", "train", "global"})
      if (take(rest, before)) break;
  take_separators(rest);
  if (!take(rest, "iteration") && !take(rest, "iter") && !take(rest, "steps") && !take(rest, "step"))
    return std::nullopt;
  const std::size_t word_end = small.size() - rest.size();
  if (!rest.empty() && !is_separator(rest.front()) && !is_digit(rest.front()) && rest.front() != '[')
    return std::nullopt;
  take_separators(rest);
  NumberedName step{.family = std::string(name.substr(0, word_end)), .number = std::nullopt};
  if (!is_number_and_remark(rest, step.number)) return std::nullopt;
  return step;
}

std::vector<std::int64_t> launch_times(const Trace& trace) {
  std::vector<std::int64_t> launched(trace.size(), kNotLaunched);
  for (const Flow& flow : trace.flows)
    if (flow.kind == FlowKind::launch && flow.to < trace.size() && flow.from < trace.size())
      launched[flow.to] = trace.start_ns()[flow.from];
  return launched;
}

RankSteps steps_of_ranges(const Trace& trace, const RankSlices& rank, std::span<const std::int64_t> launched_ns,
                          const StepChoice& choice) {
  const std::vector<std::int64_t> asked = asked_times(trace, rank, launched_ns);
  const HostSteps host = host_steps(trace, rank, asked, choice);
  RankSteps steps{.rank = rank.rank, .source = host.source, .range = host.range};
  if (host.steps.empty()) return steps;
  const auto number_of = [&](std::size_t i) { return host.steps[i].number.value_or(static_cast<std::int32_t>(i)); };
  // Work on the host runs inside its range.
  if (const auto where = trace.metadata.find("work_runs_on");
      where != trace.metadata.end() && where->second == "host") {
    for (std::size_t i = 0; i < host.steps.size(); ++i)
      steps.windows.push_back({rank.rank, 0, number_of(i), host.steps[i].begin_ns, host.steps[i].end_ns});
    return steps;
  }

  std::vector<StepWork> work(host.steps.size());
  std::int64_t begin = host.steps.front().begin_ns;
  bool is_begin_known = false;  // from work that ended before the first step
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const auto after = std::ranges::upper_bound(host.steps, asked[i], {}, &HostStep::begin_ns);
    const std::int64_t end = trace.end_ns(rank.work[i]);
    if (after == host.steps.begin()) {
      begin = std::max(begin, end);
      is_begin_known = true;
      continue;
    }
    const auto range = static_cast<std::size_t>(after - host.steps.begin() - 1);
    if (asked[i] >= host.steps[range].end_ns) continue;  // between two steps
    ++work[range].count;
    work[range].end_ns = std::max(work[range].end_ns, end);
  }

  std::vector<std::int64_t> counts;
  for (std::size_t i = 0; i < work.size(); ++i) {
    if (work[i].count == 0 || work[i].end_ns <= begin) {
      ++steps.num_without;
      continue;
    }
    steps.windows.push_back({rank.rank, 0, number_of(i), begin, work[i].end_ns});
    counts.push_back(work[i].count);
    begin = work[i].end_ns;
  }
  leave_out_cut_steps(steps, std::move(counts));
  leave_out_first_step(steps, is_begin_known);
  return steps;
}

}  // namespace underlap::analysis
