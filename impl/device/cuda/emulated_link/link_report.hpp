// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "impl/device/cuda/emulated_link/link_kernel.hpp"

namespace underlap::cuda {

/// The traffic that an emulated link carried.
struct LinkReport {
  static constexpr double kLeastShare = 0.98;  ///< share of the requested rate that transfers must reach alone
  /// Shorter busy times are not judged: with timer steps of up to a microsecond, 98 % and 100 % look the same.
  static constexpr double kShortestUs = 100;
  /// Blocks whose starts are at most this far apart were not delayed.
  static constexpr double kPlacingUs = 5;

  double asked_gb_per_s = 0;
  std::optional<double> achieved_gb_per_s = {};  ///< over all busy times that are long enough; nullopt: no such time
  std::optional<double> lowest_gb_per_s = {};    ///< of one busy time
  /// What the same transfers reach with nothing else running; nullopt: not measured
  std::optional<double> alone_gb_per_s = {};
  std::int64_t num_transfers = 0;
  std::int64_t num_too_short = 0;   ///< transfers in busy times below kShortestUs
  std::int64_t num_unrecorded = 0;  ///< enqueued when the records were full
  /// Transfers that a setting limits to fewer multiprocessors than the link's. These limit their rate, so that it is
  /// not judged.
  std::int64_t num_with_fewer_sms = 0;
  double longest_placing_us = 0;  ///< from the first to the last of a transfer's blocks: its wait for multiprocessors
  std::int64_t bytes_out = 0;
  std::int64_t bytes_in = 0;
  std::int64_t bytes_read = 0;  ///< from device memory
  std::int64_t bytes_written = 0;

  /// Share of the requested rate; nullopt as achieved_gb_per_s.
  std::optional<double> share() const {
    return achieved_gb_per_s ? std::optional(*achieved_gb_per_s / asked_gb_per_s) : std::nullopt;
  }
  /// A low rate during compute is the interference to be measured. If the rate is also low alone, the link is not the
  /// requested one.
  bool is_valid() const {
    const bool is_slow = share() && *share() < kLeastShare;
    return !is_slow || !alone_gb_per_s || *alone_gb_per_s >= kLeastShare * asked_gb_per_s;
  }
};

/// Transfers that overlap in time share the link, so rates are of busy times. A busy time starts with a transfer and
/// ends with the last transfer that overlaps, directly or through others. The latency of one transfer is subtracted
/// from each busy time, and the busier of the two directions counts. A transfer whose blocks wait for multiprocessors
/// appears slow, as NCCL's would: longest_placing_us shows whether that or the link made the rate low. Source: bytes on
/// the wire / (end - start), as recorded on the device.
///
/// latency_us  of record i, all its steps together
/// alone       GB/s of record i's transfer with nothing else running, 0: not known; or empty
LinkReport report_link(std::span<const LinkRecord> records, std::span<const double> latency_us,
                       std::span<const double> alone, double asked_gb_per_s, std::int64_t num_unrecorded);

/// One line: "link at 91 %: 336.7 of 370 GB/s (lowest 320.1) over 120 transfers, 369.5 alone; waiting for peers: not
/// emulated".
std::string to_text(const LinkReport& report);

}  // namespace underlap::cuda
