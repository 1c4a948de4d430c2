// SPDX-License-Identifier: Apache-2.0
#include "profiler/gate/sides.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <utility>

namespace underlap::gate {
namespace {

constexpr std::size_t kMostMoved = 5;
constexpr double kLeastShareMoved = 0.05;

struct Busy {
  double baseline = 0;
  double candidate = 0;
};

// Of communication what is exposed, of compute what it runs: the part of the step that it can lengthen.
std::map<std::pair<bool, std::string>, Busy> busy_of(const Runs& baseline, const Runs& candidate,
                                                     const std::string& name) {
  std::map<std::pair<bool, std::string>, Busy> operations;
  const auto add = [&](const Runs& runs, double Busy::*side) {
    for (const RunFigures& run : runs)
      for (const OperationFigure& operation : compare::find_cell(run, name)->operations)
        operations[{operation.is_communication, operation.name}].*side +=
            (operation.is_communication ? operation.exposed_ns : operation.busy_ns) / static_cast<double>(runs.size());
  };
  add(baseline, &Busy::baseline);
  add(candidate, &Busy::candidate);
  return operations;
}

double mean_step(const Runs& runs, const std::string& cell) {
  double sum = 0;
  for (const RunFigures& run : runs) sum += compare::find_cell(run, cell)->metrics.at("step");
  return sum / static_cast<double>(runs.size());
}

// Earliest or latest of a time that every run tells; empty where one does not.
template <class Pick>
std::string time_of(const Runs& runs, std::string RunFigures::*time, Pick pick) {
  std::string found;
  for (const RunFigures& run : runs) {
    if ((run.*time).empty()) return "";
    if (found.empty() || pick(run.*time, found)) found = run.*time;
  }
  return found;
}

bool are_of_two_machines(const RunFigures& baseline, const RunFigures& candidate) {
  const auto machine = baseline.environment.find("machine"), other = candidate.environment.find("machine");
  return machine != baseline.environment.end() && other != candidate.environment.end() &&
         machine->second != other->second;
}

std::string swapped_warning(const Runs& baseline, const Runs& candidate) {
  const auto is_earlier = [](const std::string& a, const std::string& b) { return a < b; };
  const auto is_later = [](const std::string& a, const std::string& b) { return a > b; };
  const auto warning = [](const char* what, const std::string& then, const std::string& now) {
    return fmt::format("the baseline {} {}, the candidate {}: are they swapped?", what, then, now);
  };
  const std::string of_baseline = time_of(baseline, &RunFigures::commit_utc, is_earlier);
  const std::string of_candidate = time_of(candidate, &RunFigures::commit_utc, is_later);
  if (!of_baseline.empty() && !of_candidate.empty())
    return of_baseline > of_candidate ? warning("is of a commit of", of_baseline, of_candidate) : "";
  const std::string began = time_of(baseline, &RunFigures::started_utc, is_earlier);
  const std::string last = time_of(candidate, &RunFigures::started_utc, is_later);
  const bool is_newer = !began.empty() && !last.empty() && began > last;
  return is_newer && compare::commits_of(baseline) != compare::commits_of(candidate)
             ? warning("was measured at", began, last)
             : "";
}

}  // namespace

std::vector<std::string> warnings_of(const Runs& baseline, const Runs& candidate) {
  std::vector<std::string> warnings;
  if (!baseline.front().is_exact && are_of_two_machines(baseline.front(), candidate.front()))
    warnings.emplace_back("the sides were measured on different machines: a change may be the machine's");
  if (std::string swapped = swapped_warning(baseline, candidate); !swapped.empty()) warnings.push_back(swapped);
  for (const auto& [side, word] : {std::pair{&baseline, "baseline"}, std::pair{&candidate, "candidate"}}) {
    if (const auto commits = compare::commits_of(*side); commits.size() > 1)
      warnings.push_back(fmt::format("the {}'s runs are of several commits: {}", word, fmt::join(commits, ", ")));
    for (const RunFigures& run : *side)
      if (const std::string other = compare::first_difference(side->front().environment, run.environment);
          !other.empty()) {
        warnings.push_back(fmt::format("the {}'s runs differ ({} and {}): see their machine and versions", word,
                                       side->front().source, run.source));
        break;
      }
  }
  std::vector<std::string> added;
  for (const CellFigures& cell : candidate.front().cells)
    if (compare::find_cell(baseline.front(), cell.name) == nullptr) added.push_back(cell.name);
  if (!added.empty())
    warnings.push_back(fmt::format("not judged, since the baseline has no such cell: {}", fmt::join(added, ", ")));
  return warnings;
}

bool are_paired(const Runs& baseline, const Runs& candidate) {
  if (baseline.size() != candidate.size()) return false;
  for (std::size_t i = 0; i < baseline.size(); ++i) {
    const RunFigures &one = baseline[i], &other = candidate[i];
    if (one.series.empty() || one.series != other.series || one.series_run != other.series_run) return false;
    if (one.series_side != "baseline" || other.series_side != "candidate") return false;
  }
  return true;
}

SideInfo info_of(const Runs& runs) {
  SideInfo info{.sources = {}, .commits = compare::commits_of(runs), .command = runs.front().command};
  for (const RunFigures& run : runs) info.sources.push_back(run.source);
  return info;
}

std::vector<MovedOperation> moved_operations(const Runs& baseline, const Runs& candidate, const std::string& cell) {
  const double direction = mean_step(candidate, cell) < mean_step(baseline, cell) ? -1 : 1;
  std::vector<MovedOperation> moved;
  for (const auto& [key, busy] : busy_of(baseline, candidate, cell))
    if (direction * (busy.candidate - busy.baseline) > 0)
      moved.push_back({key.second, key.first, busy.baseline, busy.candidate});
  std::ranges::stable_sort(moved, std::ranges::greater(),
                           [](const MovedOperation& operation) { return std::abs(operation.delta_ns()); });
  std::erase_if(moved, [least = moved.empty() ? 0 : kLeastShareMoved * std::abs(moved.front().delta_ns())](
                           const MovedOperation& operation) { return std::abs(operation.delta_ns()) < least; });
  if (moved.size() > kMostMoved) moved.resize(kMostMoved);
  return moved;
}

}  // namespace underlap::gate
