// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/merge.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <system_error>

#include "bench/measure/conclusions.hpp"
#include "bench/measure/described_cells.hpp"
#include "bench/measure/run_folder.hpp"
#include "bench/verify/numerics_labels.hpp"
#include "profiler/report/report.hpp"
#include "profiler/report/run_folders.hpp"

namespace underlap::bench {
namespace {

namespace fs = std::filesystem;

using report::CellResult;
using report::RunInfo;
using report::RunResults;

/// Results of the tasks, by cell; without cells for a task that has no block.
struct Measured {
  std::vector<RunResults> tasks;
  const RunResults& first() const {
    const auto found = std::ranges::find_if(tasks, [](const RunResults& task) { return !task.cells.empty(); });
    if (found == tasks.end()) throw std::invalid_argument("no cell has a finished block");
    return *found;
  }
};

void check_over(const fs::path& folder, const StateOfArray& state) {
  std::vector<std::string> going;
  for (const StateOfTask& task : state.tasks)
    if (!task.is_over()) going.push_back(fmt::format("{} ({})", task.cell, to_string(task.run.stage)));
  if (!going.empty())
    throw std::invalid_argument(
        fmt::format("{}: {} of {} cells have not ended: {}; the last task merges them, see `underlap status`",
                    folder.string(), going.size(), state.tasks.size(), fmt::join(going, ", ")));
}

plan::Matrix read_submitted(const fs::path& folder, const SubmittedJob& job) {
  const fs::path file = folder / "config.yaml";
  plan::Matrix matrix = plan::parse(plan::read_config(file), file.string(), job.overrides);
  if (matrix.has_errors()) throw std::invalid_argument(matrix.errors.front().text());
  if (!std::ranges::equal(matrix.cells, job.cells, {}, &plan::Cell::name))
    throw std::invalid_argument(fmt::format("{} has other cells than the submitted ones", file.string()));
  return matrix;
}

Measured read_measured(const fs::path& folder, const plan::Matrix& matrix) {
  Measured measured;
  for (std::size_t i = 0; i < matrix.cells.size(); ++i) {
    const fs::path own = task_folder(folder, i);
    RunResults task;
    if (report::find_results(own)) task = report::read_results(own);
    if (!task.cells.empty() && (task.cells.size() != 1 || task.cells.front().name != matrix.cells[i].name))
      throw std::invalid_argument(fmt::format("{} contains another cell than {}", own.string(), matrix.cells[i].name));
    if (!task.cells.empty() && task.cells.front().samples.empty()) task.cells.clear();
    measured.tasks.push_back(std::move(task));
  }
  return measured;
}

// The distinct values of all cells, as one text.
template <typename Get>
std::string joined(const Measured& measured, Get get) {
  std::set<std::string> texts;
  for (const RunResults& task : measured.tasks)
    if (!task.cells.empty()) texts.insert(get(task.info));
  return fmt::format("{}", fmt::join(texts, "; "));
}

// Blocks of two builds cannot be compared.
void check_one_build(const Measured& measured, const plan::Matrix& matrix) {
  const RunInfo& first = measured.first().info;
  for (std::size_t i = 0; i < measured.tasks.size(); ++i) {
    if (measured.tasks[i].cells.empty()) continue;
    const RunInfo& other = measured.tasks[i].info;
    const auto check = [&](const char* what, const std::string& one, const std::string& its) {
      if (one != its)
        throw std::invalid_argument(
            fmt::format("cells were measured by two builds: {} of {} is {}, that of the others {}", what,
                        matrix.cells[i].name, its, one));
    };
    check("the commit", first.commit, other.commit);
    check("the compiler", first.compiler, other.compiler);
    for (const auto& [path, hash] : other.input_hashes)
      if (const auto known = first.input_hashes.find(path); known != first.input_hashes.end() && known->second != hash)
        throw std::invalid_argument(
            fmt::format("{} had other contents when {} was measured", path, matrix.cells[i].name));
  }
}

RunInfo info_of(const Measured& measured, const StateOfArray& state, const plan::Matrix& matrix) {
  RunInfo info = measured.first().info;
  info.command = state.job.command;
  info.link = joined(measured, [](const RunInfo& its) { return its.link; });
  info.cpu_model = joined(measured, [](const RunInfo& its) { return its.cpu_model; });
  info.gpu_model = joined(measured, [](const RunInfo& its) { return its.gpu_model; });
  info.host_name_hash = joined(measured, [](const RunInfo& its) { return its.host_name_hash; });
  for (const RunResults& task : measured.tasks) {
    if (task.cells.empty()) continue;
    info.started_utc = std::min(info.started_utc, task.info.started_utc);
    info.input_hashes.insert(task.info.input_hashes.begin(), task.info.input_hashes.end());
  }
  info.config_hash = matrix_hash(matrix, info.input_hashes);
  info.launched_ranks.clear();
  return info;
}

// Creates a hard link if the file system supports it; blocks that are measured later are appended to it.
void take_file(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::remove(to, error);
  fs::create_hard_link(from, to, error);
  if (error) fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
  if (error) throw MachineError(fmt::format("cannot copy {} to {}: {}", from.string(), to.string(), error.message()));
}

// `described`: the cell without blocks, used if the task measured none.
CellResult cell_of(const RunResults& task, CellResult described, const plan::Matrix& matrix, std::size_t index,
                   const StateOfTask& state, const fs::path& folder) {
  CellResult cell = task.cells.empty() ? std::move(described) : task.cells.front();
  if (!task.cells.empty()) {
    cell.own_allocation = report::OwnAllocation{
        .started_utc = task.info.started_utc, .cpu_model = task.info.cpu_model, .ranks = task.info.launched_ranks};
    cell.label = report::NumericsLabel::not_checked;
  }
  const fs::path own = task_folder(folder, index);
  if (!cell.trace_file.empty()) {
    const std::string its = std::exchange(cell.trace_file, trace_file_name(index, cell.name));
    take_file(own / its, folder / cell.trace_file);
  }
  if (matrix.cells[index].plan.config.run.trace && !task.cells.empty())
    take_file(own / kernel_file_name(0, cell.name), folder / kernel_file_name(index, cell.name));
  if (!state.why_ended.empty() && cell.failed_because.empty()) {
    cell.failed_because = fmt::format("left out from block {} on: {}", report::blocks_of(cell), state.why_ended);
    cell.invalid_because.push_back(cell.failed_because);
  }
  return cell;
}

// Merges the load of all cells' tasks, block by block.
void add_load(std::vector<report::BlockLoad>& load, const std::vector<report::BlockLoad>& more) {
  for (const report::BlockLoad& its : more) {
    const auto known = std::ranges::find(load, its.block, &report::BlockLoad::block);
    if (known == load.end()) {
      load.push_back(its);
      continue;
    }
    known->cpus = std::max(known->cpus, its.cpus);
    known->wall_ns += its.wall_ns;
    known->own_cpu_ns += its.own_cpu_ns;
    known->other_cpu_ns += its.other_cpu_ns;
    known->stolen_cpu_ns += its.stolen_cpu_ns;
  }
}

// The first block before which some cells, but not all, restarted with fresh weights.
std::int32_t first_block_apart(const Measured& measured) {
  std::map<std::int32_t, std::size_t> resumed;
  std::size_t cells = 0;
  for (const RunResults& task : measured.tasks) {
    cells += task.cells.empty() ? 0 : 1;
    for (const std::int32_t block : std::set(task.resumed_at_blocks.begin(), task.resumed_at_blocks.end()))
      ++resumed[block];
  }
  for (const auto& [block, count] : resumed)
    if (count < cells) return block;
  return std::numeric_limits<std::int32_t>::max();
}

// Compares losses only for steps whose weights have the same history.
std::vector<std::string> label(const plan::Matrix& matrix, const Measured& measured, std::vector<CellResult>& cells) {
  const std::int32_t end = first_block_apart(measured);
  std::vector<CellResult> compared;
  for (const CellResult& cell : cells) {
    CellResult& its = compared.emplace_back();
    its.name = cell.name;
    its.values = cell.values;
    its.no_comm = cell.no_comm;
    its.references = cell.references;
    for (const report::StepSample& sample : cell.samples)
      if (sample.block < end)
        its.samples.push_back(
            {.block = sample.block, .step = sample.step, .loss = sample.loss, .transfer_cpu_ns = {}, .ranks = {}});
  }
  std::vector<std::string> mismatches = label_numerics(matrix.cells, compared);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i].label = compared[i].label;
    cells[i].max_loss_difference = compared[i].max_loss_difference;
  }
  return mismatches;
}

