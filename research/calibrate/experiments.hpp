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

/// What experiments have at hand.
struct Calibration {
  Gpu& gpu;
  const sim::Hardware& base;
  int samples = 31;
  Measurements& out;
  /// Divides every size, so that an experiment can be tried out in moments. Its figures then mean nothing.
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

/// The one that compares the emulated link with NCCL. It needs a process of its own, which loads all kernels when it
/// starts, and runs only if it is the only one named.
inline constexpr std::string_view kLinkValidation = "link_validation";

/// All experiments that one process can do, most valuable first, and link_validation last.
std::span<const Experiment> experiments();

/// Runs those named in `only`, or all but link_validation if it is empty. One that throws is skipped with its reason.
/// Throws std::invalid_argument for a name that does not exist, and for link_validation among others.
void run_experiments(Calibration& calibration, const std::vector<std::string>& only,
                     const std::function<void(std::string_view)>& progress);

/// CUDA_DEVICE_MAX_CONNECTIONS of the processes that queues are probed in, each in one of its own.
inline constexpr int kConnections[] = {1, 8, 32};

/// What holds up what in a process of so many connections.
std::vector<std::pair<sim::QueueObservation, int>> probe_queues(Gpu& gpu, int connections, int samples);

/// What the observations say to sim's assumption (impl/device/sim/rank_queues.hpp): a line for each that differs, or
/// one that says that none does.
std::vector<std::string> judge_queues(std::span<const std::pair<sim::QueueObservation, int>> seen);

/// Runs `probe` once for each of kConnections, reads its lines, and adds them to `out`.
void probe_all_queues(Measurements& out, const std::function<std::string(int connections)>& probe);

}  // namespace underlap::bench
