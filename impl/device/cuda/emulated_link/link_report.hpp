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
  static constexpr double kLeastShare = 0.98;  ///< of the requested rate that transfers must reach alone
  /// Shorter busy times are not judged: a timer that steps by up to a microsecond cannot tell 98 % from 100 % there.
  static constexpr double kShortestUs = 100;
  /// Blocks that begin so soon after each other were not held up.
  static constexpr double kPlacingUs = 5;

  double asked_gb_per_s = 0;
  std::optional<double> achieved_gb_per_s = {};  ///< over all busy times long enough; nullopt: there were none
  std::optional<double> lowest_gb_per_s = {};    ///< of one busy time
  /// What the same transfers reach with nothing else running; nullopt: not measured
  std::optional<double> alone_gb_per_s = {};
  std::int64_t num_transfers = 0;
  std::int64_t num_too_short = 0;   ///< transfers in busy times below kShortestUs
  std::int64_t num_unrecorded = 0;  ///< enqueued when the records were full
  /// By fewer multiprocessors than the link's, as a knob asks for: what these move limits them, and they are not
  /// judged.
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
  /// Below the rate next to compute is the interference that is measured. Below it alone too, the link is not the one
  /// that was requested.
  bool is_valid() const {
    const bool is_slow = share() && *share() < kLeastShare;
    return !is_slow || !alone_gb_per_s || *alone_gb_per_s >= kLeastShare * asked_gb_per_s;
  }
};

/// Transfers that overlap in time share the link, so a rate is that of a busy time: from the start of a transfer to the
/// end of the last that overlaps with it or with one of those. Of a busy time's latency, that of one transfer is left
/// out, and of the two directions the busier counts. A transfer whose blocks wait for multiprocessors seems slow, as
/// NCCL's would be: whether that or the link made a rate low, longest_placing_us lets one tell. Source: bytes on the
/// wire / (end - start), as recorded on the device.
///
/// latency_us  of record i, all its steps together
/// alone       GB/s of record i's transfer with nothing else running, 0: not known; or empty
LinkReport report_link(std::span<const LinkRecord> records, std::span<const double> latency_us,
                       std::span<const double> alone, double asked_gb_per_s, std::int64_t num_unrecorded);

/// One line: "link at 91 %: 336.7 of 370 GB/s (lowest 320.1) over 120 transfers, 369.5 alone; waiting for peers: not
/// emulated".
std::string to_text(const LinkReport& report);

}  // namespace underlap::cuda
