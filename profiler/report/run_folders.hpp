// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace underlap::report {

/// The results of a run in its folder: what a run writes, and what a recorded run is compressed to.
inline constexpr std::array<std::string_view, 3> kResultsFiles{"results.json", "results.json.zst", "results.json.gz"};
inline constexpr std::string_view kResultsFile = kResultsFiles.front();

/// The results of the run in `folder`, the first of kResultsFiles that exists; nullopt if there are no results. The
/// path may not be a regular file; reading it then fails.
std::optional<std::filesystem::path> find_results(const std::filesystem::path& folder);

/// The trace of a cell of the run in `folder`: `trace_file` (CellResult), or the same file compressed as .zst or .gz.
/// nullopt where there is none.
std::optional<std::filesystem::path> find_trace(const std::filesystem::path& folder, const std::string& trace_file);

/// Whether a path names a results file.
bool is_results_file(const std::filesystem::path& path);

/// The folder of the run that a person names, by its folder or by its results file.
std::filesystem::path folder_of_run(const std::filesystem::path& named);

/// The folder of run `index` in a series' folder: run-00, run-01, ...
std::filesystem::path run_of_series(const std::filesystem::path& folder, std::int32_t index);

/// Whether a folder's name is that of a run of a series, run-NN.
bool is_name_of_run(std::string_view name);

/// A folder run-NN, whether or not it has results yet.
struct NumberedRun {
  std::int32_t index = 0;
  std::filesystem::path folder;
  bool has_results = false;
  friend auto operator<=>(const NumberedRun&, const NumberedRun&) = default;
};

/// All run-NN of a folder, in the order of their numbers.
std::vector<NumberedRun> numbered_runs(const std::filesystem::path& folder);

/// Whether `run --runs` wrote into the folder: it holds run-NN, itself or in baseline/ and candidate/.
bool is_folder_of_series(const std::filesystem::path& folder);

/// The folders of single runs that `folder` holds: itself where it has results, else its run-NN that have, in the
/// order of their numbers; empty where there is none.
std::vector<std::filesystem::path> run_folders(const std::filesystem::path& folder);

}  // namespace underlap::report
