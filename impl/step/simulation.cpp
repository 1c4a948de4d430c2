// SPDX-License-Identifier: Apache-2.0
#include "impl/step/simulation.hpp"

#include <fmt/format.h>

#include <optional>
#include <stdexcept>
#include <utility>

#include "impl/device/sim/sim_device.hpp"
#include "impl/plan/config.hpp"
#include "impl/step/planned_trainer.hpp"
#include "platform/memory_room.hpp"

namespace underlap {

namespace {

// A layer and microbatch launches four GEMMs forward, their dgrads and their wgrads, and more.
double least_bytes_of_a_step(const plan::Config& config) {
  constexpr double kOfLayer = 12 * sizeof(ProgramCommand);
  const double layers = static_cast<double>(config.model.num_layers) / config.parallel.num_stages();
  return kOfLayer * layers * static_cast<double>(config.train.num_microbatches);
}

}  // namespace

struct Simulation::Rank {
  std::unique_ptr<sim::SimDevice> device;
  std::optional<PlannedTrainer> trainer;  // present; made after the device
  std::int32_t block = -1;
  std::int64_t num_steps_left = 0;  // of the play that is on

  // What its construction recorded, then a step at a time; nothing at the end of a play.
  std::optional<Program> next() {
    if (device->program().commands.empty()) {
      if (num_steps_left == 0) return std::nullopt;
      trainer.value()->step(block);
      --num_steps_left;
    }
    return device->take_program();
  }
};

Simulation::Simulation(const plan::Config& config, const model::TextData& data, const sim::TimeModel& time,
                       std::int32_t first_step)
    : Simulation(config, data, time, first_step, fold_ranks(config, time.gpus_per_node())) {}

Simulation::Simulation(const plan::Config& config, const model::TextData& data, const sim::TimeModel& time,
                       std::int32_t first_step, Folding folding)
    : folding_(std::move(folding)) {
  if (config.run.numerics) memory_ = std::make_unique<sim::VirtualMemory>(folding_.simulated.size());
  std::vector<sim::RankQueues::Source> sources;
  for (const std::int32_t r : folding_.simulated) {
    if (ranks_.empty()) check_memory(config, 0);
    add_rank(config, data, r, first_step);
    if (ranks_.size() == 1) check_memory(config, bytes_of_first_rank(config));
    sources.emplace_back([&rank = *ranks_.back()] { return rank.next(); });
  }
  const sim::EngineOptions options{.connections = config.environment.cuda_device_max_connections,
                                   .jitter = config.run.jitter_pct / 100,
                                   .seed = config.run.seed,
                                   .records_slices = config.run.trace,
                                   .simulated = folding_.simulated,
                                   .memory = memory_.get()};
  engine_ = std::make_unique<sim::Engine>(time, options, std::move(sources));
  begin();
}

Simulation::~Simulation() = default;

void Simulation::add_rank(const plan::Config& config, const model::TextData& data, std::int32_t r,
                          std::int32_t first_step) {
  Rank& rank = *ranks_.emplace_back(std::make_unique<Rank>());
  rank.device = std::make_unique<sim::SimDevice>(r, memory_.get());
  rank.trainer.emplace(*rank.device, config, r, data, first_step);
}

// The memory that a rank holds apart from its steps in flight.
double Simulation::bytes_of_first_rank(const plan::Config& config) const {
  const Program& program = ranks_.front()->device->program();
  auto bytes = static_cast<double>(program.bytes());
  if (config.run.numerics)
    for (const ProgramTensor& tensor : program.tensors)
      bytes += static_cast<double>(tensor.elements) * static_cast<double>(size_of(tensor.dtype));
  return bytes;
}

// All ranks have one step in flight.
void Simulation::check_memory(const plan::Config& config, double bytes_of_rank) const {
  const auto ranks = static_cast<double>(folding_.simulated.size());
  const double all = ranks * (bytes_of_rank + least_bytes_of_a_step(config));
  const Room room = memory_room();
  if (all <= static_cast<double>(room.amount)) return;
  throw std::invalid_argument(fmt::format(
      "{} simulated ranks need at least {}, but {} is available ({}): use fewer ranks, layers or microbatches{}", ranks,
      in_bytes(static_cast<std::int64_t>(all)), in_bytes(room.amount), room.bound,
      config.run.fold ? "" : ", or run.fold: true, where one rank represents all that do the same"));
}

// What ranks begin with they compute each for its own shard, and so in times of their own; steps begin on idle devices,
// at one moment, whether values are there or not.
void Simulation::begin() {
  if (!memory_)
    for (const auto& rank : ranks_) rank->device->take_program();
  engine_->play();
  engine_->take_trace();
}

Trace Simulation::play(std::int32_t block, std::int64_t steps) {
  for (const auto& rank : ranks_) {
    rank->block = block;
    rank->num_steps_left = steps;
  }
  engine_->play();
  return engine_->take_trace();
}

Trace Simulation::play_windows(std::int32_t block, std::int64_t steps) {
  engine_->leave_out_first_steps();
  return play(block, steps);
}

std::vector<std::vector<double>> Simulation::take_losses() {
  std::vector<std::vector<double>> losses;
  for (const auto& rank : ranks_) {
    std::vector<double> of_rank = rank->trainer->take_losses();
    if (memory_ && !of_rank.empty()) losses.push_back(std::move(of_rank));
  }
  return losses;
}

std::int32_t Simulation::next_step() const { return ranks_.front()->trainer.value()->next_step(); }

const dp::Buffers& Simulation::buffers(std::int32_t rank) const {
  return ranks_[static_cast<std::size_t>(rank)]->trainer.value()->buffers();
}

}  // namespace underlap
