// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/fields/field_wrappers.hpp"
#include "profiler/analysis/communications.hpp"
#include "profiler/analysis/windows.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

/// Why a rank came late to a communication, against a peer that came in time; since both last met.
enum class LateCause : std::uint8_t {
  longer_kernels,        ///< the same kernels took longer
  more_kernels,          ///< it ran kernels that its peer did not
  longer_communication,  ///< its own communication transferred for longer
  longer_copies,         ///< copies and memsets
  late_launch,           ///< its device idled, and the call that launched the communication came after the peer's start
  longer_idle,           ///< its device idled; why is not known
  longer_wait,           ///< it waited for a peer in a communication whose own cause is not known
  pipeline,              ///< the other stage of a pipeline had not come so far: its schedule, and no fault
  transfer,              ///< of a wait: the late rank was in an earlier transfer, so no rank is at fault
  unresolved             ///< the lateness is within the uncertainty of the clocks, or a clock offset is unknown
};

/// "longer_kernels", ...
std::string_view to_string(LateCause);
constexpr LateCause last_value(LateCause) { return LateCause::unresolved; }

/// The cause as a clause about a rank: "whose kernels took longer", "which launched its work late", ...
std::string clause_of(LateCause);
/// The same where the rank was named before: "its kernels took longer", "it launched its work late", ...
std::string reason_of(LateCause);

/// The last member to arrive at one communication, how late it was, and why.
struct LateArrival {
  std::size_t match = 0;         ///< index into Matching::matches
  std::int32_t last_rank = 0;    ///< the rank that arrived last
  std::int64_t last_ns = 0;      ///< when, on the clock of all ranks
  std::int64_t first_ns = 0;     ///< when the first member arrived
  std::int64_t transfer_ns = 0;  ///< from the last arrival to the first end: the least that the transfer took
  std::int64_t waited_ns = 0;    ///< by all members together
  std::int32_t step = -1;        ///< -1: none
  LateCause own_cause = LateCause::unresolved;  ///< why the last rank was late, apart from its own waits
  LateCause cause = LateCause::unresolved;      ///< of most of the wait
  std::int32_t blamed_rank = -1;  ///< whose time caused most of the wait; -1 where unresolved or a transfer
  std::int64_t cause_ns = 0;      ///< how much longer that part of its time was
  NameId kernel = kNoName;        ///< with the largest difference, for longer_kernels and more_kernels
  std::int32_t hops = 0;          ///< waits in the chain; 0: the last rank itself is the cause
};

/// Wait and transfer of some communications, summed over their members. Nanoseconds.
struct WaitTotals {
  std::int64_t count = 0;                ///< members' slices with a known last arrival
  std::int64_t wait_ns = 0;              ///< before the last arrival
  std::int64_t exposed_wait_ns = 0;      ///< part of wait_ns without compute
  std::int64_t transfer_ns = 0;          ///< after it
  std::int64_t exposed_transfer_ns = 0;  ///< part of transfer_ns without compute
  std::int64_t unresolved_ns = 0;        ///< part of wait_ns in waits within the uncertainty of the clocks
  std::int64_t behind_transfer_ns = 0;   ///< part of wait_ns while the rank at the start of the chain was in a transfer
  std::map<std::int32_t, std::int64_t> wait_ns_by_last_rank;  ///< resolved wait by the rank that arrived last
  /// By the rank at the start of the chain; with behind_transfer_ns and unresolved_ns it sums to wait_ns.
  std::map<std::int32_t, std::int64_t> wait_ns_by_blamed_rank;
  std::map<LateCause, std::int64_t> wait_ns_by_cause;

  friend bool operator==(const WaitTotals&, const WaitTotals&) = default;
};

/// A rank for which others waited.
struct LateRank {
  std::int32_t rank = 0;
  std::int64_t wait_ns = 0;                 ///< that is blamed on it
  double share = 0;                         ///< of all such wait of all ranks, 0 to 1
  LateCause cause = LateCause::unresolved;  ///< of most of it
};

/// Its fields in JSON.
void visit_fields(fields::Is<LateRank> auto& late, auto&& field) {
  field("rank", late.rank);
  field("wait_us", static_cast<double>(late.wait_ns) / 1000.0);
  field("share", late.share);
  field("cause", late.cause);
}

/// Wait and transfer of a trace.
struct WaitReport {
  std::vector<LateArrival> arrivals;  ///< of every match, by last_ns
  WaitTotals total;
  std::map<std::int32_t, WaitTotals> ranks;  ///< by the rank that waits
  std::map<std::string, WaitTotals> modes;   ///< "dp", ..., "unattributed"
  std::map<std::int32_t, WaitTotals> steps;  ///< -1: outside any
  std::int64_t least_transfer_ns = 0;        ///< sum of LateArrival::transfer_ns
  std::optional<std::int64_t> residual_ns;   ///< ClockAlignment::residual_ns
  /// Resolved waits that are not the schedule of a pipeline, by the blamed rank and the cause; rank -1: transfers.
  std::map<std::int32_t, std::map<LateCause, std::int64_t>> blamed;

  /// The rank on which most of the waiting is blamed that is not the schedule of a pipeline; nullopt where there is
  /// none.
  std::optional<LateRank> late_rank() const;
};

/// Finds the last member of each matched communication, and charges each nanosecond of the others' wait to a rank or a
/// transfer.
///
/// The activity of the last rank at that moment decides. Compute, copies and idle time are charged to that rank, and a
/// transfer to the transfer. If that rank waited itself, the activity of the rank that it waited for decides, and so
/// on. Waits within the uncertainty of the two ranks' clocks are unresolved. The parts sum to the wait.
///
/// Why a rank was late: it is compared with the median of the other members, or with the first if the median is not
/// clearly earlier. The comparison starts at the end of the last communication of both, or at the first work of either.
/// The part of its time with the largest increase is the cause. These parts are compute, other communication, copies
/// and idle; with the wait their differences sum to the lateness. Fails when several grew alike: only one is named.
/// The trace comes from match_and_align. `steps`: windows of its ranks, which group waits whose tags name no step. If
/// it is empty, the windows come from the trace's marks.
WaitReport find_waits(const Trace&, const Communications&, std::span<const Window> steps = {});

}  // namespace underlap::analysis
