// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace underlap::report {

/// Where run `index` of a series stands in the series' folder: run-00, run-01, ...
std::filesystem::path run_of_series(const std::filesystem::path& folder, std::int32_t index);

/// Whether a folder's name is that of a run of a series, run-NN.
bool is_name_of_run(std::string_view name);

/// A folder run-NN, whether or not it holds results.json yet.
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

/// The folders of single runs that `folder` holds: itself where it holds results.json, else its run-NN that do, in the
/// order of their numbers; empty where there is none.
std::vector<std::filesystem::path> run_folders(const std::filesystem::path& folder);

}  // namespace underlap::report
