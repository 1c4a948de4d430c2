// SPDX-License-Identifier: Apache-2.0
#include "profiler/gate/named_runs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <glob.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "profiler/input/trace_files.hpp"
#include "profiler/input/trace_input.hpp"
#include "profiler/report/run_folders.hpp"

namespace underlap::gate {
namespace {

namespace fs = std::filesystem;
using Runs = std::vector<compare::RunFigures>;

std::vector<std::string> fitting(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
    for (std::size_t i = 0; i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
  ::globfree(&found);
  std::ranges::sort(paths, input::naturally_before);
  return paths;
}

// Cells of one run's traces become one run.
Runs run_of_traces(const std::string& path, ReadingWatch& watch) {
  std::optional<compare::RunFigures> run;
  const auto take = [&](const input::CellTrace& traced) {
    const std::string name = traced.cell.empty() ? "trace" : traced.cell;
    compare::RunFigures figures = compare::figures_of(traced.trace, traced.summary, name, path);
    if (!run)
      run = std::move(figures);
    else
      run->cells.push_back(std::move(figures.cells.front()));
  };
  const input::AttributionOptionsOf options = [](const Trace&) { return attribution::AttributionOptions{}; };
  if (input::is_run_folder(path))
    input::for_each_cell(path, std::nullopt, options, watch, take);
  else
    take(input::read_cell(input::trace_files({path}), options, watch, {.keep = input::Keep::by_size}));
  return {std::move(*run)};
}

bool holds_trace_files(const fs::path& folder) {
  try {
    return !input::trace_files({folder.string()}).empty();
  } catch (const std::invalid_argument&) {
    return false;
  }
}

// Folders of traces may be called as those of runs are, and hold no results.
bool are_runs(const std::vector<report::NumberedRun>& numbered) {
  return std::ranges::any_of(
      numbered, [](const report::NumberedRun& run) { return run.has_results || !holds_trace_files(run.folder); });
}

// Its traces end where it did.
void refuse_unfinished_run(const fs::path& folder) {
  if (report::is_name_of_run(folder.filename().string()) && !holds_trace_files(folder))
    throw std::invalid_argument(
        fmt::format("{}: has no results.json: this run failed, was stopped, or is running\n  finish its series: "
                    "`underlap run ... --runs N -o {} --resume`",
                    folder.string(), folder.has_parent_path() ? folder.parent_path().string() : "DIR"));
}

bool holds_files(const fs::path& folder) {
  return std::any_of(fs::directory_iterator(folder), fs::directory_iterator(),
                     [](const fs::directory_entry& entry) { return entry.is_regular_file(); });
}

std::vector<std::string> folders_in(const fs::path& folder) {
  std::vector<std::string> folders;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_directory() && !entry.path().filename().string().starts_with('.'))
      folders.push_back(entry.path().string());
  std::ranges::sort(folders, input::naturally_before);
  return folders;
}

[[noreturn]] void refuse_sides(const fs::path& folder) {
  throw std::invalid_argument(
      fmt::format("{0}: has both sides of interleaved runs\n  compare them: underlap gate {0}/baseline "
                  "{0}/candidate",
                  folder.string()));
}

[[noreturn]] void refuse_both(const fs::path& folder) {
  throw std::invalid_argument(
      fmt::format("{0}: has a single run (results.json) and a series of runs (run-00, ...)\n  move one of them to "
                  "another folder, or name a run: {0}/run-00",
                  folder.string()));
}

// The command that continues a series. A run knows its own command, "underlap run CONFIG -o SERIES/run-00 ...".
std::string resume_command(const fs::path& folder, std::int32_t runs, const report::RunInfo& info) {
  const std::string own = "/" + report::run_of_series("", 0).string();
  const std::size_t place = info.command.find(own);
  if (info.series_side.empty() && place != std::string::npos && info.command.starts_with("underlap run")) {
    std::string command = info.command;
    command.replace(place, own.size(), fmt::format(" --runs {}", runs));
    return command.ends_with(" --resume") ? command : command + " --resume";
  }
  const bool is_side = folder.filename() == "baseline" || folder.filename() == "candidate";
  return fmt::format("underlap run CONFIG --runs {}{} -o {} --resume", runs, is_side ? " --interleave OTHER" : "",
                     is_side ? folder.parent_path().string() : folder.string());
}

// The runs of a series that its folder lacks.
std::vector<std::string> missing_runs(const std::vector<report::NumberedRun>& runs) {
  std::vector<std::string> missing;
  std::int32_t expected = 0;
  for (const report::NumberedRun& run : runs) {
    if (run.index > expected) missing.push_back(report::run_of_series("", expected).string() + " is missing");
    expected = run.index + 1;
    if (!run.has_results)
      missing.push_back(run.folder.filename().string() + " has no results.json: it failed, was stopped, or is running");
  }
  return missing;
}

// Of one run, or of `run --runs`; nullopt where the folder is neither, and holds at most other folders.
std::optional<Runs> of_run_folder(const fs::path& folder, ReadingWatch& watch) {
  if (fs::exists(folder / kBaselineFile)) return read_baseline(folder / kBaselineFile);
  if (report::find_results(folder)) {
    if (report::is_folder_of_series(folder)) refuse_both(folder);
    return Runs{compare::figures_of(report::read_results(folder), folder.string())};
  }
  refuse_unfinished_run(folder);
  if (are_runs(report::numbered_runs(folder))) {
    SeriesRuns series = series_runs(folder);
    if (!series.incomplete.empty()) throw std::invalid_argument(series.incomplete);
    return std::move(series.runs);
  }
  // Folders next to traces belong to a profiler, so they are not searched for runs.
  if (input::is_run_folder(folder) || holds_trace_files(folder) || (holds_files(folder) && folders_in(folder).empty()))
    return run_of_traces(folder.string(), watch);
  return std::nullopt;
}

// Does not search deeper: links could form a cycle.
Runs of_folder(const fs::path& folder, ReadingWatch& watch) {
  if (std::optional<Runs> runs = of_run_folder(folder, watch)) return std::move(*runs);
  Runs all;
  for (const std::string& inner : folders_in(folder)) {
    const std::string name = fs::path(inner).filename().string();
    if (name == "baseline" || name == "candidate") refuse_sides(folder);
    std::optional<Runs> runs = of_run_folder(inner, watch);
    if (!runs) throw std::invalid_argument(inner + ": has neither a run nor traces\n  remove it, or name the runs");
    std::ranges::move(*runs, std::back_inserter(all));
  }
  if (!all.empty()) return all;
  throw std::invalid_argument(folder.string() +
                              ": is empty\n  give a run folder, a saved baseline or traces; `underlap run CONFIG "
                              "--runs 5 -o DIR` measures runs");
}

}  // namespace

SeriesRuns series_runs(const fs::path& folder) {
  const std::vector<report::NumberedRun> numbered = report::numbered_runs(folder);
  const std::int32_t expected = numbered.empty() ? 0 : numbered.back().index + 1;
  std::vector<std::string> missing = missing_runs(numbered);
  SeriesRuns series;
  report::RunInfo info;  // of the first run that has one
  bool has_results = false;
  for (const report::NumberedRun& run : numbered) {
    if (!run.has_results) continue;
    const report::RunResults results = report::read_results(run.folder);
    has_results = true;
    if (info.command.empty()) info = results.info;
    if (results.blocks_done >= results.blocks_planned)
      series.runs.push_back(compare::figures_of(results, run.folder.string()));
    else
      missing.push_back(fmt::format("{} has {} of {} blocks", run.folder.filename().string(), results.blocks_done,
                                    results.blocks_planned));
  }
  if (expected < info.series_runs)
    missing.push_back(fmt::format("{} of {} planned runs exist", expected, info.series_runs));
  if (!has_results)
    missing = {fmt::format("none of its {} runs has results: each failed or was stopped", numbered.size())};
  if (!missing.empty())
    series.incomplete =
        fmt::format("{}: {}\n  finish it: {}\n  or name the folders of the runs to use", folder.string(),
                    fmt::join(missing, "; "), resume_command(folder, std::max(info.series_runs, expected), info));
  return series;
}

bool holds_runs(const fs::path& path) {
  if (!fs::is_directory(path)) return path.filename() == kBaselineFile || report::is_results_file(path);
  return fs::exists(path / kBaselineFile) || report::find_results(path).has_value() ||
         std::ranges::any_of(report::numbered_runs(path), &report::NumberedRun::has_results);
}

std::vector<compare::RunFigures> runs_named(const std::string& path, ReadingWatch& watch) {
  const fs::path named = path;
  if (fs::is_directory(named)) return of_folder(named.has_filename() ? named : named.parent_path(), watch);
  const std::string file = named.filename().string();
  const fs::path folder = named.has_parent_path() ? named.parent_path() : fs::path(".");
  if (fs::exists(named) && file == kBaselineFile) return read_baseline(named);
  if (fs::exists(named) && report::is_results_file(named)) return of_folder(folder, watch);
  if (fs::exists(named)) return run_of_traces(path, watch);
  std::vector<std::string> paths = fitting(path);
  // The output of a run is a text file next to its folder.
  std::erase_if(paths, [](const fs::path& one) {
    return one.extension() == ".txt" && report::is_name_of_run(one.stem().string()) && fs::is_regular_file(one);
  });
  if (paths.empty())
    throw std::invalid_argument(
        path + ": no such file or folder\n  give a run folder, a saved baseline (`underlap baseline save`) or traces");
  // Files that one pattern fits are the ranks of one run.
  if (std::ranges::all_of(paths, [](const std::string& one) { return fs::is_regular_file(one); }))
    return run_of_traces(path, watch);
  return runs_named(paths, watch);
}

std::vector<compare::RunFigures> runs_named(const std::vector<std::string>& paths, ReadingWatch& watch) {
  Runs runs;
  for (const std::string& path : paths) std::ranges::move(runs_named(path, watch), std::back_inserter(runs));
  return runs;
}

}  // namespace underlap::gate
