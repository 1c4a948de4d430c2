// SPDX-License-Identifier: Apache-2.0
#include "bench/sim_session.hpp"

#include <numeric>
#include <optional>

#include "impl/device/sim/engine.hpp"
#include "impl/device/sim/machine.hpp"
#include "impl/device/sim/sim_device.hpp"
#include "impl/device/without_transfers.hpp"
#include "impl/step/trainer.hpp"

namespace underlap::bench {
namespace {

// One rank, and what it has still to record of the block that is played.
struct RankState {
  std::unique_ptr<sim::SimDevice> device;
  std::optional<WithoutTransfers> without_transfers;
  std::unique_ptr<Trainer> trainer;
  std::int32_t block = -1;
  std::int64_t num_steps_left = 0;
};

}  // namespace

struct SimSession::CellState {
  CellState(const plan::Cell& cell_, std::int32_t first_step);
  void add_rank(std::int32_t rank, std::int32_t first_step);
  // The next step of a rank, or nothing at the end of the block. What its construction recorded comes first.
  static std::optional<Program> next(RankState& rank);

  const plan::Cell& cell;
  model::TextData data;
  std::unique_ptr<sim::TimeModel> time;
  std::unique_ptr<sim::VirtualMemory> memory;
  std::vector<std::unique_ptr<RankState>> ranks;
  std::unique_ptr<sim::Engine> engine;
};

SimSession::CellState::CellState(const plan::Cell& cell_, std::int32_t first_step)
    : cell(cell_),
      data(model::TextData::open(cell.plan.config.train.data, cell.plan.config.model.seq_length,
                                 cell.plan.config.run.seed)),
      time(sim::make_time_model(cell.plan.config)) {
  const plan::Config& config = cell.plan.config;
  const std::int32_t world_size = config.parallel.world_size();
  if (config.run.numerics) memory = std::make_unique<sim::VirtualMemory>(static_cast<std::size_t>(world_size));
  std::vector<sim::RankQueues::Source> sources;
  for (std::int32_t r = 0; r < world_size; ++r) {
    add_rank(r, first_step);
    sources.emplace_back([&rank = *ranks.back()] { return next(rank); });
  }
  engine =
      std::make_unique<sim::Engine>(*time,
                                    sim::EngineOptions{.connections = config.environment.cuda_device_max_connections,
                                                       .jitter = config.run.jitter_pct / 100,
                                                       .seed = config.run.seed,
                                                       .records_slices = config.run.trace,
                                                       .memory = memory.get()},
                                    std::move(sources));
}

void SimSession::CellState::add_rank(std::int32_t r, std::int32_t first_step) {
  const plan::Config& config = cell.plan.config;
  RankState& rank = *ranks.emplace_back(std::make_unique<RankState>());
  rank.device = std::make_unique<sim::SimDevice>(r, memory.get());
  Device* device = rank.device.get();
  if (config.run.no_comm) device = &rank.without_transfers.emplace(*device);
  Group group{std::vector<std::int32_t>(static_cast<std::size_t>(config.parallel.data_parallel_size)), r};
  std::iota(group.members.begin(), group.members.end(), 0);
  rank.trainer = std::make_unique<Trainer>(*device, config, group, data, first_step);
}

std::optional<Program> SimSession::CellState::next(RankState& rank) {
  const bool has_more = !rank.device->program().commands.empty();
  if (!has_more && rank.num_steps_left == 0) return std::nullopt;
  if (!has_more) {
    rank.trainer->step(rank.block);
    --rank.num_steps_left;
  }
  return rank.device->take_program();
}

SimSession::SimSession(std::span<const plan::Cell> cells, std::int32_t first_step) {
  for (const plan::Cell& cell : cells) cells_.push_back(std::make_unique<CellState>(cell, first_step));
}

SimSession::~SimSession() = default;

BlockRun SimSession::run(std::size_t cell, std::int32_t block, std::int64_t steps) {
  CellState& state = *cells_[cell];
  BlockRun result;
  result.first_step = state.ranks.front()->trainer->next_step();
  result.num_steps = static_cast<std::int32_t>(steps);
  for (const auto& rank : state.ranks) {
    rank->block = block;
    rank->num_steps_left = steps;
  }
  state.engine->play();
  result.trace = state.engine->take_trace();
  for (std::size_t r = 0; r < state.ranks.size(); ++r) {
    result.trace.clocks.push_back({.rank = static_cast<std::int32_t>(r), .device_ns = 0, .unix_ns = 0});
    std::vector<double> losses = state.ranks[r]->trainer->take_losses();
    if (state.memory) result.losses.push_back(std::move(losses));
  }
  return result;
}

}  // namespace underlap::bench
