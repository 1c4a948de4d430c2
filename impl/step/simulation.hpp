// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "impl/device/sim/engine.hpp"
#include "impl/step/folding.hpp"
#include "impl/step/trainer.hpp"

namespace underlap {

/// Simulates all ranks of a configuration in virtual time, or with run.fold only representative ranks (fold_ranks).
/// Initial weights are there when the first step begins, on all ranks at once. Ranks are recorded step by step as the
/// engine needs them, so memory holds only the steps in flight. run.numerics, run.no_comm, run.trace, run.jitter_pct,
/// run.seed and environment.cuda_device_max_connections control the simulation.
class Simulation {
 public:
  /// `data` and `time` outlive this; steps are counted from `first_step`.
  /// Throws std::invalid_argument where the ranks need more memory than there is.
  Simulation(const plan::Config& config, const model::TextData& data, const sim::TimeModel& time,
             std::int32_t first_step = 0);
  /// The same with another choice of representative ranks.
  Simulation(const plan::Config& config, const model::TextData& data, const sim::TimeModel& time,
             std::int32_t first_step, Folding folding);
  ~Simulation();

  /// Plays the next `steps` steps of all simulated ranks, back to back, to their end. Returns their slices and marks.
  /// Throws as sim::Engine::play() does.
  Trace play(std::int32_t block, std::int64_t steps);

  /// The same without the slices that end in the first step, which bounds no window.
  Trace play_windows(std::int32_t block, std::int64_t steps);

  /// Losses since the last call, by rank that finds any and step, in nats a token; empty without numerics.
  std::vector<std::vector<double>> take_losses();

  std::int32_t next_step() const;
  const sim::Engine& engine() const { return *engine_; }
  /// Without numerics null.
  const sim::VirtualMemory* memory() const { return memory_.get(); }
  const Folding& folding() const { return folding_; }
  /// Of a simulated rank, by its place among them.
  const dp::Buffers& buffers(std::int32_t rank) const;

 private:
  struct Rank;
  void add_rank(const plan::Config& config, const model::TextData& data, std::int32_t rank, std::int32_t first_step);
  void check_memory(const plan::Config& config, double bytes_of_rank) const;
  double bytes_of_first_rank(const plan::Config& config) const;
  void begin();

  Folding folding_;
  std::unique_ptr<sim::VirtualMemory> memory_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::unique_ptr<sim::Engine> engine_;
};

}  // namespace underlap
