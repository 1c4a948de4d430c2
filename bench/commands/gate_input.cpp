// SPDX-License-Identifier: Apache-2.0
#include "bench/commands/gate_input.hpp"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <utility>

#include "bench/commands/status_watch.hpp"
#include "profiler/gate/baseline.hpp"
#include "profiler/input/trace_files.hpp"
#include "profiler/input/trace_input.hpp"
#include "profiler/report/results.hpp"
#include "profiler/report/run_folders.hpp"

namespace underlap::bench {
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
Runs run_of_traces(const std::string& path) {
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
  StatusWatch watch;
  if (input::is_run_folder(path))
    input::for_each_cell(path, std::nullopt, options, watch, take);
  else
    take(input::read_cell(input::trace_files({path}), options, watch, input::Keep::by_size));
  return {std::move(*run)};
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

Runs of_each(const std::vector<std::string>& paths);

[[noreturn]] void refuse_sides(const fs::path& folder) {
  throw std::invalid_argument(fmt::format(
      "{0}: holds both sides of runs that took turns\n  name them: underlap gate {0}/baseline {0}/candidate",
      folder.string()));
}

// Of one run, or of `run --runs`; nullopt where the folder is neither, and holds at most other folders.
std::optional<Runs> of_run_folder(const fs::path& folder) {
  if (fs::exists(folder / gate::kBaselineFile)) return gate::read_baseline(folder / gate::kBaselineFile);
  if (fs::exists(folder / "results.json"))
    return Runs{compare::figures_of(report::read_results(folder), folder.string())};
  std::vector<std::string> folders;
  for (const fs::path& run : report::run_folders(folder)) folders.push_back(run.string());
  if (!folders.empty()) return of_each(folders);
  // Beside traces, folders are something else: a profiler's own.
  if (input::is_run_folder(folder) || holds_files(folder)) return run_of_traces(folder.string());
  return std::nullopt;
}

// Folders of folders of runs are none: links could go round.
Runs of_folder(const fs::path& folder) {
  if (std::optional<Runs> runs = of_run_folder(folder)) return std::move(*runs);
  Runs all;
  for (const std::string& inner : folders_in(folder)) {
    const std::string name = fs::path(inner).filename().string();
    if (name == "baseline" || name == "candidate") refuse_sides(folder);
    std::optional<Runs> runs = of_run_folder(inner);
    if (!runs) throw std::invalid_argument(inner + ": holds neither a run nor traces\n  remove it, or name the runs");
    for (compare::RunFigures& run : *runs) all.push_back(std::move(run));
  }
  if (!all.empty()) return all;
  throw std::invalid_argument(folder.string() +
                              ": is empty\n  name a run's folder, a saved baseline or traces; `underlap run CONFIG "
                              "--runs 5 -o DIR` measures runs");
}

Runs of_each(const std::vector<std::string>& paths) {
  Runs runs;
  for (const std::string& path : paths)
    for (compare::RunFigures& run : runs_named(path)) runs.push_back(std::move(run));
  return runs;
}

}  // namespace

std::vector<compare::RunFigures> runs_named(const std::string& path) {
  const fs::path named = path;
  if (fs::is_directory(named)) return of_folder(named.has_filename() ? named : named.parent_path());
  const std::string file = named.filename().string();
  const fs::path folder = named.has_parent_path() ? named.parent_path() : fs::path(".");
  if (fs::exists(named) && file == gate::kBaselineFile) return gate::read_baseline(named);
  if (fs::exists(named) && file == "results.json") return of_folder(folder);
  if (fs::exists(named)) return run_of_traces(path);
  const std::vector<std::string> paths = fitting(path);
  if (paths.empty())
    throw std::invalid_argument(
        path +
        ": no such file or folder\n  name a run's folder, a saved baseline (`underlap baseline save`) or traces");
  // Files that one pattern fits are the ranks of one run.
  if (std::ranges::all_of(paths, [](const std::string& one) { return fs::is_regular_file(one); }))
    return run_of_traces(path);
  return of_each(paths);
}

}  // namespace underlap::bench
