// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "profiler/analysis/windows.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

/// Why a device had nothing to do, as far as the trace proves it; in the order in which they are looked for.
enum class IdleCause : std::uint8_t {
  launch,    ///< the call that enqueued what ran next had not ended, or had for no longer than a launch takes
  wait,      ///< a stream waited for an event or a peer, as the trace shows by a slice of its own
  pipeline,  ///< the next work receives from another stage of the pipeline, and had been enqueued
  not_known  ///< the trace shows none of these
};
inline constexpr std::size_t kNumIdleCauses = static_cast<std::size_t>(IdleCause::not_known) + 1;

/// "launch", ...
std::string_view to_string(IdleCause);

/// The idle time of windows by cause; sums to the windows' idle_ns exactly.
struct IdleTime {
  std::array<std::int64_t, kNumIdleCauses> ns{};
  std::int64_t gaps = 0;            ///< stretches of idle time
  std::int64_t gaps_with_call = 0;  ///< of them, whose next work has a known launch

  std::int64_t of(IdleCause cause) const { return ns[static_cast<std::size_t>(cause)]; }
  std::int64_t total_ns() const {
    std::int64_t sum = 0;
    for (const std::int64_t part : ns) sum += part;
    return sum;
  }
  friend bool operator==(const IdleTime&, const IdleTime&) = default;
};

/// The longest time from the end of a launch to the start of its work on an idle device that still counts as launch.
/// A launch takes 2 to 10 us on the data center GPUs of this decade; twice that leaves room for a slow host.
inline constexpr std::int64_t kLongestLaunchNs = 20'000;

/// The idle time of each rank's `windows` by cause. Windows of one rank do not overlap. In n log n.
///
/// A gap ends where some work starts; of several that start at once, the one launched last counts. Where its call ended
/// after the gap began, the gap is launch until then, and all of it where the work began within kLongestLaunchNs of
/// that. The rest is wait where a Kind::none slice of one of the rank's streams runs, else pipeline where the work
/// receives in mode pp, else not known. A gap of which no launch is known has no launch time.
std::map<std::int32_t, IdleTime> find_idle_causes(const Trace&, std::span<const Window> windows);

}  // namespace underlap::analysis
