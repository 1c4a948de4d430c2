// SPDX-License-Identifier: Apache-2.0
#include "bench/ranks/sim_session.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <new>

#include "impl/device/sim/machine.hpp"
#include "impl/step/simulation.hpp"
#include "platform/memory_room.hpp"

namespace underlap::bench {

namespace {

model::TextData data_of(const plan::Config& config) {
  if (!config.run.reads_values()) return model::TextData::unread(config.model.seq_length);
  return model::TextData::open(config.train.data, config.model.seq_length, config.run.seed);
}

}  // namespace

struct SimSession::CellState {
  CellState(const plan::Config& config, std::int32_t first_step)
      : data(data_of(config)), time(sim::make_time_model(config)), simulation(config, data, *time, first_step) {}

  model::TextData data;
  std::unique_ptr<sim::TimeModel> time;
  Simulation simulation;
};

namespace {

// Returns the result of `work`. If memory runs out, throws MachineError with `what` as the context.
auto where_memory_may_run_out(const std::string& what, const auto& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    throw MachineError(out_of_memory(what));
  }
}

}  // namespace

// Builds each cell once, so that a cell that cannot be built is reported before anything runs.
SimSession::SimSession(std::span<const plan::Cell> cells, std::int32_t first_step) {
  omp_set_num_threads(1);  // one operation at a time, each summed in the order that a rank's own core would take
  for (const plan::Cell& cell : cells) cells_.push_back({.plan = &cell, .next_step = first_step, .state = {}});
  for (Cell& cell : cells_) resident(cell);
}

SimSession::~SimSession() = default;

SimSession::CellState& SimSession::resident(Cell& cell) {
  if (cell.state) return *cell.state;
  for (Cell& other : cells_) let_go(other);
  where_memory_may_run_out(fmt::format("the ranks of cell {} were set up", cell.plan->name),
                           [&] { cell.state = std::make_unique<CellState>(cell.plan->plan.config, cell.next_step); });
  return *cell.state;
}

void SimSession::let_go(Cell& cell) {
  if (!cell.state || cell.plan->plan.config.run.numerics) return;
  cell.next_step = cell.state->simulation.next_step();
  cell.now_ns += cell.state->simulation.engine().now_ns();
  cell.state.reset();
}

report::BlockRun SimSession::run(std::size_t index, std::int32_t block, std::int64_t steps) {
  Cell& cell = cells_[index];
  report::BlockRun result;
  result.num_steps = static_cast<std::int32_t>(steps);
  last_trace_ = {};
  result.first_step = cell.state ? cell.state->simulation.next_step() : cell.next_step;
  if (steps == 0) return result;
  Simulation& simulation = resident(cell).simulation;
  last_trace_ = where_memory_may_run_out(fmt::format("{} steps of cell {} were simulated", steps, cell.plan->name),
                                         [&] { return simulation.play(block, steps); });
  last_trace_.shift(cell.now_ns);
  result.losses = simulation.take_losses();
  const std::string& unfolded = simulation.folding().reason;
  if (!unfolded.empty()) result.notes.push_back("run.fold: " + unfolded);
  for (const Track& track : last_trace_.tracks)
    if (track.stream == 0) last_trace_.clocks.push_back({.rank = track.rank, .device_ns = 0, .unix_ns = 0});
  result.figures = figures_of(last_trace_, *cell.plan, block);
  return result;
}

}  // namespace underlap::bench
