// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "impl/device/program.hpp"

namespace underlap {

/// How long a command takes when nothing runs beside it, in nanoseconds.
using DurationOf = std::function<std::int64_t(const ProgramCommand&)>;

/// The least time that a program can take from an idle device: streams run in order, waits hold, every command takes
/// its duration alone, and no two commands slow each other down. Peers are taken to be where this rank is.
/// Communicators do not share a link here, which leaves the result a lower bound where they do.
///
/// The program ends at its last mark. In nanoseconds. Throws std::invalid_argument where it has none, or waits for what
/// comes later.
std::int64_t makespan_ns(const Program& program, const DurationOf& duration_of);

}  // namespace underlap
