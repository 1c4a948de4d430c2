// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/forecast.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "bench/ranks/rank_runner.hpp"
#include "impl/device/sim/machine.hpp"
#include "impl/plan/plan_words.hpp"
#include "impl/step/folding.hpp"
#include "impl/step/record_programs.hpp"
#include "platform/room.hpp"
#include "profiler/report/results.hpp"

namespace underlap::bench {
namespace {

/// Of a slice in a Perfetto trace: 98 in those of bench/matrices/quick.yaml, 102 in those of modes.yaml in virtual
/// time.
constexpr double kBytesOfASlice = 100;

/// What a run may still have to do.
struct Work {
  std::int64_t blocks = 0;
  std::int64_t steps_of_a_cell = 0;  // settling, measured and warm-up
};

Work work_of(const plan::RunConfig& run, std::int64_t blocks_done) {
  const std::int64_t blocks = std::max<std::int64_t>(0, run.blocks - blocks_done);
  return {blocks, blocks == 0 ? 0 : run.warmup + blocks * (run.steps + 1)};
}

/// Ranks whose steps are really played.
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
  if (ranks != played) text += fmt::format(", of which {} are played for all", fmt::join(played, " or "));
  return text;
}

std::string where_text(const plan::RunConfig& run) {
  if (!run.traits().measures_time) return fmt::format("in virtual time (backend sim, {})", run.hardware);
  if (run.traits().runs_on_gpus) return "a process and a GPU each (backend cuda)";
  return fmt::format("{} (backend host)", run.rank_processes ? "processes of this machine" : "threads of this process");
}

std::string steps_text(const plan::Matrix& matrix, const Work& work) {
  const plan::RunConfig& run = matrix.cells.front().plan.config.run;
  const auto cells = static_cast<std::int64_t>(matrix.cells.size());
  return fmt::format(
      "{} blocks x {} cells x ({} measured + 1 that settles), and {} of warm-up for each cell: {} in all", work.blocks,
      cells, run.steps, run.warmup, cells * work.steps_of_a_cell);
}

std::string duration_words(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

/// Only finished blocks of the same run say how long one takes.
std::string time_text(const report::RunResults* before, const Work& work) {
  if (before == nullptr || before->blocks_done < 1 || !traits_of(before->info.backend).measures_time)
    return "not known before the first block; the progress line says then what is left";
  double step_ns = 0;
  for (const report::CellResult& cell : before->cells) {
    double sum = 0;
    for (const report::StepSample& sample : cell.samples) sum += double(sample.step_ns);
    step_ns += cell.samples.empty() ? 0 : sum / double(cell.samples.size());
  }
  return fmt::format("about {}, by the steps of the {} blocks that the folder holds; building the cells comes to that",
                     duration_words(step_ns * double(work.steps_of_a_cell) / 1e9), before->blocks_done);
}

bool takes_slices(const ProgramCommand& command) {
  return command.type == ProgramCommand::Type::launch || command.type == ProgramCommand::Type::communicate;
}

double trace_bytes(const plan::Cell& cell, std::int64_t steps) {
  if (!cell.plan.config.run.trace) return 0;
  const Program step = record_step(cell.plan.config, Detail::costs);
  const auto slices = std::ranges::count_if(step.commands, takes_slices);
  return double(slices) * double(num_played(cell)) * double(steps) * kBytesOfASlice;
}

std::string disk_text(const plan::Matrix& matrix, const Work& work) {
  const std::int64_t in_traces = work.blocks * (matrix.cells.front().plan.config.run.steps + 1);
  double bytes = 0;
  for (const plan::Cell& cell : matrix.cells) bytes += trace_bytes(cell, in_traces);
  return fmt::format("about {} of traces: a step of rank 0, times ranks and steps, at {:g} bytes a slice",
                     plan::memory_text(static_cast<std::int64_t>(bytes)), kBytesOfASlice);
}

std::string memory_text(const plan::Matrix& matrix) {
  std::int64_t most = 0;
  double held = 0;
  for (const plan::Cell& cell : matrix.cells) {
    const plan::RunConfig& run = cell.plan.config.run;
    const std::int64_t peak = cell.plan.peak_memory.total();
    most = std::max(most, peak);
    if (run.traits().runs_on_cores || run.numerics) held += double(peak) * double(num_ranks(cell));
  }
  const plan::RunConfig& run = matrix.cells.front().plan.config.run;
  std::string text = fmt::format("{} are predicted for the rank of most need", plan::memory_text(most));
  const Room room = memory_room();
  if (held > 0)
    return text + fmt::format(", {} for all ranks of all cells together; {} can be had ({})",
                              plan::memory_text(static_cast<std::int64_t>(held)), plan::memory_text(room.amount),
                              room.bound);
  if (run.traits().runs_on_gpus) return text + ", on its GPU";
  return text + fmt::format(
                    ", of the {} of the GPU that is modelled; this process holds no values, but a program for "
                    "each rank that is played, and how large those are is not predicted",
                    plan::memory_text(sim::gpu_memory_bytes(matrix.cells.front().plan.config)));
}

}  // namespace

std::string run_forecast(const plan::Matrix& matrix, const std::filesystem::path& resumed) {
  const plan::RunConfig& run = matrix.cells.front().plan.config.run;
  report::RunResults before;
  if (!resumed.empty()) before = report::read_results(resumed);
  const Work work = work_of(run, before.blocks_done);
  return fmt::format(
      "cells   {} of {}, {}\nsteps   {}\ntime    {}\ndisk    {}\nmemory  {}\nNothing was run and nothing written.\n",
      matrix.cells.size(), ranks_text(matrix), where_text(run), steps_text(matrix, work),
      time_text(resumed.empty() ? nullptr : &before, work), disk_text(matrix, work), memory_text(matrix));
}

std::string check_forecast(const plan::Matrix& matrix, std::int32_t steps, std::int32_t numerics_steps) {
  std::int64_t ranks = 0;
  for (const plan::Cell& cell : matrix.cells) ranks += cell.plan.config.parallel.world_size();
  const std::string numerics = numerics_steps == 0
                                   ? "none: no losses are computed"
                                   : fmt::format(
                                         "losses of {} steps of each cell, on a model that is shrunk where it is too "
                                         "large",
                                         numerics_steps);
  return fmt::format(
      "cells     {}, {} ranks together\nprograms  {} steps of each rank are recorded and proved; none is run\nnumerics "
      " "
      "{}\ntime      not known before\ndisk      nothing is written\nNothing was checked.\n",
      matrix.cells.size(), ranks, steps, numerics);
}

}  // namespace underlap::bench
