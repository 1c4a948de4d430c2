// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "impl/device/recording_device.hpp"

namespace underlap {

/// How long a command takes when nothing runs beside it, in nanoseconds.
using DurationOf = std::function<std::int64_t(const ProgramCommand&)>;

/// What the edges of a program force.
struct Makespan {
  std::int64_t step_ns = 0;     ///< end of the stream that was marked last
  std::int64_t waiting_ns = 0;  ///< that stream's time without work: communication that this schedule must expose
};

/// The least time that a program can take from an idle device: streams run in order, waits hold, every command takes
/// its duration alone, and no two commands slow each other down. Peers are taken to be where this rank is.
///
/// The program ends at its last mark; throws std::invalid_argument where it has none, or waits for what comes later.
Makespan makespan(const Program& program, const DurationOf& duration_of);

}  // namespace underlap
