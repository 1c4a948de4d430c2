// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "profiler/analysis/windows.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

/// Rate of one collective of one size, as nccl-tests defines it. GB/s = 1e9 B/s.
struct Bandwidth {
  double algbw_gb_per_s = 0;  ///< bytes / time
  double busbw_gb_per_s = 0;  ///< algbw * bus_factor
};

/// Communication of one kind, group size and class of message size. A slice of a rank is one sample.
struct BandwidthRow {
  Collective collective = Collective::all_reduce;
  std::size_t num_ranks = 0;     ///< of the group; 0: not known, nor is busbw
  std::int64_t least_bytes = 0;  ///< of the class: a power of two, to the next one
  std::int64_t count = 0;        ///< slices
  double median_bytes = 0;
  double median_ns = 0;                      ///< from start to end: what waiting for peers costs is in it
  Bandwidth whole;                           ///< over that; medians of the slices' own rates
  std::int64_t transfers = 0;                ///< slices with a known last arrival
  std::optional<double> median_transfer_ns;  ///< from the last arrival to the end
  std::optional<Bandwidth> transfer;         ///< over that
};

/// The rates that the trace shows, and how much communication has unknown rates.
struct BandwidthReport {
  std::vector<BandwidthRow> rows;  ///< by collective, group size, message size
  std::int64_t without_bytes = 0;  ///< communication slices whose bytes are not known
  std::int64_t of_several = 0;     ///< that carry transfers of several kinds at once
};

/// How much of algbw the busiest link carries: 2(n-1)/n for all_reduce, (n-1)/n for all_gather, reduce_scatter and
/// all_to_all, 1 for broadcast, send and receive. Source: nccl-tests, doc/PERFORMANCE.md.
double bus_factor(Collective, std::size_t num_ranks);

/// Rates of all communication slices with known bytes. Transfers of one kind in one slice count as one of their sum.
BandwidthReport find_bandwidths(const Trace&);

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
/// Fails when a launch takes longer: the time after its call then counts as wait, pipeline or not known.
inline constexpr std::int64_t kLongestLaunchNs = 20'000;

/// The idle time of each rank's `windows` by cause. Windows of one rank do not overlap. In n log n.
///
/// A gap ends where some work starts; of several that start at once, the one launched last counts. Where its call ended
/// after the gap began, the gap is launch until then, and all of it where the work began within kLongestLaunchNs of
/// that. The rest is wait where a Kind::none slice of one of the rank's streams runs, else pipeline where the work
/// receives in mode pp, else not known. A gap without a known launch has no launch time.
std::map<std::int32_t, IdleTime> find_idle_causes(const Trace&, std::span<const Window> windows);

/// What launches have in common that are compared with each other.
struct Launch {
  NameId name = kNoName;
  NameId purpose = kNoName;
  Direction direction = Direction::none;
  bool has_bucket = false;
  LaunchShape shape;  ///< zeros if unknown

  friend bool operator==(const Launch&, const Launch&) = default;
};
Launch launch_of(const Trace&, std::uint32_t slice);

/// One kernel with equal launches, some during communication on its rank and some without. Summed over ranks; each
/// launch is compared with launches on its own rank.
struct SlowedKernel {
  NameId name = kNoName;
  NameId purpose = kNoName;
  LaunchShape shape;                ///< zeros if unknown
  std::int64_t concurrent = 0;      ///< launches with communication during at least half of their time
  std::int64_t alone = 0;           ///< launches without communication
  double median_concurrent_ns = 0;  ///< duration
  double median_alone_ns = 0;       ///< likewise
  std::int64_t concurrent_ns = 0;   ///< sum of their durations
  double cost_ns = 0;  ///< of concurrent_ns, the excess over the same number of launches at the rank's median alone

  double slowdown() const { return median_alone_ns > 0 ? median_concurrent_ns / median_alone_ns : 0; }
};

/// The slowdown of compute by communication that ran at the same time, as far as it can be compared.
struct SlowedCompute {
  std::vector<SlowedKernel> kernels;      ///< with launches of both kinds on one rank; those of most cost first
  double cost_ns = 0;                     ///< of all of them
  std::int64_t concurrent_ns = 0;         ///< compute of launches with communication during at least half of their time
  std::int64_t compared_ns = 0;           ///< part of it by kernels that also ran alone on that rank
  std::int64_t partly_concurrent_ns = 0;  ///< compute with communication during less than half of it: in neither column
  std::int64_t unknown_shape_ns = 0;      ///< part of compared_ns by launches of unknown size

  /// Part of concurrent_ns that has launches to compare it with, 0 to 1.
  double compared_share() const {
    return concurrent_ns == 0 ? 0 : static_cast<double>(compared_ns) / static_cast<double>(concurrent_ns);
  }
};

/// Compares launches of one kernel during communication with its launches without, rank by rank. Negative costs count,
/// too. Fails when launches of unknown shape differ in size; unknown_shape_ns is their time. In n log n.
SlowedCompute find_slowed_compute(const Trace&);

}  // namespace underlap::analysis
