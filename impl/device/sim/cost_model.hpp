// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "impl/device/sim/hardware.hpp"
#include "kernels/operation.hpp"

namespace underlap::sim {

/// How a kernel occupies a device that it has to itself. Its work takes alone_ns - fixed_ns; how that stretches beside
/// other kernels follows from the form.
struct KernelTime {
  enum class Form : std::uint8_t {
    waves,       ///< `tiles` equal blocks, at most `sms` at once: with s SMs it takes ceil(tiles / s) tile times
    elastic,     ///< many small blocks: as fast as with the whole device while it has `sms` SMs and its share of HBM
    persistent,  ///< starts only when it has `sms` SMs at once, and keeps them
  };
  Form form = Form::elastic;
  double alone_ns = 0;
  double fixed_ns = 0;     ///< part of alone_ns that nothing stretches: start and end of a kernel
  std::int64_t tiles = 0;  ///< waves: blocks; otherwise 0
  int sms = 0;
  double hbm_bytes = 0;  ///< read and written
};

/// The element type of a GEMM's operands, which decides the peak that it is held against.
enum class Precision : std::uint8_t { bf16, fp8 };

/// One transfer of a communicate call as the model needs it.
struct TransferShape {
  Collective collective = Collective::all_reduce;
  DataType dtype = DataType::bf16;
  std::int64_t bytes = 0;  ///< message_bytes() of the transfer
  std::int32_t peer = -1;  ///< send, receive, broadcast: index in the group
};

/// What the owner of a communicator asks for.
struct TransferHints {
  int sms = 0;               ///< SMs of the transfer's kernel; 0: what NCCL takes
  bool copy_engine = false;  ///< moves bytes without SMs, where nothing is reduced
};

/// How a communicate call occupies a member's device and links when it has them to itself.
///
/// The call holds latency_ns without using bandwidth; the rest of alone_ns moves the bytes. Bytes are those of one
/// member and direction. Where several links carry bytes, alone_ns is that of the slower.
struct TransferTime {
  double alone_ns = 0;
  double latency_ns = 0;
  int sms = 0;  ///< 0 with a copy engine
  bool copy_engine = false;
  double hbm_bytes = 0;  ///< read and written
  double nvlink_bytes = 0;
  double network_bytes = 0;
  std::string_view algorithm;  ///< "ring", "tree", "nvls", "nvls_tree", "pat", "p2p"; "none" in a group of one
  std::string_view protocol;   ///< "ll", "ll128", "simple"; "none" in a group of one
};

/// What enqueuing costs the host, in nanoseconds a call.
struct HostCosts {
  double kernel_ns = 0;
  double collective_ns = 0;
  double copy_ns = 0;
  double event_record_ns = 0;
  double event_wait_ns = 0;
  std::int64_t launch_queue_depth = 0;  ///< calls that a device holds before the host blocks; at least 1
};

/// Where ranks sit: rank r is GPU r % gpus_per_node of node r / gpus_per_node.
struct Placement {
  std::int32_t gpus_per_node = 0;  ///< 0: as the hardware description says
};

/// Durations on one kind of machine, from its description. A pure function of its arguments, by additions,
/// multiplications, divisions and comparisons alone: bit-identical on every machine.
class CostModel {
 public:
  /// Throws std::invalid_argument for a negative gpus_per_node or one above the description's.
  explicit CostModel(Hardware hardware, Placement placement = {});

  /// The time of an operation. `layernorm_sm_margin`: SMs that a persistent norm leaves free, at least 0.
  /// Throws std::invalid_argument for an fp8 GEMM on a GPU without fp8, and a margin that leaves no SM.
  KernelTime kernel(const Cost& cost, Precision precision = Precision::bf16, int layernorm_sm_margin = 0) const;

  /// The time of a copy inside the device's own memory by a copy engine.
  KernelTime copy_on_device(std::int64_t bytes) const;

  /// The time of a copy between the host's memory and the device's by a copy engine.
  double copy_from_host_ns(std::int64_t bytes) const;

  /// The time of one communicate call, for the member at `my_index`; it counts from the last member's arrival.
  ///
  /// members  global ranks in group order. A group of one takes no time.
  /// Collectives of one call are one NCCL group: the latency counts once, the bytes of all of them follow each other.
  /// Sends and receives use the two directions of a link at the same time.
  /// Throws std::invalid_argument for a negative size, a peer outside the group, and a reduction on a copy engine.
  TransferTime transfers(std::span<const TransferShape> call, std::span<const std::int32_t> members,
                         std::int32_t my_index, const TransferHints& hints = {}) const;

  HostCosts host() const;

  /// SMs of the device.
  int sms() const;

  /// Bandwidths that concurrent work shares, bytes per nanosecond (numerically GB/s).
  double hbm_bytes_per_ns() const;
  double nvlink_bytes_per_ns() const;   ///< one GPU, one direction
  double network_bytes_per_ns() const;  ///< likewise

  const Hardware& hardware() const { return hardware_; }

 private:
  Hardware hardware_;
  std::int32_t gpus_per_node_ = 0;
};

}  // namespace underlap::sim
