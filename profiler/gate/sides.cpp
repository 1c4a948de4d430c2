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

struct Sides {
  double baseline = 0;
  double candidate = 0;
};

using Operations = std::map<std::pair<Counted, std::string>, Sides>;

Counted counted_of(const OperationFigure& operation) {
  if (operation.is_communication) return Counted::exposed;
  return operation.name == compare::kCopies ? Counted::copy : Counted::compute;
}

bool tells_copies(const Runs& runs, const std::string& cell) {
  return std::ranges::all_of(runs, [&](const RunFigures& run) {
    return std::ranges::any_of(compare::find_cell(run, cell)->operations,
                               [](const OperationFigure& operation) { return counted_of(operation) == Counted::copy; });
  });
}

// The part of the step that each operation can lengthen.
Operations times_of(const Runs& baseline, const Runs& candidate, const std::string& cell) {
  Operations operations;
  const bool has_copies = tells_copies(baseline, cell) && tells_copies(candidate, cell);
  const auto add = [&](const Runs& runs, double Sides::*side) {
    for (const RunFigures& run : runs)
      for (const OperationFigure& operation : compare::find_cell(run, cell)->operations) {
        const Counted counted = counted_of(operation);
        if (counted == Counted::copy && !has_copies) continue;  // a baseline of before they were told
        operations[{counted, operation.name}].*side +=
            (counted == Counted::exposed ? operation.exposed_ns : operation.busy_ns) / static_cast<double>(runs.size());
      }
  };
  add(baseline, &Sides::baseline);
  add(candidate, &Sides::candidate);
  return operations;
}

Operations bytes_of(const Runs& baseline, const Runs& candidate, const std::string& cell) {
  Operations operations;
  const auto add = [&](const Runs& runs, double Sides::*side) {
    for (const RunFigures& run : runs)
      for (const OperationFigure& operation : compare::find_cell(run, cell)->operations)
        if (operation.is_communication)
          operations[{Counted::bytes, operation.name}].*side += operation.bytes / static_cast<double>(runs.size());
  };
  add(baseline, &Sides::baseline);
  add(candidate, &Sides::candidate);
  return operations;
}

// What of a cell can have moved the metric.
Operations operations_of(const Runs& baseline, const Runs& candidate, const std::string& cell,
                         const std::string& metric) {
  if (metric == "numerics") return {};
  if (metric == "bytes") return bytes_of(baseline, candidate, cell);
  Operations operations = times_of(baseline, candidate, cell);
  if (metric.starts_with("exposed"))
    std::erase_if(operations, [](const auto& operation) { return operation.first.first != Counted::exposed; });
  return operations;
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
  std::vector<std::string> warnings = compare::untold(baseline, candidate);
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

std::string trace_against_run(const Runs& baseline, const Runs& candidate) {
  const auto is_trace = [](const RunFigures& run) { return run.started_utc.empty(); };
  const auto ranks = [](const RunFigures& run) {
    const auto found = run.cells.front().work.find("ranks");
    return found == run.cells.front().work.end() ? std::string() : found->second;
  };
  for (const RunFigures& one : baseline)
    for (const RunFigures& other : candidate) {
      if (!one.is_exact || !other.is_exact || is_trace(one) == is_trace(other)) continue;
      const RunFigures &trace = is_trace(one) ? one : other, &run = is_trace(one) ? other : one;
      if (ranks(trace) == ranks(run)) continue;
      return fmt::format(
          "{} is a trace of virtual time with {} rank{}, and {} a run of {}: such a trace holds one rank of all that "
          "do "
          "the same; name folders of runs on both sides, or traces on both",
          trace.source, ranks(trace), ranks(trace) == "1" ? "" : "s", run.source, ranks(run));
    }
  return "";
}

SideInfo info_of(const Runs& runs) {
  SideInfo info{.sources = {}, .commits = compare::commits_of(runs), .command = runs.front().command};
  for (const RunFigures& run : runs) info.sources.push_back(run.source);
  return info;
}

std::vector<MovedOperation> moved_operations(const Runs& baseline, const Runs& candidate, const std::string& cell,
                                             const std::string& metric, double direction) {
  const double sign = direction < 0 ? -1 : 1;
  std::vector<MovedOperation> moved;
  for (const auto& [key, sides] : operations_of(baseline, candidate, cell, metric))
    if (sign * (sides.candidate - sides.baseline) > 0)
      moved.push_back({key.second, key.first, sides.baseline, sides.candidate});
  std::ranges::stable_sort(moved, std::ranges::greater(),
                           [](const MovedOperation& operation) { return std::abs(operation.delta()); });
  std::erase_if(moved, [least = moved.empty() ? 0 : kLeastShareMoved * std::abs(moved.front().delta())](
                           const MovedOperation& operation) { return std::abs(operation.delta()) < least; });
  if (moved.size() > kMostMoved) moved.resize(kMostMoved);
  return moved;
}

}  // namespace underlap::gate
