// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "impl/device/sim/engine.hpp"

namespace underlap::testing_support {

/// How many conflicting uses are in flight at once where `programs` are played in virtual time with their durations
/// jittered, each by up to itself.
inline std::int64_t conflicts_in_virtual_time(const std::vector<Program>& programs, const sim::TimeModel& times,
                                              std::uint64_t seed) {
  sim::VirtualMemory memory(programs.size());
  std::vector<sim::RankQueues::Source> sources;
  for (const Program& program : programs)
    sources.emplace_back([&program, done = false]() mutable -> std::optional<Program> {
      if (std::exchange(done, true)) return std::nullopt;
      return program;
    });
  sim::Engine engine(times, {.jitter = 1, .seed = seed, .records_slices = false, .memory = &memory},
                     std::move(sources));
  engine.play();
  return memory.num_conflicts();
}

}  // namespace underlap::testing_support
