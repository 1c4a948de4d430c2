// SPDX-License-Identifier: Apache-2.0
#include "profiler/gate/sides.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

namespace underlap::gate {
namespace {

using Facts = std::map<std::string, std::string>;

constexpr std::size_t kMostMoved = 5;
constexpr double kLeastShareMoved = 0.05;
constexpr std::size_t kMostNamed = 5;

void check_cells(const RunFigures& whole, const RunFigures& run, const std::string& what) {
  std::vector<std::string> missing;
  for (const CellFigures& cell : whole.cells)
    if (find_cell(run, cell.name) == nullptr) missing.push_back(cell.name);
  if (missing.empty()) return;
  const std::size_t more = missing.size() - std::min(missing.size(), kMostNamed);
  missing.resize(missing.size() - more);
  throw std::invalid_argument(fmt::format(
      "{}: has no cell {}{}, which {} {} has\n  measure both with one matrix, or "
      "name the cells to judge with --cells",
      run.source, fmt::join(missing, ", "), more > 0 ? fmt::format(" and {} more", more) : "", what, whole.source));
}

// The first thing in which two lists of facts differ; one that a side does not tell is none.
std::string first_difference(const Facts& baseline, const Facts& candidate) {
  for (const auto& [what, value] : baseline)
    if (const auto other = candidate.find(what); other != candidate.end() && other->second != value)
      return fmt::format("{} is {} in the baseline and {} in the candidate", what, value, other->second);
  return "";
}

void add_differences(const Facts& baseline, const Facts& candidate, const std::string& suffix,
                     std::vector<Difference>& differences) {
  std::set<std::string> names;
  for (const Facts* facts : {&baseline, &candidate})
    for (const auto& [name, value] : *facts) names.insert(name);
  const auto value_of = [](const Facts& facts, const std::string& name) {
    const auto found = facts.find(name);
    return found == facts.end() ? std::string("(none)") : found->second;
  };
  for (const std::string& name : names)
    if (std::string from = value_of(baseline, name), to = value_of(candidate, name); from != to)
      differences.push_back({name + suffix, std::move(from), std::move(to)});
}

// Virtual time is the same on every machine.
Facts environment_of(const RunFigures& run, bool is_exact) {
  Facts facts = run.environment;
  if (is_exact)
    for (const char* of_machine : {"machine", "processor", "CPUs", "operating system"}) facts.erase(of_machine);
  return facts;
}

// A knob that differs alike in several cells is said once.
void add_knob_differences(const RunFigures& baseline, const RunFigures& candidate,
                          std::vector<Difference>& differences) {
  std::map<std::pair<std::string, std::pair<std::string, std::string>>, std::vector<std::string>> cells_of;
  std::size_t compared = 0;
  for (const CellFigures& cell : baseline.cells) {
    const CellFigures* other = find_cell(candidate, cell.name);
    if (other == nullptr) continue;
    ++compared;
    std::vector<Difference> found;
    add_differences(cell.knobs, other->knobs, "", found);
    for (Difference& difference : found)
      cells_of[{difference.what, {difference.baseline, difference.candidate}}].push_back(cell.name);
  }
  for (const auto& [knob, cells] : cells_of) {
    const std::string where = cells.size() == compared ? "" : fmt::format(" ({})", fmt::join(cells, ", "));
    differences.push_back({knob.first + where, knob.second.first, knob.second.second});
  }
}

// A folder's name says little: tomorrow's run may stand where today's does, and a baseline is a copy.
bool is_same_run(const RunFigures& one, const RunFigures& other) {
  return one.started_utc == other.started_utc && one.command == other.command &&
         std::ranges::equal(one.cells, other.cells, {}, &CellFigures::metrics, &CellFigures::metrics);
}

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
      for (const OperationFigure& operation : find_cell(run, name)->operations)
        operations[{operation.is_communication, operation.name}].*side +=
            (operation.is_communication ? operation.exposed_ns : operation.busy_ns) / static_cast<double>(runs.size());
  };
  add(baseline, &Busy::baseline);
  add(candidate, &Busy::candidate);
  return operations;
}

