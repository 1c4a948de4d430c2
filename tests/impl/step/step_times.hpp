// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <omp.h>

#include "impl/plan/config.hpp"
#include "impl/step/simulation.hpp"
#include "tests/impl/step/training.hpp"
#include "tests/impl/virtual_time.hpp"

namespace underlap::testing_support {

/// Compute takes a nanosecond for each byte that it moves, the wire `ns_per_byte` for each byte of the message; nothing
/// slows anything else down.
class StepTimes final : public UnsharedTimes {
 public:
  explicit StepTimes(double ns_per_byte) : ns_per_byte_(ns_per_byte) {}

  sim::KernelTime kernel(const Cost& cost) const override {
    return {.kind = sim::KernelTime::Kind::persistent,
            .alone_ns = static_cast<double>(cost.bytes_read + cost.bytes_written),
            .sms = 1};
  }
  sim::KernelTime copy(std::int64_t bytes) const override {
    return {.kind = sim::KernelTime::Kind::copy, .alone_ns = static_cast<double>(bytes)};
  }
  sim::TransferTime transfers(std::span<const sim::TransferShape> group, std::span<const std::int32_t> members,
                              const CommunicatorHints&) const override {
    sim::TransferTime time;
    if (members.size() < 2) return time;
    for (const sim::TransferShape& shape : group) time.alone_ns += ns_per_byte_ * static_cast<double>(shape.bytes);
    return time;
  }

 private:
  double ns_per_byte_;
};

/// Two steps in virtual time, without values.
inline Trace simulated_trace(const plan::Config& config, double ns_per_byte) {
  const auto data = model::TextData::open({}, config.model.seq_length, config.run.seed);
  const StepTimes times(ns_per_byte);
  return Simulation(config, data, times).play(0, 2);
}

/// Mean losses by step, in virtual time: what is read before it is there gives NaN.
inline std::vector<double> simulated_losses(plan::Config config, double ns_per_byte, std::int32_t steps) {
  omp_set_num_threads(1);
  config.run.numerics = true;
  const auto data = model::TextData::open(config.train.data, config.model.seq_length, config.run.seed);
  const StepTimes times(ns_per_byte);
  Simulation simulation(config, data, times);
  simulation.play(0, steps);
  EXPECT_EQ(simulation.memory()->num_conflicts(), 0);
  const auto losses = simulation.take_losses();
  if (config.parallel.pipeline_model_parallel_size > 1)
    EXPECT_EQ(std::ssize(losses), config.parallel.stage_size()) << "the last stage's ranks find losses";
  return mean_losses(losses);
}

}  // namespace underlap::testing_support
