// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "profiler/compare/run_figures.hpp"
#include "profiler/trace/reading.hpp"

namespace underlap::gate {

using compare::RunFigures;

/// The runs that `path` names, in their order: a saved baseline, the folder of a run, of `run --runs`, of several runs
/// or of several folders of traces, a trace, or a shell's pattern that fits some of these. Throws
/// std::invalid_argument, naming the place, where it names no run, for a run or a series that is not whole, and for a
/// folder that holds both a run and a series; Cancelled while traces are read.
std::vector<RunFigures> runs_named(const std::string& path, ReadingWatch& watch);

/// Those of several paths, one path after the other.
std::vector<RunFigures> runs_named(const std::vector<std::string>& paths, ReadingWatch& watch);

/// Whether a file or folder holds runs or a saved baseline, and not traces alone.
bool holds_runs(const std::filesystem::path& path);

/// The runs of a folder that `run --runs` wrote.
struct SeriesRuns {
  std::vector<RunFigures> runs = {};  ///< those that are whole, in the order of their numbers
  std::string incomplete = {};        ///< folder, what is missing and how to finish it; empty: nothing is
};

/// Throws std::invalid_argument for a run that cannot be used although it ended.
SeriesRuns series_runs(const std::filesystem::path& folder);

/// The file of a baseline in its folder: what a gate reads of one or more runs, in kilobytes.
inline constexpr const char* kBaselineFile = "baseline.json";

/// Throws std::invalid_argument, naming the runs, where no gate could take them as one side: another backend, kind of
/// link or work, other cells, or one run twice.
void check_baseline(const std::vector<RunFigures>& runs);

/// JSON, schema underlap.baseline/1; the same runs give the same text.
std::string baseline_text(const std::vector<RunFigures>& runs);
/// The JSON Schema of baseline_text(), as JSON text.
std::string baseline_json_schema();

/// The reverse. Throws std::invalid_argument with file, place and reason.
std::vector<RunFigures> read_baseline(const std::filesystem::path& file);

}  // namespace underlap::gate