double mean_step(const Runs& runs, const std::string& cell) {
  double sum = 0;
  for (const RunFigures& run : runs) sum += find_cell(run, cell)->metrics.at("step");
  return sum / static_cast<double>(runs.size());
}

std::vector<std::string> commits_of(const Runs& runs) {
  std::vector<std::string> commits;
  for (const RunFigures& run : runs)
    if (!run.commit.empty() && std::ranges::find(commits, run.commit) == commits.end()) commits.push_back(run.commit);
  return commits;
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
  return is_newer && commits_of(baseline) != commits_of(candidate) ? warning("was measured at", began, last) : "";
}

}  // namespace

const CellFigures* find_cell(const RunFigures& run, const std::string& name) {
  const auto found = std::ranges::find(run.cells, name, &CellFigures::name);
  return found == run.cells.end() ? nullptr : &*found;
}

void check_sides(const Runs& baseline, const Runs& candidate) {
  for (const auto& [side, word] : {std::pair{&baseline, "baseline"}, std::pair{&candidate, "candidate"}}) {
    if (side->empty()) throw std::invalid_argument(fmt::format("gate: the {} has no run", word));
    for (const RunFigures& run : *side) {
      if (run.cells.empty()) throw std::invalid_argument(run.source + ": no cell to judge is in it");
      check_cells(side->front(), run, "the run");
      check_cells(run, side->front(), "the run");
    }
  }
  Runs all = baseline;
  all.insert(all.end(), candidate.begin(), candidate.end());
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (is_same_run(all[i], all[j]))
        throw std::invalid_argument(
            fmt::format("{} and {} are one run, which tells nothing of a change", all[j].source, all[i].source));
  check_cells(baseline.front(), candidate.front(), "the baseline");
}

std::string not_comparable(const Runs& baseline, const Runs& candidate) {
  const RunFigures& first = baseline.front();
  for (const Runs* side : {&baseline, &candidate})
    for (const RunFigures& run : *side) {
      if (std::string why = first_difference(first.kind, run.kind); !why.empty()) return why;
      for (const CellFigures& cell : first.cells)
        if (std::string why = first_difference(cell.work, find_cell(run, cell.name)->work); !why.empty())
          return fmt::format("cell {}: {}", cell.name, why);
    }
  return "";
}

std::vector<Difference> differences_of(const Runs& baseline, const Runs& candidate) {
  std::vector<Difference> differences;
  const std::vector<std::string> from = commits_of(baseline), to = commits_of(candidate);
  if (from != to)
    differences.push_back({"commit", fmt::format("{}", fmt::join(from, ", ")), fmt::format("{}", fmt::join(to, ", "))});
  const bool is_exact = baseline.front().is_exact && candidate.front().is_exact;
  add_differences(environment_of(baseline.front(), is_exact), environment_of(candidate.front(), is_exact), "",
                  differences);
  add_knob_differences(baseline.front(), candidate.front(), differences);
  return differences;
}

std::vector<std::string> warnings_of(const Runs& baseline, const Runs& candidate) {
  std::vector<std::string> warnings;
  if (std::string swapped = swapped_warning(baseline, candidate); !swapped.empty()) warnings.push_back(swapped);
  for (const auto& [side, word] : {std::pair{&baseline, "baseline"}, std::pair{&candidate, "candidate"}}) {
    if (const auto commits = commits_of(*side); commits.size() > 1)
      warnings.push_back(fmt::format("the {}'s runs are of several commits: {}", word, fmt::join(commits, ", ")));
    for (const RunFigures& run : *side)
      if (const std::string other = first_difference(side->front().environment, run.environment); !other.empty()) {
        warnings.push_back(fmt::format("the {}'s runs differ ({} and {}): see their machine and versions", word,
                                       side->front().source, run.source));
        break;
      }
  }
  std::vector<std::string> added;
  for (const CellFigures& cell : candidate.front().cells)
    if (find_cell(baseline.front(), cell.name) == nullptr) added.push_back(cell.name);
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
  SideInfo info{.sources = {}, .commits = commits_of(runs), .command = runs.front().command};
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
