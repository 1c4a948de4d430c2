// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "impl/device/sim/hardware.hpp"
#include "impl/device/sim/time_model.hpp"

namespace underlap::sim {

/// Where ranks sit: rank r is GPU r % gpus_per_node of node r / gpus_per_node.
struct Placement {
  std::int32_t gpus_per_node = 0;  ///< 0: from the hardware description
};

/// Durations on one kind of machine, from its description. A pure function of its arguments, by additions,
/// multiplications, divisions and comparisons alone: bit-identical on every machine.
class CostModel final : public TimeModel {
 public:
  /// `layernorm_sm_margin`: SMs that a persistent norm leaves free, at least 0.
  /// Throws std::invalid_argument for a negative gpus_per_node or one above the description's.
  explicit CostModel(Hardware hardware, Placement placement = {}, int layernorm_sm_margin = 0);

  /// The time of an operation.
  /// Throws std::invalid_argument for an fp8 GEMM on a GPU without fp8, and a margin, of the cost or of
  /// norms, that leaves no SM.
  KernelTime kernel(const Cost& cost) const override;

  /// The time of a copy between the host's memory and the device's by a copy engine.
  KernelTime copy(std::int64_t bytes) const override;

  /// The time of one communicate call, for the member at `my_index`; it counts from the last member's arrival.
  ///
  /// members  global ranks in group order. A group of one takes no time.
  /// Collectives of one call are one NCCL group: the latency counts once, the bytes of all of them follow each other.
  /// Sends and receives use the two directions of a link at the same time.
  /// Throws std::invalid_argument for a negative size, a peer outside the group, and a reduction on a copy engine.
  TransferTime transfers(std::span<const TransferShape> call, std::span<const std::int32_t> members,
                         std::int32_t my_index, const CommunicatorHints& hints = {}) const;

  /// The same for the member that decides: the sender of a message comes first, and `my_index` makes no other
  /// difference.
  TransferTime transfers(std::span<const TransferShape> call, std::span<const std::int32_t> members,
                         const CommunicatorHints& hints) const override;

  HostCosts host() const override;
  DeviceLimits limits() const override;
  std::int32_t gpus_per_node() const override { return gpus_per_node_; }

  const Hardware& hardware() const { return hardware_; }

 private:
  Hardware hardware_;
  std::int32_t gpus_per_node_ = 0;
  int layernorm_sm_margin_ = 0;
};

}  // namespace underlap::sim
