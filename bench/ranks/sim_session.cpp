// SPDX-License-Identifier: Apache-2.0
#include "bench/ranks/sim_session.hpp"

#include <omp.h>

#include "impl/device/sim/machine.hpp"
#include "impl/step/simulation.hpp"

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

SimSession::SimSession(std::span<const plan::Cell> cells, std::int32_t first_step) {
  omp_set_num_threads(1);  // one operation at a time, each summed in the order that a rank's own core would take
  for (const plan::Cell& cell : cells) cells_.push_back(std::make_unique<CellState>(cell.plan.config, first_step));
}

SimSession::~SimSession() = default;

report::BlockRun SimSession::run(std::size_t cell, std::int32_t block, std::int64_t steps) {
  Simulation& simulation = cells_[cell]->simulation;
  report::BlockRun result;
  result.first_step = simulation.next_step();
  result.num_steps = static_cast<std::int32_t>(steps);
  result.trace = simulation.play(block, steps);
  result.losses = simulation.take_losses();
  const std::string& unfolded = simulation.folding().reason;
  if (!unfolded.empty()) result.notes.push_back("run.fold: " + unfolded);
  for (const Track& track : result.trace.tracks)
    if (track.stream == 0) result.trace.clocks.push_back({.rank = track.rank, .device_ns = 0, .unix_ns = 0});
  return result;
}

}  // namespace underlap::bench
