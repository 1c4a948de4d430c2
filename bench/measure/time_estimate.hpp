// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace underlap::plan {
struct Config;
}

namespace underlap::bench {

/// Seconds that a step of all ranks of `config` takes on the cores of this machine (backend host), estimated: each kind
/// of operation of rank 0 is run here and now, on zeros, as long as `budget` lasts; those left are as fast as those
/// that were run. Ranks share the cores, and transfers take the paced link's time or none, whichever is longer.
/// Fails when other programs use the cores here or later: the estimate is then too long or too short.
double host_step_seconds(const plan::Config& config, std::chrono::nanoseconds budget = std::chrono::milliseconds(500));

/// What recording rank 0's step costs here and now: what is played or proved later costs a multiple of it.
struct RecordingCost {
  double seconds = 0;      ///< for one step
  std::int64_t bytes = 0;  ///< that the step takes
};
RecordingCost recording_cost(const plan::Config& config);

}  // namespace underlap::bench
