// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "profiler/compare/run_figures.hpp"
#include "profiler/trace/reading.hpp"

namespace underlap::gate {

/// The runs that `path` names, in their order: a saved baseline, the folder of a run, of `run --runs`, of several runs
/// or of several folders of traces, a trace, or a shell's pattern that fits some of these. Throws
/// std::invalid_argument, naming the place, where it names no run, for a run or a series that is not whole, and for a
/// folder that holds both a run and a series; Cancelled while traces are read.
std::vector<compare::RunFigures> runs_named(const std::string& path, ReadingWatch& watch);

/// Those of several paths, one path after the other.
std::vector<compare::RunFigures> runs_named(const std::vector<std::string>& paths, ReadingWatch& watch);

/// Whether a file or folder holds runs or a saved baseline, and not traces alone.
bool holds_runs(const std::filesystem::path& path);

/// The runs of a folder that `run --runs` wrote.
struct SeriesRuns {
  std::vector<compare::RunFigures> runs = {};  ///< those that are whole, in the order of their numbers
  std::string incomplete = {};                 ///< folder, what is missing and how to finish it; empty: nothing is
};

/// Throws std::invalid_argument for a run that cannot be used although it ended.
SeriesRuns series_runs(const std::filesystem::path& folder);

}  // namespace underlap::gate
