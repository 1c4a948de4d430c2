// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

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
  std::int64_t transfers = 0;                ///< slices of which the last arrival is known
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

}  // namespace underlap::analysis
