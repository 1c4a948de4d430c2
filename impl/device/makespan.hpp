// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "impl/device/program.hpp"

namespace underlap {

/// How long a command fills one link of its rank, outwards and inwards: bytes over rate, latency not in it. The two
/// directions do not disturb each other.
struct LinkTime {
  std::int64_t send_ns = 0;
  std::int64_t receive_ns = 0;
};

/// What a command takes when nothing runs beside it, in nanoseconds.
struct CommandTime {
  std::int64_t alone_ns = 0;   ///< from its start, all partners being there, to its end; no other figure is above it
  std::int64_t device_ns = 0;  ///< what it needs of its rank's whole compute: less than alone_ns where it leaves some
  std::array<LinkTime, 2> links{};  ///< of a rank's links, say to its node and to the network; one is enough
};

/// The time of a command of one of the programs. Called once for each launch, upload and communicate.
using TimeOf = std::function<CommandTime(std::size_t program, const ProgramCommand&)>;

/// The least time of a step, whatever runs it.
struct StepBounds {
  std::int64_t schedule_ns = 0;  ///< by these programs' edges
  std::int64_t ideal_ns = 0;     ///< by any schedule of the same work; never above schedule_ns
};

/// The bounds of ranks' programs run together, step after step: of each rank from its own start to its own last
/// mark, by whatever path through the other ranks, and of these the largest. Ranks need not begin at the same moment.
///
/// schedule_ns: streams run in order, waits and throttles hold, and where the host waits for the device so does all
/// that it enqueues later; every command takes its time alone, what several ranks exchange begins when the last of them
/// has come. A rank's compute and each direction of its links serve one command at a time. In which order is not for
/// the programs to say, and each fixed rule (as they become ready, say) can be beaten by a device that takes turns or
/// prefers the urgent; so what is counted is what every order has in common (one_machine_bound_ns), and the result is a
/// lower bound for all of them: the longer of the longest path and the bounds of each rank's compute and link
/// directions. Where streams and waits order all that a rank's compute and each of its links are given, nothing is left
/// to choose, and it is the makespan.
///
/// ideal_ns: the most that one rank computes, or that one direction of one link carries, with everything else beside
/// it. Each stands in the same one_machine_bound_ns with all its waits dropped, hence never above schedule_ns.
///
/// Commands that no last mark waits for are the next step's and not counted. The host costs nothing.
/// One rank's program alone stands for a rank of a symmetric group: peers without a program are where it is.
/// Throws std::invalid_argument where a program has no mark, waits for what comes later, where ranks wait for each
/// other in a circle, or where a call has no partner.
StepBounds step_bounds(std::span<const Program> programs, const TimeOf& time_of);

}  // namespace underlap
