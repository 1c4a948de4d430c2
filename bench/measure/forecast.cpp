// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/forecast.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "bench/measure/time_estimate.hpp"
#include "bench/ranks/gpu_room.hpp"
#include "bench/ranks/rank_runner.hpp"
#include "bench/ranks/session.hpp"
#include "impl/device/sim/machine.hpp"
#include "impl/step/folding.hpp"
#include "impl/step/record_programs.hpp"
#include "platform/memory_room.hpp"
#include "platform/status_line.hpp"
#include "platform/table.hpp"
#include "profiler/report/results.hpp"

namespace underlap::bench {
namespace {

/// Of a slice in a Perfetto trace: 98 in those of bench/matrices/quick.yaml, 102 in those of modes.yaml in virtual
/// time. Fails when slices have other annotations: the files then have another size.
constexpr double kBytesOfASlice = 100;

/// Remaining work of a run.
struct Work {
  std::int64_t blocks = 0;
  std::int64_t steps_of_a_cell = 0;  // settling, measured and warm-up
};

Work work_of(const plan::RunConfig& run, std::int64_t blocks_done) {
  const std::int64_t blocks = std::max<std::int64_t>(0, run.blocks - blocks_done);
  return {blocks, blocks == 0 ? 0 : run.warmup + blocks * (run.steps + 1)};
}

/// Ranks whose steps are simulated.
std::int64_t num_played(const plan::Cell& cell) {
  const plan::Config& config = cell.plan.config;
  if (config.run.traits().measures_time) return num_ranks(cell);
  return static_cast<std::int64_t>(fold_ranks(config, sim::make_time_model(config)->gpus_per_node()).simulated.size());
}

std::string ranks_text(const plan::Matrix& matrix) {
  std::set<std::int64_t> ranks, played;
  for (const plan::Cell& cell : matrix.cells) {
    ranks.insert(cell.plan.config.parallel.world_size());
    played.insert(num_played(cell));
  }
  std::string text = fmt::format("{} ranks", fmt::join(ranks, " or "));
  if (ranks != played)
    text += fmt::format("; simulated, one for each set of identical ranks: {}", fmt::join(played, " or "));
  return text;
}

std::string where_text(const plan::RunConfig& run) {
  if (!run.traits().measures_time) return fmt::format("simulated (backend sim, {})", sim::hardware_words(run));
  if (run.traits().runs_on_gpus) return "one process and one GPU each (backend cuda)";
  return fmt::format("{} (backend host)", run.rank_processes ? "processes on this machine" : "threads of this process");
}

std::string steps_text(const plan::Matrix& matrix, const Work& work) {
  const plan::RunConfig& run = matrix.cells.front().plan.config.run;
  const auto cells = static_cast<std::int64_t>(matrix.cells.size());
  return fmt::format("{} blocks x {} cells x ({} measured + 1 settling), plus {} of warm-up per cell: {} in total",
                     work.blocks, cells, run.steps, run.warmup, cells * work.steps_of_a_cell);
}

std::string time_of(double seconds) {
  if (seconds < 1) return "a second or less";
  return duration_text(std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(seconds, 1e9) * 1e9)));
}

/// Estimated seconds for the matrix, from the steps in the folder; 0 if none were measured.
double seconds_by_blocks(const report::RunResults& before, const Work& work) {
  if (before.blocks_done < 1 || !traits_of(before.info.backend).measures_time) return 0;
  double step_ns = 0;
  for (const report::CellResult& cell : before.cells) {
    double sum = 0;
    for (const report::StepSample& sample : cell.samples) sum += double(sample.step_ns);
    step_ns += cell.samples.empty() ? 0 : sum / double(cell.samples.size());
  }
  return step_ns * double(work.steps_of_a_cell) / 1e9;
}

/// Simulating a step of a rank, relative to recording it, as in bench/matrices/modes_modelled.yaml and
/// llama405b_16k.yaml. Fails for programs unlike those: the time is then off by as much.
constexpr double kPlayedByRecorded = 8;

