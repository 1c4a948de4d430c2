// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "impl/device/sim/cost_model.hpp"
#include "impl/device/sim/nccl_tuner.hpp"

namespace underlap::sim {

/// The time of one collective on a group, and how it runs.
struct CollectiveTime {
  double latency_us = 0;
  double algbw_gb_per_s = 0;
  nccl::Choice choice;
  int sms = 0;
  bool is_known = false;      ///< from the description's times; else the tuner's own expectation
  double hop_latency_us = 0;  ///< of an empty message: what no number of blocks changes

  double time_us(std::int64_t bytes) const { return latency_us + static_cast<double>(bytes) / (1000 * algbw_gb_per_s); }
};

/// Bus bandwidth over algorithm bandwidth, as nccl-tests defines it: the part of the message that each rank sends.
double bus_factor(Collective collective, std::int32_t ranks);

/// NCCL's choice for a message of `bytes`, and its time.
///
/// The time comes from the description's segments for that choice. They are for a group inside one node or across
/// nodes, as `group` is, with the largest number of nodes up to the group's (otherwise the smallest). Other numbers of
/// ranks or nodes are scaled by the tuner's estimates for both groups: latency by the ratio of latencies, bandwidth by
/// that of bandwidths. The segment is that of the message which would load the measured links as this one loads these.
/// Without times in the description, the tuner's estimate is used.
CollectiveTime time_of_collective(const Hardware& hardware, Collective collective, const nccl::Group& group,
                                  std::int64_t bytes);

/// A communicate call of one member; see CostModel::transfers.
struct Call {
  std::span<const TransferShape> transfers;
  std::span<const std::int32_t> members;
  std::int32_t my_index = 0;
  CommunicatorHints hints;
};

/// See CostModel::transfers.
TransferTime time_of_call(const Hardware& hardware, std::int32_t gpus_per_node, const Call& call);

}  // namespace underlap::sim
