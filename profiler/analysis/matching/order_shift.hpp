// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace underlap::analysis {

/// One of the collectives of a communicator, in the order of one rank.
struct OrderedCollective {
  std::string what;         ///< equal for all members: its operations and sizes
  std::int64_t end_ns = 0;  ///< on the rank's clock
};

/// A shift, and the median absolute deviation of the distances between ends at this shift.
struct OrderShift {
  std::ptrdiff_t places = 0;
  double spread_ns = 0;
};

/// The shift between the orders of two ranks: position i of `a` and position i + shift of `b` are one
/// collective. All members end a collective together, so with the right shift all ends are equally far apart.
/// 0 if both orders are equally long and that explains the ends about as well as any other shift. Otherwise, of shifts
/// that explain the ends about equally well, the one at which the clocks agree by far the best.
///
/// nullopt if no shift of at most 500 positions makes the operations equal over at least three positions and half of
/// the shorter order; if the ends are over 1 ms apart at the best shift; or if several shifts remain.
///
/// Fails when every collective of the trace is alike and ends at regular times, as nothing then shows the shift.
std::optional<OrderShift> shift_between(std::span<const OrderedCollective> a, std::span<const OrderedCollective> b);

}  // namespace underlap::analysis