/// An estimate before the first block, from a short trial; 0 if no trial is possible.
double guessed_seconds(const plan::Matrix& matrix, const Work& work) {
  double seconds = 0;
  for (const plan::Cell& cell : matrix.cells) {
    const plan::Config& config = cell.plan.config;
    if (config.run.traits().runs_on_gpus) return 0;
    const bool is_played = !config.run.traits().measures_time;
    const double step = is_played ? recording_cost(config).seconds * double(num_played(cell)) * kPlayedByRecorded
                                  : host_step_seconds(config);
    seconds += step * double(work.steps_of_a_cell);
  }
  return seconds;
}

std::string time_text(const plan::Matrix& matrix, const report::RunResults& before, const Work& work) {
  if (const double seconds = seconds_by_blocks(before, work); seconds > 0)
    return fmt::format("about {}, estimated from the {} blocks in the folder, plus building the cells",
                       time_of(seconds), before.blocks_done);
  const double seconds = guessed_seconds(matrix, work);
  if (seconds == 0) return "unknown before the first block; after it, the progress line shows the time left";
  return fmt::format(
      "roughly {}, guessed from {}, plus building the cells and comparing their losses; after the first block, the "
      "progress line has a better estimate",
      time_of(seconds),
      matrix.cells.front().plan.config.run.traits().measures_time ? "a trial of one operation of each kind"
                                                                  : "the time to record a step of rank 0");
}

bool takes_slices(const ProgramCommand& command) {
  return command.type == ProgramCommand::Type::launch || command.type == ProgramCommand::Type::communicate;
}

// Of the traces that the folder keeps: steps times ranks.
double kept_steps(const plan::Cell& cell, const Work& work) {
  const plan::RunConfig& run = cell.plan.config.run;
  const double steps = double(run.steps + 1), ranks = double(num_played(cell)), blocks = double(work.blocks);
  switch (run.kept_traces.which) {
    case plan::KeptTraces::Which::none: return 0;
    case plan::KeptTraces::Which::worst: return steps * ranks;
    case plan::KeptTraces::Which::sample: return steps * blocks * std::min(ranks, double(run.kept_traces.num_ranks));
    case plan::KeptTraces::Which::all: break;
  }
  return steps * blocks * ranks;
}

double trace_bytes(const plan::Cell& cell, const Work& work) {
  if (!cell.plan.config.run.trace) return 0;
  const Program step = record_step(cell.plan.config, Detail::costs);
  const auto slices = std::ranges::count_if(step.commands, takes_slices);
  return double(slices) * kept_steps(cell, work) * kBytesOfASlice;
}

std::string disk_text(const plan::Matrix& matrix, const Work& work) {
  double bytes = 0;
  for (const plan::Cell& cell : matrix.cells) bytes += trace_bytes(cell, work);
  if (bytes <= 0) return "no traces are kept";
  return fmt::format("about {} of traces: a step of rank 0, times kept ranks and steps, at {:g} bytes per slice",
                     in_bytes(static_cast<std::int64_t>(bytes)), kBytesOfASlice);
}

std::string parts_text(std::size_t parts) {
  return parts == 1 ? "" : fmt::format(", so each block builds the cells in {} parts, one after another", parts);
}

std::string memory_text(const plan::Matrix& matrix) {
  std::int64_t most = 0;
  double held = 0;
  for (const plan::Cell& cell : matrix.cells) {
    const plan::RunConfig& run = cell.plan.config.run;
    const plan::PeakMemory& peak = cell.plan.peak_memory;
    const bool is_here = run.traits().runs_on_cores || run.numerics;
    most = std::max(most, run.traits().runs_on_cores ? peak.of_tensors() : peak.total());
    if (is_here) held += double(peak.of_tensors()) * double(num_ranks(cell));
  }
  const plan::RunConfig& run = matrix.cells.front().plan.config.run;
  std::string text = fmt::format("{} predicted for the largest rank", in_bytes(most));
  const Room room = memory_room();
  if (held > 0)
    return text + fmt::format(", {} for all ranks of all cells together; {} available ({}){}",
                              in_bytes(static_cast<std::int64_t>(held)), in_bytes(room.amount), room.bound,
                              parts_text(session_parts(matrix.cells, nullptr).size()));
  if (run.traits().runs_on_gpus)
    return text + fmt::format(
                      " of one cell, {} for all cells together; cells that do not fit on its GPU together are built "
                      "one after another in each block",
                      in_bytes(gpu_bytes_together(matrix.cells, all_cells(matrix.cells.size()))));
  return text + fmt::format(
                    ", of the simulated GPU's {}; this process needs a program for each simulated rank, but no values; "
                    "their size is not predicted",
                    in_bytes(sim::gpu_memory_bytes(matrix.cells.front().plan.config)));
}

