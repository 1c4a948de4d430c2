// SPDX-License-Identifier: Apache-2.0
#include "profiler/compare/sides.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <system_error>

#include "platform/text/list.hpp"

namespace underlap::compare {
namespace {

using Facts = std::map<std::string, std::string>;

constexpr std::size_t kMostNamed = 5;
constexpr std::size_t kMostDerived = 2;

void add_differences(const Facts& baseline, const Facts& candidate, const std::string& suffix,
                     std::vector<Difference>& differences) {
  std::set<std::string> names;
  for (const Facts* facts : {&baseline, &candidate})
    for (const auto& [name, value] : *facts) names.insert(name);
  const auto value_of = [](const Facts& facts, const std::string& name) {
    const auto found = facts.find(name);
    return found == facts.end() ? std::string("(none)") : found->second;
  };
  std::erase_if(names, [&](const std::string& name) {
    return name.starts_with(kContentsOf) && !(baseline.contains(name) && candidate.contains(name));
  });
  for (const std::string& name : names)
    if (std::string from = value_of(baseline, name), to = value_of(candidate, name); from != to)
      differences.push_back({name + suffix, std::move(from), std::move(to)});
}

// Virtual time is the same on every machine.
bool is_virtual(const RunFigures& run) {
  const auto named = run.kind.find("backend");
  const auto backend = named == run.kind.end() ? std::nullopt : backend_from(named->second);
  return backend && !traits_of(*backend).measures_time;
}

Facts environment_of(const RunFigures& run, bool is_virtual) {
  Facts facts = run.environment;
  if (is_virtual)
    for (const char* of_machine : {"machine", "processor", "CPUs", "operating system"}) facts.erase(of_machine);
  return facts;
}

bool is_derived(const CellFigures& cell, const std::string& knob) {
  return std::ranges::find(cell.derived_knobs, knob) != cell.derived_knobs.end();
}

// A knob with the same difference in several cells is listed once.
void add_knob_differences(const RunFigures& baseline, const RunFigures& candidate,
                          std::vector<Difference>& differences) {
  std::map<std::pair<std::string, std::pair<std::string, std::string>>, std::vector<std::string>> cells_of;
  std::set<std::string> written;  // by a person, in a cell of a side at least
  std::size_t compared = 0;
  for (const CellFigures& cell : baseline.cells) {
    const CellFigures* other = find_cell(candidate, cell.name);
    if (other == nullptr) continue;
    ++compared;
    std::vector<Difference> found;
    add_differences(cell.knobs, other->knobs, "", found);
    for (Difference& difference : found) {
      if (!is_derived(cell, difference.what) || !is_derived(*other, difference.what)) written.insert(difference.what);
      cells_of[{difference.what, {difference.baseline, difference.candidate}}].push_back(cell.name);
    }
  }
  for (const auto& [knob, cells] : cells_of) {
    const std::string where = cells.size() == compared ? "" : fmt::format(" ({})", fmt::join(cells, ", "));
    differences.push_back({knob.first + where, knob.second.first, knob.second.second, !written.contains(knob.first)});
  }
}

// A folder's name does not identify a run: a later run may use the same folder, and a baseline is a copy. Traces have
// no start time, and equal figures in virtual time, so they are one run if their files are the same.
bool is_same_run(const RunFigures& one, const RunFigures& other) {
  if (!one.read_from.empty() || !other.read_from.empty()) return is_same_file(one.read_from, other.read_from);
  return one.started_utc == other.started_utc && one.command == other.command &&
         std::ranges::equal(one.cells, other.cells, {}, &CellFigures::metrics, &CellFigures::metrics);
}

}  // namespace

bool is_same_file(const std::filesystem::path& one, const std::filesystem::path& other) {
  std::error_code none;
  return one == other || std::filesystem::equivalent(one, other, none);
}

const CellFigures* find_cell(const RunFigures& run, const std::string& name) {
  const auto found = std::ranges::find(run.cells, name, &CellFigures::name);
  return found == run.cells.end() ? nullptr : &*found;
}

std::string first_difference(const Facts& baseline, const Facts& candidate, std::string_view one,
                             std::string_view other) {
  for (const auto& [what, value] : baseline)
    if (const auto found = candidate.find(what); found != candidate.end() && found->second != value)
      return fmt::format("{} is {} in {} and {} in {}", what, value, one, found->second, other);
  return "";
}

void check_cells(const RunFigures& whole, const RunFigures& run, const std::string& what) {
  std::vector<std::string> missing;
  for (const CellFigures& cell : whole.cells)
    if (find_cell(run, cell.name) == nullptr) missing.push_back(cell.name);
  if (missing.empty()) return;
  throw std::invalid_argument(
      fmt::format("{}: has no cell {}, which {} {} has\n  measure both with the same matrix, or select cells (underlap "
                  "gate --cells)",
                  run.source, short_list(missing, kMostNamed), what, whole.source));
}

void check_sides(const Runs& baseline, const Runs& candidate) {
  for (const auto& [side, word] : {std::pair{&baseline, "baseline"}, std::pair{&candidate, "candidate"}}) {
    if (side->empty()) throw std::invalid_argument(fmt::format("gate: the {} has no runs", word));
    for (const RunFigures& run : *side) {
      if (run.cells.empty()) throw std::invalid_argument(run.source + ": has no cell to judge");
      check_cells(side->front(), run, "the run");
      check_cells(run, side->front(), "the run");
    }
  }
}

void refuse_same_run(const Runs& baseline, const Runs& candidate) {
  Runs all = baseline;
  all.insert(all.end(), candidate.begin(), candidate.end());
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (is_same_run(all[i], all[j]))
        throw std::invalid_argument(
            fmt::format("{} and {} are the same run\n  the baseline was saved from it, or it is given twice; a gate "
                        "needs different runs",
                        all[j].source, all[i].source));
}

std::string not_comparable(const Runs& baseline, const Runs& candidate) {
  const RunFigures& first = baseline.front();
  for (const Runs* side : {&baseline, &candidate})
    for (const RunFigures& run : *side) {
      if (std::string why = first_difference(first.kind, run.kind); !why.empty()) return why;
      for (const CellFigures& cell : first.cells)
        if (const CellFigures* other = find_cell(run, cell.name))
          if (std::string why = first_difference(cell.work, other->work); !why.empty())
            return first.cells.size() == 1 ? why : fmt::format("cell {}: {}", cell.name, why);
    }
  return "";
}

std::vector<std::string> unrecorded_facts(const Runs& baseline, const Runs& candidate) {
  std::vector<std::string> sources;
  for (const Runs* side : {&baseline, &candidate})
    for (const RunFigures& run : *side)
      if (std::ranges::any_of(run.cells,
                              [](const CellFigures& cell) { return !cell.work.contains(kWithoutTransfers); }))
        sources.push_back(run.source);
  if (sources.empty()) return {};
  return {fmt::format("{}: model and batch are not recorded, so whether both sides did the same work is unknown",
                      fmt::join(sources, ", "))};
}

std::vector<std::string> commits_of(const Runs& runs) {
  std::vector<std::string> commits;
  for (const RunFigures& run : runs)
    if (!run.commit.empty() && std::ranges::find(commits, run.commit) == commits.end()) commits.push_back(run.commit);
  return commits;
}

Table differences_table(const std::vector<Difference>& differences) {
  Table table{{{"differs", Align::left}, {"baseline", Align::left}, {"candidate", Align::left}}, {}};
  std::vector<std::string> derived;
  for (const Difference& difference : differences) {
    if (difference.is_derived)
      derived.push_back(difference.what);
    else
      table.rows.push_back({difference.what, difference.baseline, difference.candidate});
  }
  if (!derived.empty())
    table.rows.push_back({fmt::format("{} derived setting{}: {}", derived.size(), derived.size() == 1 ? "" : "s",
                                      short_list(derived, kMostDerived)),
                          {""},
                          {""}});
  return table;
}

std::vector<Difference> differences_of(const Runs& baseline, const Runs& candidate) {
  std::vector<Difference> differences;
  const std::vector<std::string> from = commits_of(baseline), to = commits_of(candidate);
  if (from != to)
    differences.push_back({"commit", fmt::format("{}", fmt::join(from, ", ")), fmt::format("{}", fmt::join(to, ", "))});
  const bool are_virtual = is_virtual(baseline.front()) && is_virtual(candidate.front());
  add_differences(environment_of(baseline.front(), are_virtual), environment_of(candidate.front(), are_virtual), "",
                  differences);
  add_knob_differences(baseline.front(), candidate.front(), differences);
  return differences;
}

}  // namespace underlap::compare
