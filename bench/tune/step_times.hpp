// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "impl/device/sim/hardware.hpp"
#include "impl/plan/config.hpp"

namespace underlap::bench {

/// The step of a training in progress, in virtual time on `hardware`, nanoseconds: the second of two. It is what
/// `underlap run` gives. Throws as Simulation does. May be called by several threads at once.
std::int64_t step_ns(const plan::Config& config, const sim::Hardware& hardware);

/// A step that is near to it, at half of the work and less: the first of a training, which begins on idle devices, with
/// one rank for all that share a context (fold_nearly_alike()). Where a step leaves communication to the next one it is
/// the second.
std::int64_t nearly_step_ns(const plan::Config& config, const sim::Hardware& hardware);

/// The step's exposed communication by mode, mean over its ranks, nanoseconds.
struct StepExposure {
  std::int64_t step_ns = 0;
  std::int64_t comm_ns = 0;
  std::map<std::string, std::int64_t> exposed_ns = {};
};
StepExposure step_exposure(const plan::Config& config, const sim::Hardware& hardware);

/// How many microbatches a step is played with to estimate one with more of them: behind the fewer of the two numbers
/// each further microbatch takes as long. `more` 0: the step has so few that it is played as it is.
struct Shortened {
  std::int64_t fewer = 0, more = 0;
};
Shortened shortened(const plan::Config& config);

/// `config` with so many microbatches.
plan::Config with_microbatches(plan::Config config, std::int64_t num);

/// The step by two shorter ones.
std::int64_t extrapolated(const plan::Config& config, std::int64_t fewer_ns, std::int64_t more_ns);

/// No overlap setting makes a step of `config`'s layout shorter, with any schedule that does not split backward passes:
/// what the busiest rank computes, with whole GEMMs, nothing sent and no margin of SMs left, and the passes of one
/// microbatch through a chunk of each other stage. For the last stage can begin only when those before it have taken
/// the first microbatch, and the first stage ends only when those behind it have taken the last one. Layouts that
/// differ in virtual stages alone share it.
class LeastSteps {
 public:
  LeastSteps(const plan::Config& config, const sim::Hardware& hardware);

  /// With so many microbatches, and each stage cut into so many chunks.
  std::int64_t ns(std::int64_t num_microbatches, std::int64_t virtual_stages) const;

 private:
  struct Stage {
    std::int64_t first_ns = 0;    // on the device, with one microbatch
    std::int64_t of_more_ns = 0;  // with each further one
  };
  std::vector<Stage> stages_;
  std::int64_t of_others_ns_ = 0;  // the passes of a microbatch through all stages but the busiest
};

}  // namespace underlap::bench