/// Time of a proof, relative to recording: for presets with 64 to 576 ranks as laid out by `underlap init --like`.
/// Fails for programs unlike those: the time is then off by as much.
constexpr double kProvedByRecorded = 5;
constexpr double kProofByProgram = 2;

/// For all ranks of a cell.
struct CheckCost {
  double seconds = 0;
  double bytes = 0;
};

double bytes_of_check(const plan::Cell& cell, std::int32_t steps, std::int64_t bytes_of_step) {
  return double(bytes_of_step) * double(cell.plan.config.parallel.world_size()) * steps * kProofByProgram;
}

CheckCost check_cost(const plan::Cell& cell, std::int32_t steps) {
  const RecordingCost step = recording_cost(cell.plan.config);
  const double of_all = double(cell.plan.config.parallel.world_size()) * steps;
  return {step.seconds * of_all * kProvedByRecorded, bytes_of_check(cell, steps, step.bytes)};
}

// One line for each word, with its text in a second column.
std::string lines(int width, const std::vector<std::pair<std::string, std::string>>& texts) {
  std::size_t longest = 0;
  for (const auto& [word, text] : texts) longest = std::max(longest, word.size());
  std::string all;
  for (const auto& [word, text] : texts)
    all += wrap(fmt::format("{:<{}}  {}", word, longest, text), width, std::string(longest + 2, ' '));
  return all;
}

}  // namespace

std::string run_forecast(const plan::Matrix& matrix, const std::filesystem::path& resumed, int width) {
  const plan::RunConfig& run = matrix.cells.front().plan.config.run;
  report::RunResults before;
  if (!resumed.empty()) before = report::read_results(resumed);
  const Work work = work_of(run, before.blocks_done);
  return lines(width, {{"cells", fmt::format("{} of {}, {}", matrix.cells.size(), ranks_text(matrix), where_text(run))},
                       {"steps", steps_text(matrix, work)},
                       {"time", time_text(matrix, before, work)},
                       {"disk", disk_text(matrix, work)},
                       {"memory", memory_text(matrix)}}) +
         "Nothing was run or written.\n";
}

std::string check_forecast(const plan::Matrix& matrix, std::int32_t steps, std::int32_t numerics_steps, int width) {
  std::int64_t ranks = 0;
  double seconds = 0, bytes = 0;
  for (const plan::Cell& cell : matrix.cells) {
    const CheckCost cost = check_cost(cell, steps);
    ranks += cell.plan.config.parallel.world_size();
    seconds += cost.seconds;
    bytes = std::max(bytes, cost.bytes);
  }
  const std::string numerics =
      numerics_steps == 0
          ? "none: no losses are computed"
          : fmt::format("losses of {} steps of each cell, on a shrunk model if it is too large", numerics_steps);
  const Room room = memory_room();
  return lines(
             width,
             {{"cells", fmt::format("{}, {} ranks together", matrix.cells.size(), ranks)},
              {"programs", fmt::format("{} steps of each rank are recorded and proved, but not run", steps)},
              {"numerics", numerics},
              {"time", fmt::format("roughly {} for the proofs, guessed from the time to record a step of rank 0",
                                   time_of(seconds))},
              {"disk", "nothing is written"},
              {"memory", fmt::format("roughly {} for the largest cell; {} available ({})",
                                     in_bytes(static_cast<std::int64_t>(bytes)), in_bytes(room.amount), room.bound)}}) +
         "Nothing was checked.\n";
}

void require_memory_of_check(const plan::Cell& cell, std::int32_t steps) {
  const double bytes = bytes_of_check(cell, steps, record_step(cell.plan.config, Detail::uses).bytes());
  const Room room = memory_room();
  if (bytes <= double(room.amount)) return;
  throw std::invalid_argument(
      fmt::format("checking cell {} with {} ranks takes roughly {} of memory, but {} is available ({}): use fewer "
                  "--steps, ranks, layers or microbatches",
                  cell.name, cell.plan.config.parallel.world_size(), in_bytes(static_cast<std::int64_t>(bytes)),
                  in_bytes(room.amount), room.bound));
}

}  // namespace underlap::bench
