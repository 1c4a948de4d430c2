// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "impl/device/program.hpp"

namespace underlap {

/// The commands of `program`, by index and in order, at which all its work is ordered. Among the commands that
/// `is_work` marks, those enqueued before such a point have ended when it starts, and those enqueued after it start
/// after it has ended. So all work between two points runs between them.
///
/// `is_work`  by command
///
/// Streams run in order, and waits and throttles hold. If the host waits, all later enqueued work waits as well. Orders
/// that result only from a peer's reply are not considered. Throws std::invalid_argument if a program waits for a later
/// command. O(commands * streams).
std::vector<std::uint32_t> serial_points(const Program& program, const std::vector<bool>& is_work);

}  // namespace underlap