RunResults merged(const fs::path& folder, const StateOfArray& state, const plan::Matrix& matrix,
                  const Measured& measured) {
  RunResults results;
  results.info = info_of(measured, state, matrix);
  results.blocks_planned = state.job.blocks;
  std::set<std::int32_t> resumed;
  std::vector<CellResult> described = described_cells(matrix.cells);
  for (std::size_t i = 0; i < matrix.cells.size(); ++i) {
    const RunResults& task = measured.tasks[i];
    results.blocks_done = std::max(results.blocks_done, task.blocks_done);
    resumed.insert(task.resumed_at_blocks.begin(), task.resumed_at_blocks.end());
    add_load(results.load, task.load);
    results.cells.push_back(cell_of(task, std::move(described[i]), matrix, i, state.tasks[i], folder));
  }
  set_references(matrix.cells, results.cells);  // a task knows only its own cell
  results.resumed_at_blocks.assign(resumed.begin(), resumed.end());
  return results;
}

}  // namespace

MeasureOutcome merge_array(const fs::path& folder, const StateOfArray& state, const StatusOptions& progress) {
  StatusLine status(progress);
  check_over(folder, state);
  const HeldRunFolder held(folder);
  const plan::Matrix matrix = read_submitted(folder, state.job);
  status.say("reading the measurements");
  const Measured measured = read_measured(folder, matrix);
  check_one_build(measured, matrix);
  MeasureOutcome outcome{.results = merged(folder, state, matrix, measured), .mismatches = {}, .invalid = {}};
  outcome.mismatches = label(matrix, measured, outcome.results.cells);
  for (const CellResult& cell : outcome.results.cells)
    if (!cell.invalid_because.empty())
      outcome.invalid.push_back(fmt::format("cell {} is not valid: {}", cell.name, cell.invalid_because.front()));
  draw_conclusions(matrix.cells, outcome.results, KernelFiles(folder, kernel_file_names(matrix.cells)),
                   [&](std::size_t cell) { status.say("evaluating " + matrix.cells[cell].name); });
  status.say("writing results.json and report.md");
  report::write_results(folder, outcome.results);
  report::write_report(folder, outcome.results);
  return outcome;
}

}  // namespace underlap::bench
