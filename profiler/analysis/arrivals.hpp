// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

/// The rate at which one clock runs away from another, parts per million, with a 95 % interval.
struct ClockDrift {
  double ppm = 0, low_ppm = 0, high_ppm = 0;
};

/// The offset of one rank's clock from another rank's clock, as an interval in nanoseconds; positive where it is fast.
///
/// From collectives: the central 95 % of the differences of their ends, or all differences if there are fewer than 40
/// collectives. A drift of the clocks widens the interval. From messages, if the two ranks share no collective: no
/// message arrives before it was sent.
struct ClockOffset {
  std::int64_t low_ns = 0;
  std::int64_t high_ns = 0;
  std::int64_t count = 0;       ///< of collectives, or messages
  bool agrees_as_read = false;  ///< the ends of the only collective coincide to 10 us without any offset
  std::optional<ClockDrift> drift{};

  std::int64_t width_ns() const;
  /// One collective fits any offset, unless the clocks agree as they are.
  bool is_known() const { return count > 1 || agrees_as_read; }
};

/// How the clocks of a trace's ranks lie to one another.
struct ClockAlignment {
  std::map<std::int32_t, std::int64_t> offset_ns;  ///< by rank: subtract it from the rank's times
  /// How far clocks may still be apart: 0 on one clock; else the largest distance of an end from the median end of its
  /// collective that alignment leaves, which holds the lateness of threads too. nullopt: neither is known.
  std::optional<std::int64_t> residual_ns;
  /// The same distance on one clock, where all of it is threads that learn late that their collective has ended.
  std::optional<std::int64_t> lateness_ns;
  bool is_one_clock = false;  ///< all ranks read the same clock
  /// By pair of ranks, the lower one first, of the second against the first; none on one clock. Members of a collective
  /// of more than eight are paired with its first one only. Each interval contains the offset that is used.
  std::map<std::pair<std::int32_t, std::int32_t>, ClockOffset> pairs;

  /// By how much times of two ranks may be wrong against each other: 0 on one clock; nullopt where the offset is not
  /// known. Ranks without a collective in common are compared over the ranks between.
  std::optional<std::int64_t> uncertainty_ns(std::int32_t, std::int32_t) const;

  /// The rank on whose clock each rank's was put; its own for the first of those that can be compared.
  std::map<std::int32_t, std::int32_t> aligned_to;
};

/// Aligns the ranks' clocks on the ends of all-reduces, all-gathers and reduce-scatters. Nobody leaves these before all
/// have arrived, and they end at about one time for all members. Collectives with a missing member are skipped.
///
/// Ranks that read one clock keep it (offset 0): ranks whose clock snapshots show this, and ranks of a backend with
/// virtual time. Other ranks get the median difference of ends to a rank that is already aligned, starting with the
/// lowest. Without such a collective their offset is 0. Offsets are also 0 if they bring the ends less than twice as
/// close as the uncorrected clocks: such a correction is within its own residual.
/// Fails when most ends of one rank are recorded late: its offset then contains that lateness.
ClockAlignment align_clocks(const Trace&);

/// Sets the last arrival of collectives that have none: the latest start among the members, on each rank's own clock.
/// Skips sends, receives, and collectives with a missing member or an unknown clock offset. A wait below the
/// alignment's residual is not resolved.
void find_arrivals(Trace&, const ClockAlignment&);

// Ranks that exchange no arrival stamps, as those of NCCL, learn from each other's starts when the last one came.

/// Whether the last arrival of any communication is unknown.
bool lacks_arrivals(const Trace& trace);

/// The part of a rank's trace that is needed to find them: its communications without a last arrival, and its clock.
Trace open_part(const Trace& trace);

/// The last arrivals of such parts, one of each rank of a cell: for each of a part's slices, in their order, on its
/// rank's clock; -1 where there is none.
std::vector<std::vector<std::int64_t>> last_arrivals(std::span<const Trace> parts);

/// Sets them in the trace that the part was taken from. Throws std::invalid_argument for another number of them.
void set_arrivals(Trace& trace, std::span<const std::int64_t> last_arrivals_ns);

}  // namespace underlap::analysis
