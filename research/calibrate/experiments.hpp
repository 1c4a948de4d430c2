// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "research/calibrate/gpu.hpp"
#include "research/calibrate/measurements.hpp"

namespace underlap::bench {

/// The environment of experiments.
struct Calibration {
  Gpu& gpu;
  const sim::Hardware& base;
  int samples = 31;
  Measurements& out;
  /// Divides every size, to try out an experiment quickly. Its figures are then meaningless.
  std::int64_t shrink = 1;

  /// `value` shrunk, a multiple of 16 and at least 16.
  std::int64_t size(std::int64_t value) const {
    return shrink == 1 ? value : std::max(value / shrink / 16 * 16, std::int64_t{16});
  }
};

struct Experiment {
  std::string_view name;
  std::string_view about;
  void (*run)(Calibration&);
};

/// Compares the emulated link with NCCL. Needs a separate process, which loads all kernels at its start, and runs only
/// if it is the only experiment named.
inline constexpr std::string_view kLinkValidation = "link_validation";

/// All experiments that one process can run, most valuable first, and link_validation last.
std::span<const Experiment> experiments();

/// Runs the experiments in `only`, or all but link_validation if it is empty. An experiment that throws is skipped with
/// its reason. Throws std::invalid_argument for a name that does not exist, and for link_validation among others.
void run_experiments(Calibration& calibration, const std::vector<std::string>& only,
                     const std::function<void(std::string_view)>& progress);

/// CUDA_DEVICE_MAX_CONNECTIONS of the processes that probe queues, one process for each value.
inline constexpr int kConnections[] = {1, 8, 32};

/// Which work holds up which, in a process with `connections` connections.
std::vector<std::pair<sim::QueueObservation, int>> probe_queues(Gpu& gpu, int connections, int samples);

/// Compares the observations with sim's assumption (impl/device/sim/rank_queues.hpp): one line for each that differs,
/// or one line if all agree.
std::vector<std::string> judge_queues(std::span<const std::pair<sim::QueueObservation, int>> seen);

/// Runs `probe` once for each of kConnections, reads its lines, and adds them to `out`.
void probe_all_queues(Measurements& out, const std::function<std::string(int connections)>& probe);

}  // namespace underlap::bench
