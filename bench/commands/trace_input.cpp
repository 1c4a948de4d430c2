// SPDX-License-Identifier: Apache-2.0
#include "bench/commands/trace_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>
#include <system_error>

#include "platform/status_line.hpp"
#include "profiler/analysis/windows.hpp"
#include "profiler/formats/format.hpp"

namespace underlap::bench {
namespace {

namespace fs = std::filesystem;

std::string cell_of(const Trace& trace) {
  const auto said = trace.metadata.find("cell");
  return said == trace.metadata.end() ? "" : said->second;
}

// A trace of which nothing is left, as one cut in its first lines is.
void check_holds_something(const CellTrace& cell) {
  if (cell.trace.size() > 0 || !cell.trace.marks.empty()) return;
  std::string skipped;
  for (const auto& [reason, count] : cell.trace.import.skipped)
    skipped += fmt::format("; skipped {}: {}", count, reason);
  throw std::invalid_argument(
      fmt::format("{}: holds no slice that can be used, so there is nothing to analyse{}; give a "
                  "trace of a run that finished a block",
                  fmt::join(cell.files, ", "), skipped));
}

bool is_trace(const fs::path& file) {
  fs::path name = file.filename();
  if (name.extension() == ".zst") name = name.stem();
  return std::ranges::any_of(formats::formats(),
                             [&](const formats::Format& format) { return name.extension() == format.extension; });
}

std::vector<std::string> traces_in(const fs::path& folder) {
  std::error_code error;
  const fs::path where = fs::is_directory(folder / "traces", error) ? folder / "traces" : folder;
  std::vector<std::string> files;
  const fs::directory_iterator entries(where, error);
  if (error) throw std::invalid_argument(fmt::format("{}: cannot be read: {}", where.string(), error.message()));
  for (const auto& entry : entries)
    if (std::error_code none; entry.is_regular_file(none) && is_trace(entry.path()))
      files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  if (files.empty())
    throw std::invalid_argument(fmt::format(
        "{}: a directory without traces; give the folder of a run that recorded some, or a trace", where.string()));
  return files;
}

}  // namespace

// Two cells have the same ranks and steps, and adding them up would mean nothing.
CellTrace read_cell(const std::vector<std::string>& files) {
  CellTrace cell{.cell = {}, .files = files, .trace = {}};
  StatusLine status(status_on_stderr());
  std::map<std::int32_t, std::string> file_of_rank;
  for (const std::string& file : files) {
    status.say("reading " + file);
    const Trace trace = formats::read_trace(file);
    for (const std::int32_t rank : analysis::ranks_of(trace))
      if (const auto [entry, is_new] = file_of_rank.emplace(rank, file); !is_new)
        throw std::invalid_argument(fmt::format(
            "{} and {} both hold rank {}; give the traces of one cell, or the run's folder for all cells in "
            "turn",
            entry->second, file, rank));
    cell.trace.append(trace);
  }
  cell.cell = cell_of(cell.trace);
  check_holds_something(cell);
  return cell;
}

void for_each_cell(const std::string& folder, const std::optional<std::string>& wanted,
                   const std::function<void(const CellTrace&)>& take) {
  std::set<std::string> names;
  bool is_found = false;
  for (const std::string& file : traces_in(folder)) {
    const CellTrace cell = read_cell({file});
    names.insert(cell.cell);
    if (wanted && cell.cell != *wanted) continue;
    is_found = true;
    take(cell);
  }
  if (!is_found)
    throw std::invalid_argument(fmt::format("--cell is \"{}\", of which {} has no trace; it takes one of: {}", *wanted,
                                            folder, fmt::join(names, ", ")));
}

}  // namespace underlap::bench
