// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/run_folders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace underlap::report {
namespace {

constexpr std::string_view kPrefix = "run-";

// Of run-NN; -1 for any other name.
std::int32_t index_of(std::string_view name) {
  if (!name.starts_with(kPrefix)) return -1;
  name.remove_prefix(kPrefix.size());
  std::int32_t index = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  return error == std::errc{} && end == name.data() + name.size() ? index : -1;
}

}  // namespace

std::optional<std::filesystem::path> find_results(const std::filesystem::path& folder) {
  for (const std::string_view name : kResultsFiles) {
    std::error_code ignored;  // a folder that may not be searched: opening the file gives the reason
    if (std::filesystem::symlink_status(folder / name, ignored).type() != std::filesystem::file_type::not_found)
      return folder / name;
  }
  return std::nullopt;
}

std::optional<std::filesystem::path> find_trace(const std::filesystem::path& folder, const std::string& trace_file) {
  if (trace_file.empty()) return std::nullopt;
  for (const char* const packed : {"", ".zst", ".gz"}) {
    std::error_code ignored;  // a folder that may not be searched holds no trace
    if (std::filesystem::path file = folder / (trace_file + packed); std::filesystem::is_regular_file(file, ignored))
      return file;
  }
  return std::nullopt;
}

bool is_results_file(const std::filesystem::path& path) {
  return std::ranges::find(kResultsFiles, path.filename().native()) != kResultsFiles.end();
}

std::filesystem::path folder_of_run(const std::filesystem::path& named) {
  return is_results_file(named) ? named.parent_path() : named;
}

std::filesystem::path run_of_series(const std::filesystem::path& folder, std::int32_t index) {
  return folder / fmt::format("{}{:02}", kPrefix, index);
}

bool is_name_of_run(std::string_view name) { return index_of(name) >= 0; }

std::vector<NumberedRun> numbered_runs(const std::filesystem::path& folder) {
  std::vector<NumberedRun> found;
  if (!std::filesystem::is_directory(folder)) return found;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (const std::int32_t index = index_of(entry.path().filename().string()); index >= 0 && entry.is_directory())
      found.push_back({index, entry.path(), find_results(entry.path()).has_value()});
  std::sort(found.begin(), found.end());
  return found;
}

bool is_folder_of_series(const std::filesystem::path& folder) {
  return !numbered_runs(folder).empty() || !numbered_runs(folder / "baseline").empty() ||
         !numbered_runs(folder / "candidate").empty();
}

std::vector<std::filesystem::path> run_folders(const std::filesystem::path& folder) {
  if (find_results(folder)) return {folder};
  std::vector<std::filesystem::path> folders;
  for (NumberedRun& run : numbered_runs(folder))
    if (run.has_results) folders.push_back(std::move(run.folder));
  return folders;
}

}  // namespace underlap::report
