// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/scaling/scaling.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <iterator>
#include <stdexcept>

#include "platform/text/list.hpp"
#include "profiler/analysis/not_comparable.hpp"
#include "profiler/report/run_folders.hpp"
#include "profiler/trace/enum_names.hpp"

namespace underlap::report {
namespace {

constexpr EnumNames<Scaling, 3> kScalings{{"weak", "strong", "mixed"}};

// The run settings that affect step time; others, such as the number of steps, do not.
bool is_of_the_machine(std::string_view knob) {
  return knob.starts_with("run.link") || knob == "run.hardware" || knob == "run.jitter_pct";
}

bool is_of_the_run(std::string_view knob) { return knob.starts_with("run."); }

// Whether two points may differ in a knob. Virtual time has another machine than what was measured.
bool may_differ(std::string_view knob, bool are_of_one_kind) {
  if (is_of_the_run(knob)) return !(are_of_one_kind && is_of_the_machine(knob));
  return is_size(knob);
}

// A knob that a plan does not name was not requested.
std::string requested(const ScalingPoint& point, const std::string& knob) {
  const auto found = point.knobs.find(knob);
  return found == point.knobs.end() ? "null" : found->second.requested;
}

std::string asked_text(const std::string& value) { return value == "null" ? "not requested" : value; }

std::set<std::string> knobs_of(const ScalingPoint& one, const ScalingPoint& other) {
  std::set<std::string> names;
  for (const ScalingPoint* point : {&one, &other})
    for (const auto& [name, knob] : point->knobs) names.insert(name);
  return names;
}

// "cell off: model.num_layers is 2 in out/a and 3 in out/b"; empty where nothing but the size was asked for otherwise.
std::string why_not_comparable(const ScalingPoint& one, const ScalingPoint& other) {
  const auto says = [&](const std::string& what, const std::string& value, const std::string& others) {
    return fmt::format("cell {}: {} is {} in {} and {} in {}", one.cell, what, value, one.run, others, other.run);
  };
  const bool are_of_one_kind = one.is_modelled == other.is_modelled;
  if (are_of_one_kind && one.backend != other.backend) return says("backend", one.backend, other.backend);
  if (one.no_comm != other.no_comm)
    return says("without transfers", one.no_comm ? "yes" : "no", other.no_comm ? "yes" : "no");
  for (const std::string& knob : knobs_of(one, other)) {
    const std::string value = requested(one, knob), others = requested(other, knob);
    if (value != others && !may_differ(knob, are_of_one_kind)) return says(knob, asked_text(value), asked_text(others));
  }
  return "";
}

// What a rule decided otherwise at another size: a consequence of the size, but one to know of.
void add_rule_differences(const ScalingPoint& one, const ScalingPoint& other, std::vector<ScalingDifference>& to) {
  for (const auto& [name, knob] : one.knobs) {
    const auto found = other.knobs.find(name);
    if (found == other.knobs.end() || is_size(name) || is_of_the_run(name)) continue;
    if (knob.effective != found->second.effective && knob.requested == found->second.requested)
      to.push_back(
          {fmt::format("{} ({})", name, one.cell), one.run, knob.effective, other.run, found->second.effective});
  }
}

void add_environment_differences(const ScalingPoint& one, const ScalingPoint& other,
                                 std::vector<ScalingDifference>& to) {
  for (const auto& [what, value] : one.environment) {
    const auto found = other.environment.find(what);
    if (found != other.environment.end() && found->second != value)
      to.push_back({what, one.run, value, other.run, found->second});
  }
}

void add_differences(const ScalingPoint& one, const ScalingPoint& other, std::vector<ScalingDifference>& to) {
  std::vector<ScalingDifference> found;
  add_environment_differences(one, other, found);
  add_rule_differences(one, other, found);
  for (ScalingDifference& difference : found)
    if (std::ranges::find(to, difference) == to.end()) to.push_back(std::move(difference));
}

std::vector<ScaledCell> by_cell(std::vector<ScalingPoint> points) {
  std::vector<ScaledCell> cells;
  std::map<std::string, std::size_t> places;
  for (ScalingPoint& point : points) {
    const auto [place, is_new] = places.emplace(point.cell, cells.size());
    if (is_new) cells.push_back({.name = point.cell, .points = {}});
    cells[place->second].points.push_back({.point = std::move(point)});
  }
  for (ScaledCell& cell : cells)
    std::ranges::stable_sort(cell.points, {}, [](const ScaledPoint& scaled) {
      return std::pair(scaled.point.num_ranks, scaled.point.is_modelled);
    });
  return cells;
}

void refuse_twins(const ScaledCell& cell) {
  for (std::size_t i = 1; i < cell.points.size(); ++i) {
    const ScalingPoint &one = cell.points[i - 1].point, &other = cell.points[i].point;
    if (one.num_ranks != other.num_ranks || one.is_modelled != other.is_modelled) continue;
    if (one.run == other.run && one.name == other.name)
      throw std::invalid_argument(one.run + ": is given twice\n  give one run per size");
    throw std::invalid_argument(
        fmt::format("{} ({}) and {} ({}) are the same cell, {} over {} ranks\n  give one run per size; to combine "
                    "repeated runs, name the folder of their series (underlap run --runs)",
                    one.run, one.name, other.run, other.name, times_of(one), one.num_ranks));
  }
}

bool has_two_sizes(const ScaledCell& cell) {
  return cell.points.front().point.num_ranks != cell.points.back().point.num_ranks;
}

void keep_those_of_two_sizes(std::vector<ScaledCell>& cells, std::vector<std::string>& notes) {
  std::vector<std::string> single;
  for (const ScaledCell& cell : cells)
    if (!has_two_sizes(cell))
      single.push_back(fmt::format("{} ({} ranks)", cell.name, cell.points.front().point.num_ranks));
  if (single.size() == cells.size())
    throw std::invalid_argument(
        fmt::format("no cell was run at two sizes: {}\n  give runs of one matrix at several sizes, such as 2, 8 and 64 "
                    "ranks; cells are matched by name",
                    single.empty() ? "no run has a cell" : short_list(single, 5)));
  std::erase_if(cells, [](const ScaledCell& cell) { return !has_two_sizes(cell); });
  if (!single.empty()) notes.push_back(fmt::format("only at one size: {}", fmt::join(single, ", ")));
}

bool is_about(double one, double other) { return std::abs(one - other) <= 1e-9 * std::abs(one); }

Scaling scaling_of_points(const std::vector<ScaledPoint>& points) {
  const ScalingPoint& first = points.front().point;
  bool is_weak = true, is_strong = true;
  for (const ScaledPoint& scaled : points) {
    const ScalingPoint& point = scaled.point;
    if (!point.sequences || !first.sequences) return Scaling::mixed;
    is_strong &= is_about(*point.sequences, *first.sequences);
    is_weak &= is_about(*point.sequences * first.num_ranks, *first.sequences * point.num_ranks);
  }
  return is_weak ? Scaling::weak : is_strong ? Scaling::strong : Scaling::mixed;
}

// nullopt unless both plans have the number of sequences. The length of a sequence cancels in the quotient.
std::optional<double> efficiency(const ScalingPoint& point, const ScalingPoint& smallest) {
  const bool is_known = point.sequences && smallest.sequences && point.summary.step_ms->value > 0;
  if (!is_known) return std::nullopt;
  const auto rate = [](const ScalingPoint& of) { return *of.sequences / of.num_ranks / of.summary.step_ms->value; };
  return rate(point) / rate(smallest);
}

void hold_against_smallest(std::vector<ScaledPoint>& points) {
  for (ScaledPoint& scaled : points) {
    const auto is_of_its_kind = [&](const ScaledPoint& other) {
      return other.point.is_modelled == scaled.point.is_modelled;
    };
    const ScalingPoint& smallest = std::ranges::find_if(points, is_of_its_kind)->point;
    if (smallest.num_ranks == scaled.point.num_ranks || !(smallest.summary.step_ms->value > 0)) continue;
    scaled.step_to_smallest = scaled.point.summary.step_ms->value / smallest.summary.step_ms->value;
    scaled.efficiency = efficiency(scaled.point, smallest);
  }
}

void hold_against_model(std::vector<ScaledPoint>& points) {
  for (ScaledPoint& scaled : points)
    for (const ScaledPoint& other : points)
      if (!scaled.point.is_modelled && other.point.is_modelled && other.point.num_ranks == scaled.point.num_ranks &&
          other.point.summary.step_ms->value > 0)
        scaled.step_to_model = scaled.point.summary.step_ms->value / other.point.summary.step_ms->value;
}

// Each point against the smallest of all, and against the smallest of its own kind.
void check_cell(const ScaledCell& cell, ScalingReport& report, bool is_forced) {
  std::array<const ScalingPoint*, 2> smallest{};  // measured, modelled
  for (const ScaledPoint& scaled : cell.points) {
    const ScalingPoint& point = scaled.point;
    const ScalingPoint*& of_its_kind = smallest[point.is_modelled ? 1 : 0];
    for (const ScalingPoint* one : {&cell.points.front().point, static_cast<const ScalingPoint*>(of_its_kind)}) {
      const std::string why = one == nullptr ? "" : why_not_comparable(*one, point);
      if (!why.empty() && !is_forced)
        throw analysis::NotComparable(why, "they differ in more than size; use --force to compare anyway");
      if (report.forced.empty()) report.forced = why;
    }
    if (of_its_kind == nullptr)
      of_its_kind = &point;
    else
      add_differences(*of_its_kind, point, report.differences);
  }
}

// The folders of a run, or of a series', that a person means by a path.
std::vector<std::filesystem::path> folders_of(const std::string& path) {
  const std::filesystem::path named = folder_of_run(path);
  std::vector<std::filesystem::path> folders = run_folders(named);
  if (!folders.empty()) return folders;
  if (is_folder_of_series(named / "baseline") || is_folder_of_series(named / "candidate"))
    throw std::invalid_argument(fmt::format(
        "{0}: has both sides of interleaved runs\n  give one of them: {0}/baseline or {0}/candidate", path));
  throw std::invalid_argument(fmt::format(
      "{}: not a run, since it has no results.json\n  give folders written by `underlap run CONFIG -o DIR`", path));
}

std::vector<ScalingPoint> read_points(const std::string& path, std::vector<std::string>& notes) {
  std::vector<RunResults> runs;
  for (const std::filesystem::path& folder : folders_of(path)) runs.push_back(read_results(folder));
  const auto num_runs = static_cast<std::int32_t>(runs.size());
  return scaling_points(joined(std::move(runs), path), path, num_runs, notes);
}

}  // namespace

std::string_view to_string(Scaling scaling) { return kScalings[scaling]; }

ScalingReport scaling_of(std::vector<ScalingPoint> points, std::vector<std::string> notes, bool is_forced) {
  ScalingReport report{.forced = {}, .notes = std::move(notes), .differences = {}, .cells = by_cell(std::move(points))};
  for (const ScaledCell& cell : report.cells) refuse_twins(cell);
  keep_those_of_two_sizes(report.cells, report.notes);
  for (ScaledCell& cell : report.cells) {
    check_cell(cell, report, is_forced);
    cell.scaling = scaling_of_points(cell.points);
    hold_against_smallest(cell.points);
    hold_against_model(cell.points);
  }
  return report;
}

// One run after the other: at a thousand ranks the samples of all would not hold in memory.
ScalingReport read_scaling(const std::vector<std::string>& paths, bool is_forced,
                           const std::function<void(const std::string& path)>& at) {
  std::vector<ScalingPoint> points;
  std::vector<std::string> notes;
  for (const std::string& path : paths) {
    at(path);
    std::ranges::move(read_points(path, notes), std::back_inserter(points));
  }
  return scaling_of(std::move(points), std::move(notes), is_forced);
}

}  // namespace underlap::report
