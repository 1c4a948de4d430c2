// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/run_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <system_error>

#include "bench/measure/cell_traces.hpp"
#include "platform/json.hpp"
#include "platform/text/escape.hpp"

namespace underlap::bench {
namespace {

using report::CellResult;
using report::RunResults;

constexpr std::size_t kMostLines = 12;

// What a plan puts in effect, by knob, as JSON texts.
// {"knobs": [{"name": "train.micro_batch_size", "requested": 8, "effective": 8, ...}, ...], ...}
std::map<std::string, std::string> knobs_of(const CellResult& cell) {
  std::map<std::string, std::string> knobs;
  const auto plan = parse_json_or_discard(cell.plan_json);
  if (!plan.is_object() || !plan.contains("knobs")) return knobs;
  for (const auto& knob : plan["knobs"])
    if (knob.is_object() && knob.contains("name") && knob["name"].is_string() && knob.contains("effective"))
      knobs[knob["name"].get<std::string>()] = json_text(knob["effective"]);
  knobs.erase("run.blocks");  // more of them is what --resume is for
  return knobs;
}

std::string value_of(const std::map<std::string, std::string>& knobs, const std::string& name) {
  const auto found = knobs.find(name);
  return found == knobs.end() ? "left out" : found->second;
}

std::string cells_text(const std::vector<std::string>& cells, std::size_t all) {
  if (cells.size() == all) return "";
  if (cells.size() == 1) return fmt::format(" in cell {}", cells.front());
  return fmt::format(" in cell {} and {} more", cells.front(), cells.size() - 1);
}

void add_cells(const RunResults& before, const RunResults& now, std::vector<std::string>& lines) {
  if (before.cells.size() != now.cells.size())
    lines.push_back(fmt::format("the matrix had {} cells, now has {}", before.cells.size(), now.cells.size()));
  for (std::size_t i = 0; i < std::min(before.cells.size(), now.cells.size()); ++i)
    if (before.cells[i].name != now.cells[i].name)
      lines.push_back(
          fmt::format("cell {} was {}, is {}", i + 1, visible_text(before.cells[i].name), now.cells[i].name));
}

void add_knobs(const RunResults& before, const RunResults& now, std::vector<std::string>& lines) {
  std::map<std::string, std::vector<std::string>> cells_by_line;
  for (std::size_t i = 0; i < now.cells.size(); ++i) {
    const auto then = knobs_of(before.cells[i]), effective = knobs_of(now.cells[i]);
    std::set<std::string> names;
    for (const auto* knobs : {&then, &effective})
      for (const auto& [name, value] : *knobs) names.insert(name);
    for (const std::string& name : names)
      if (value_of(then, name) != value_of(effective, name))
        cells_by_line[fmt::format("{} was {}, is {}", name, value_of(then, name), value_of(effective, name))].push_back(
            now.cells[i].name);
  }
  for (const auto& [line, cells] : cells_by_line) lines.push_back(line + cells_text(cells, now.cells.size()));
}

void add_files(const RunResults& before, const RunResults& now, std::vector<std::string>& lines) {
  for (const auto& [path, hash] : now.info.input_hashes) {
    const auto then = before.info.input_hashes.find(path);
    if (then != before.info.input_hashes.end() && then->second != hash)
      lines.push_back(fmt::format("the file {} has changed (hash {}, was {})", path, hash, then->second));
  }
}

// Blocks of two builds or machines are no pairs.
void add_machine(const report::RunInfo& before, const report::RunInfo& now, std::vector<std::string>& lines) {
  const auto compare = [&](const char* what, const std::string& then, const std::string& is) {
    if (then != is) lines.push_back(fmt::format("different {}: was {}, is {}", what, visible_text(then), is));
  };
  const auto placement_of = [](const report::RunInfo& info) {
    std::vector<std::int32_t> ranks;
    for (const auto& [node, count] : report::launched_nodes(info.launched_ranks)) ranks.push_back(count);
    return ranks.empty() ? std::string("no launcher") : fmt::format("{} by {}", fmt::join(ranks, " + "), info.launcher);
  };
  compare("number of ranks per node", placement_of(before), placement_of(now));
  // A launcher finds other nodes of the same kind the next time.
  if (now.launched_ranks.empty()) compare("machine", before.host_name_hash, now.host_name_hash);
  compare("processor", before.cpu_model, now.cpu_model);
  compare("commit", before.commit, now.commit);
  compare("compiler", before.compiler, now.compiler);
}

[[noreturn]] void refuse(const std::filesystem::path& folder, const std::string& why) {
  throw std::invalid_argument(
      fmt::format("{} cannot be continued: {}. Choose another folder (-o DIR)", folder.string(), why));
}

// Differences that make blocks of `now`, which is to run, not comparable with those of `before`: settings, files,
// machine and build, one line each, with the old and the new value.
std::vector<std::string> differences(const RunResults& before, const RunResults& now) {
  std::vector<std::string> lines;
  add_cells(before, now, lines);
  if (lines.empty()) add_knobs(before, now, lines);
  add_files(before, now, lines);
  add_machine(before.info, now.info, lines);
  // Results before input_hashes have a hash without them.
  const bool is_comparable = before.info.input_hashes == now.info.input_hashes;
  if (lines.empty() && is_comparable && before.info.config_hash != now.info.config_hash)
    lines.push_back(fmt::format("the configuration, in settings that its plans do not contain (hash {}, was {})",
                                now.info.config_hash, before.info.config_hash));
  return lines;
}

void check_same_run(const std::filesystem::path& folder, const RunResults& before, const RunResults& now) {
  std::vector<std::string> lines = differences(before, now);
  if (lines.empty()) return;
  const std::size_t more = lines.size() > kMostLines ? lines.size() - kMostLines : 0;
  lines.resize(lines.size() - more);
  if (more > 0) lines.push_back(fmt::format("and {} more", more));
  throw std::invalid_argument(
      fmt::format("{} contains a different run, whose blocks cannot be compared with new ones:\n  {}\nChoose another "
                  "folder (-o DIR)",
                  folder.string(), fmt::join(lines, "\n  ")));
}

// A cell that failed lacks its last blocks, every other has all.
void check_samples(const std::filesystem::path& folder, const RunResults& results, std::int64_t steps) {
  for (const CellResult& cell : results.cells) {
    const std::int32_t blocks =
        cell.failed_because.empty() ? results.blocks_done : std::min(report::blocks_of(cell), results.blocks_done);
    if (static_cast<std::int64_t>(cell.samples.size()) != blocks * steps)
      refuse(folder, fmt::format("its results.json contains {} steps of cell {}, not {} for each of {} blocks",
                                 cell.samples.size(), cell.name, steps, blocks));
    std::vector<std::int64_t> by_block(static_cast<std::size_t>(blocks));
    for (const report::StepSample& sample : cell.samples) {
      if (sample.block < 0 || sample.block >= blocks)
        refuse(folder, fmt::format("its results.json contains a step of block {} of cell {}, which has {} blocks",
                                   sample.block, cell.name, blocks));
      ++by_block[static_cast<std::size_t>(sample.block)];
    }
    for (std::size_t block = 0; block < by_block.size(); ++block)
      if (by_block[block] != steps)
        refuse(folder, fmt::format("its results.json contains {} steps of block {} of cell {}, not {}", by_block[block],
                                   block, cell.name, steps));
  }
}

// What will be cut and written is the run's own file, and not one that a link leads to.
void check_trace(const std::filesystem::path& folder, const CellResult& cell) {
  std::error_code error;
  const std::filesystem::path file = folder / cell.trace_file;
  if (!std::filesystem::exists(file, error)) refuse(folder, fmt::format("{} is missing", file.string()));
  const auto inside = std::filesystem::canonical(folder, error) / cell.trace_file;
  if (std::filesystem::canonical(file, error) != inside || !std::filesystem::is_regular_file(file, error))
    refuse(folder, fmt::format("{} is a link or not a regular file", file.string()));
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(file, error));
  if (bytes < cell.trace_bytes || cell.trace_bytes == 0)
    refuse(folder,
           fmt::format("{} has {} bytes, but its finished blocks took {}", file.string(), bytes, cell.trace_bytes));
}

void check_traces(const std::filesystem::path& folder, const RunResults& before, const RunResults& now) {
  for (std::size_t i = 0; i < now.cells.size(); ++i) {
    const std::string& file = now.cells[i].trace_file;
    if (before.cells[i].trace_file != file)
      refuse(folder, fmt::format("its results.json names the trace of cell {} \"{}\", must be \"{}\"",
                                 now.cells[i].name, before.cells[i].trace_file, file));
    if (!file.empty() && !before.cells[i].samples.empty()) check_trace(folder, before.cells[i]);
  }
}

}  // namespace

RunResults take_up(const std::filesystem::path& folder, const RunResults& now, std::int64_t steps) {
  RunResults before = report::read_results(folder);
  if (before.blocks_done == 0) return now;
  check_same_run(folder, before, now);
  if (now.blocks_planned < before.blocks_done)
    throw std::invalid_argument(
        fmt::format("run.blocks is {}, but {} contains {} finished blocks; request at least that many",
                    now.blocks_planned, folder.string(), before.blocks_done));
  check_samples(folder, before, steps);
  settle_traces(folder, before);
  check_traces(folder, before, now);
  before.blocks_planned = now.blocks_planned;
  return before;
}

}  // namespace underlap::bench
