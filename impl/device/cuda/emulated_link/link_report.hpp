// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "impl/device/cuda/emulated_link/link_kernel.hpp"

namespace underlap::cuda {

/// What an emulated link really carried.
struct LinkReport {
  static constexpr double kLeastShare = 0.98;  ///< of the rate asked for; below it a cell is not valid
  /// Shorter busy times are not judged: a timer that steps by up to a microsecond cannot tell 98 % from 100 % there.
  static constexpr double kShortestUs = 100;
  /// Blocks that begin so soon after each other were not held up.
  static constexpr double kPlacingUs = 5;

  double asked_gb_per_s = 0;
  std::optional<double> achieved_gb_per_s = {};  ///< over all busy times long enough; nullopt: there were none
  std::optional<double> lowest_gb_per_s = {};    ///< of one busy time
  std::int64_t num_transfers = 0;
  std::int64_t num_too_short = 0;   ///< transfers in busy times below kShortestUs
  std::int64_t num_unrecorded = 0;  ///< enqueued when the records were full
  double longest_placing_us = 0;    ///< from the first to the last of a transfer's blocks: its wait for multiprocessors
  std::int64_t bytes_out = 0;
  std::int64_t bytes_in = 0;
  std::int64_t bytes_read = 0;  ///< from device memory
  std::int64_t bytes_written = 0;

  bool is_valid() const { return !achieved_gb_per_s.has_value() || *achieved_gb_per_s >= kLeastShare * asked_gb_per_s; }
};

/// Transfers that overlap in time share the link, so a rate is that of a busy time: from the start of a transfer to the
/// end of the last that overlaps with it or with one of those. Of a busy time's latency, that of one transfer is left
/// out, and of the two directions the busier counts. A transfer whose blocks wait for multiprocessors seems slow, as
/// NCCL's would be: whether that or the link made a rate low, longest_placing_us lets one tell. Source: bytes on the
/// wire / (end - start), as recorded on the device. `latency_us` is that of record i, all its steps together.
LinkReport report_link(std::span<const LinkRecord> records, std::span<const double> latency_us, double asked_gb_per_s,
                       std::int64_t num_unrecorded);

/// One line: "asked 450 GB/s, achieved 448.1 (lowest 447.0) over 120 transfers; waiting for peers: not emulated".
std::string to_text(const LinkReport& report);

}  // namespace underlap::cuda
