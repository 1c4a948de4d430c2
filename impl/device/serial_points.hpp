// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "impl/device/program.hpp"

namespace underlap {

/// The commands of `program`, by index and in order, that its work cannot get round: of the commands that `is_work`
/// marks, those enqueued before such a point have ended when it starts, and those enqueued after it start when it has
/// ended. So the work between two points is all done between them.
///
/// `is_work`  by command
///
/// Streams run in order, waits and throttles hold, and what the host waits for holds up all that it enqueues later.
/// Orders that only a peer's reply makes are not seen. Throws std::invalid_argument where a program waits for what
/// comes later. O(commands * streams).
std::vector<std::uint32_t> serial_points(const Program& program, const std::vector<bool>& is_work);

}  // namespace underlap
