// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "impl/device/sim/hardware.hpp"
#include "impl/plan/config.hpp"

namespace underlap::bench {

/// The step of a running training, in virtual time on `hardware`, nanoseconds: the second of two, like in `underlap
/// run`. Throws as Simulation does. Thread-safe.
std::int64_t step_ns(const plan::Config& config, const sim::Hardware& hardware);

/// An approximation of the step at half the work or less: the first step of a training, which starts on idle devices,
/// with one rank for all that share a context (fold_nearly_alike()). If a step leaves communication to the next one, it
/// is the second.
std::int64_t nearly_step_ns(const plan::Config& config, const sim::Hardware& hardware);

/// The step's exposed communication by mode, mean over its ranks, nanoseconds.
struct StepExposure {
  std::int64_t step_ns = 0;
  std::int64_t comm_ns = 0;
  std::map<std::string, std::int64_t> exposed_ns = {};
};
StepExposure step_exposure(const plan::Config& config, const sim::Hardware& hardware);

/// Numbers of microbatches to simulate, to estimate a step with more: beyond `fewer`, each further microbatch takes the
/// same time. `more` 0: the step has so few microbatches that it is simulated as it is. Fails when later microbatches
/// take longer: the estimate is then too short.
struct Shortened {
  std::int64_t fewer = 0, more = 0;
};
Shortened shortened(const plan::Config& config);

/// `config` with `num` microbatches.
plan::Config with_microbatches(plan::Config config, std::int64_t num);

/// The step time, extrapolated from two shorter steps.
std::int64_t extrapolated(const plan::Config& config, std::int64_t fewer_ns, std::int64_t more_ns);

/// Lower bound on a step of `config`'s layout with any overlap settings, for schedules that do not split backward
/// passes. It is the busiest rank's compute, with whole GEMMs, without communication and with all SMs, and the passes
/// of one microbatch through a chunk of each other stage. For the last stage can start only after earlier stages have
/// processed the first microbatch, and the first stage ends only after later stages have processed the last one.
/// Layouts that differ only in virtual stages share this bound.
class LeastSteps {
 public:
  LeastSteps(const plan::Config& config, const sim::Hardware& hardware);

  /// The bound with `num_microbatches`, and each stage split into `virtual_stages` chunks.
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
