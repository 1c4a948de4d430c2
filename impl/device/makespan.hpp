// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "impl/device/program.hpp"

namespace underlap {

/// How long a command fills one link of its rank, outward and inward: bytes over rate, without latency. The two
/// directions are independent.
struct LinkTime {
  std::int64_t send_ns = 0;
  std::int64_t receive_ns = 0;
};

/// The duration of a command when nothing else runs, in nanoseconds.
struct CommandTime {
  std::int64_t alone_ns = 0;   ///< from its start, with all partners present, to its end; at least as large as the
                               ///< other times
  std::int64_t device_ns = 0;  ///< time that it needs of its rank's whole compute: less than alone_ns if it uses only a
                               ///< part
  std::array<LinkTime, 2> links{};  ///< for each link of a rank, for example to its node and to the network; one is
                                    ///< enough
};

/// The time of a command of one of the programs. Called once for each launch, upload and communicate.
using TimeOf = std::function<CommandTime(std::size_t program, const ProgramCommand&)>;

/// Lower bounds on the duration of a step, on any device.
struct StepBounds {
  std::int64_t schedule_ns = 0;  ///< for the order given by these programs
  std::int64_t ideal_ns = 0;     ///< for any schedule of the same work; at most schedule_ns
};

/// The bounds for ranks' programs that run together, step after step. For each rank the bound is from its own start to
/// its own last mark, on any path through the other ranks; the result is the largest. Ranks need not start at the same
/// moment.
///
/// schedule_ns: Streams run in order, and waits and throttles hold. If the host waits for the device, all later
/// enqueued work waits as well. Every command takes its time alone. An exchange between ranks starts when the last of
/// them has come. A rank's compute and each direction of its links serve one command at a time. Programs do not decide
/// this order, and a device that takes turns or prefers urgent commands can beat any fixed rule, such as readiness. So
/// only the common part of all orders counts (one_machine_bound_ns), and the result is a lower bound for all of them:
/// the longer of the longest path and the bounds of each rank's compute and link directions. If streams and waits fully
/// order the work of each rank's compute and links, nothing is left to choose, and the bound is the makespan.
///
/// ideal_ns: the most that one rank computes, or that one direction of one link carries, with everything else
/// concurrent. Each is the same one_machine_bound_ns with all waits dropped, hence never above schedule_ns.
///
/// Commands that no last mark waits for belong to the next step and are not counted. The host costs nothing. The
/// program of one rank alone represents a rank of a symmetric group: peers without a program are assumed to be at the
/// same place. Throws std::invalid_argument if a program has no mark or waits for a later command, if ranks wait for
/// each other in a circle, or if a call has no partner.
StepBounds step_bounds(std::span<const Program> programs, const TimeOf& time_of);

}  // namespace underlap
