// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "impl/device/host/connection.hpp"
#include "impl/device/tensor_table.hpp"

namespace underlap::host {

/// Measurements of a group of transfers.
struct CommunicationOutcome {
  std::chrono::steady_clock::time_point last_arrival;
  std::vector<std::int64_t> bytes_sent;  ///< by transfer
  std::int64_t total_sent = 0;
  std::int64_t total_received = 0;
};

/// Memory for what peers send before it is summed. Kept between calls, so that a step allocates nothing.
using Scratch = std::vector<std::byte>;

/// Runs `transfers` as one group, all at once, and returns when this rank is done with them.
///
/// Every member sends each other member its arrival time first, then its data, without waiting for either. So the last
/// arrival is known without an extra round trip. Sums are computed in rank order whatever order data arrive in, so a
/// result depends neither on timing nor on how tensors are split into buckets.
///
/// Throws MachineError naming peer, operation and sequence number at the deadline or if a peer is gone.
CommunicationOutcome run_transfers(Connection& connection, NameId purpose, std::uint64_t sequence,
                                   std::span<const BoundTransfer> transfers, Scratch& scratch);

}  // namespace underlap::host
