// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace underlap::report {

/// Where run `index` of a series stands in the series' folder: run-00, run-01, ...
std::filesystem::path run_of_series(const std::filesystem::path& folder, std::int32_t index);

/// The folders of single runs that `folder` holds: itself where it holds results.json, else its run-NN that do, in the
/// order of their numbers; empty where there is none.
std::vector<std::filesystem::path> run_folders(const std::filesystem::path& folder);

}  // namespace underlap::report
