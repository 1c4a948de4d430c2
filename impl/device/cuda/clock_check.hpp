// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "profiler/trace/trace.hpp"

namespace underlap::cuda {

/// One kernel as two clocks of its GPU saw it, nanoseconds.
struct TwiceTimed {
  std::int64_t trace_start_ns = 0;  ///< by CUPTI
  std::int64_t trace_end_ns = 0;
  std::int64_t stamp_start_ns = 0;  ///< by %globaltimer, read in the kernel
  std::int64_t stamp_end_ns = 0;
};

/// How CUPTI's kernel times compare with %globaltimer. CUPTI's times are interpolated between readings of two clocks;
/// the stamps are not. Both have an origin of their own, so only differences are compared.
struct ClockCheck {
  std::int64_t num_kernels = 0;   ///< that both clocks timed
  double duration_ratio = 1;      ///< median of CUPTI's duration / the stamps' duration
  double duration_excess_us = 0;  ///< median of CUPTI's duration - the stamps' duration: launch and end of the grid
  double start_spread_us = 0;     ///< 95 % of the starts agree within this, after a constant offset and a drift
  double drift_ppm = 0;           ///< of CUPTI's clock against %globaltimer
};

/// Compares the kernels of one block. Empty input gives num_kernels 0.
ClockCheck check_clocks(std::span<const TwiceTimed> kernels);

/// One line: "CUPTI against %globaltimer, 120 kernels: durations 1.0003 times as long (+1.2 us), starts within 0.8 us
/// (95 %), drift 0.3 ppm".
std::string to_text(const ClockCheck& check);

/// One group of transfers as the device's %globaltimer saw it. (communicator, sequence) is that of its communication
/// record.
struct StampedTransfer {
  std::uint32_t communicator = 0;
  std::uint64_t sequence = 0;
  bool is_one_kernel = true;  ///< false: several kernels or copies, whose first starts at start_ns
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

/// The communication slices of `trace` with the stamps of the same transfers. A transfer that is missing on either
/// side, or that is several kernels, is left out.
std::vector<TwiceTimed> match_stamps(const Trace& trace, std::span<const StampedTransfer> stamps);

}  // namespace underlap::cuda
