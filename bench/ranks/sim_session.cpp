// SPDX-License-Identifier: Apache-2.0
#include "bench/ranks/sim_session.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <new>

#include "impl/device/sim/machine.hpp"
#include "impl/step/simulation.hpp"
#include "platform/errors.hpp"
#include "platform/room.hpp"

namespace underlap::bench {

struct SimSession::CellState {
  CellState(const plan::Config& config, std::int32_t first_step)
      : data(model::TextData::open(config.train.data, config.model.seq_length, config.run.seed)),
        time(sim::make_time_model(config)),
        simulation(config, data, *time, first_step) {}

  model::TextData data;
  std::unique_ptr<sim::TimeModel> time;
  Simulation simulation;
};

namespace {

// What `work` returns; memory that runs out is told with `what` went on.
auto where_memory_may_run_out(const std::string& what, const auto& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    throw MachineError(out_of_memory(what));
  }
}

}  // namespace

SimSession::SimSession(std::span<const plan::Cell> cells, std::int32_t first_step) : given_(cells) {
  omp_set_num_threads(1);  // one operation at a time, each summed in the order that a rank's own core would take
  for (const plan::Cell& cell : cells) {
    cells_.push_back(where_memory_may_run_out(fmt::format("the ranks of cell {} were set up", cell.name), [&] {
      return std::make_unique<CellState>(cell.plan.config, first_step);
    }));
  }
}

SimSession::~SimSession() = default;

report::BlockRun SimSession::run(std::size_t cell, std::int32_t block, std::int64_t steps) {
  Simulation& simulation = cells_[cell]->simulation;
  report::BlockRun result;
  result.first_step = simulation.next_step();
  result.num_steps = static_cast<std::int32_t>(steps);
  last_trace_ = {};
  last_trace_ = where_memory_may_run_out(fmt::format("{} steps of cell {} were played", steps, given_[cell].name),
                                         [&] { return simulation.play(block, steps); });
  result.losses = simulation.take_losses();
  const std::string& unfolded = simulation.folding().reason;
  if (!unfolded.empty()) result.notes.push_back("run.fold: " + unfolded);
  for (const Track& track : last_trace_.tracks)
    if (track.stream == 0) last_trace_.clocks.push_back({.rank = track.rank, .device_ns = 0, .unix_ns = 0});
  result.figures = figures_of(last_trace_, given_[cell], block);
  return result;
}

}  // namespace underlap::bench
