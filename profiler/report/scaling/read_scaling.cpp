// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/scaling/read_scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "profiler/report/results.hpp"
#include "profiler/report/run_folders.hpp"

namespace underlap::report {
namespace {

// The folders of a run, or of a series', that a person means by a path.
std::vector<std::filesystem::path> folders_of(const std::string& path) {
  const std::filesystem::path named = folder_of_run(path);
  std::vector<std::filesystem::path> folders = run_folders(named);
  if (!folders.empty()) return folders;
  if (is_folder_of_series(named / "baseline") || is_folder_of_series(named / "candidate"))
    throw std::invalid_argument(fmt::format(
        "{0}: has both sides of interleaved runs\n  name one of them: {0}/baseline or {0}/candidate", path));
  throw std::invalid_argument(fmt::format(
      "{}: not a run, since it has no results.json\n  name folders written by `underlap run CONFIG -o DIR`", path));
}

std::vector<ScalingPoint> read_points(const std::string& path, std::vector<std::string>& notes) {
  std::vector<RunResults> runs;
  for (const std::filesystem::path& folder : folders_of(path)) runs.push_back(read_results(folder));
  const auto num_runs = static_cast<std::int32_t>(runs.size());
  return scaling_points(joined(std::move(runs), path), path, num_runs, notes);
}

}  // namespace

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
