// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "impl/device/program.hpp"

namespace underlap::sim {

/// How a kernel or a copy runs when it has the device to itself.
struct KernelTime {
  enum class Kind : std::uint8_t {
    waves,       ///< `tiles` equal blocks, at most `sms` at once: the last wave may leave multiprocessors free
    elastic,     ///< many small blocks: slower in proportion once it has fewer than `sms` multiprocessors
    persistent,  ///< one block a multiprocessor: starts only when `sms` multiprocessors are free at once
    copy,        ///< a copy engine
  };
  Kind kind = Kind::elastic;
  double alone_ns = 0;
  double fixed_ns = 0;     ///< of waves: the part of alone_ns before the first wave, which nothing stretches
  std::int64_t tiles = 1;  ///< of waves
  int sms = 0;
  double hbm_bytes = 0;
};

/// How a group of transfers runs when nothing else runs, from the arrival of its last member.
struct TransferTime {
  double alone_ns = 0;
  double latency_ns = 0;                ///< the part of alone_ns that uses no bandwidth
  int sms = 0;                          ///< held from its own start, also during the wait for peers
  bool copy_engine = false;             ///< moved by copy engines, without SMs
  double hbm_bytes = 0;                 ///< of one member, read and written
  double nvlink_bytes = 0;              ///< of one member, in each direction that it uses
  double network_bytes = 0;             ///< the same over the network
  std::string_view algorithm = "none";  ///< ring, tree, nvls, nvls_tree, pat, p2p; none in a group of one
  std::string_view protocol = "none";   ///< ll, ll128, simple
};

/// The properties of a transfer that its time depends on.
struct TransferShape {
  Collective collective = Collective::all_reduce;
  DataType dtype = DataType::f32;
  std::int64_t bytes = 0;  ///< message size as nccl-tests counts it
  std::int32_t peer = -1;  ///< of a send, a receive or a broadcast: index in the group

  friend bool operator==(const TransferShape&, const TransferShape&) = default;
};
TransferShape shape_of(const Transfer& transfer);

/// A part of a call that starts and ends independently: one message, or all its collectives, which are one kernel.
struct CallPart {
  bool is_collective = true;
  bool sends = true;
  bool receives = true;
  std::vector<std::uint32_t> transfers;  ///< of the call, by position
  std::vector<std::int32_t> members;     ///< global ranks that take part; for a message the sender, then the receiver
};

/// The parts of a call: its messages in their order, then its collectives.
std::vector<CallPart> parts_of(const Program& program, const ProgramCommand& call);

/// The shared resources of one device.
struct DeviceLimits {
  int sms = 1;
  int copy_engines = 1;
  double hbm_bytes_per_ns = 1;
  double nvlink_bytes_per_ns = 1;   ///< each direction
  double network_bytes_per_ns = 1;  ///< each direction
};

/// Costs of the host, in nanoseconds of its own time.
struct HostCosts {
  std::int64_t launch_ns = 0;       ///< of a kernel
  std::int64_t communicate_ns = 0;  ///< of a group of transfers
  std::int64_t copy_ns = 0;
  std::int64_t event_ns = 0;        ///< of a wait, including the record
  std::int64_t start_ns = 0;        ///< from the call until an idle device starts
  std::int64_t queue_depth = 1024;  ///< kernels that may be enqueued and not yet started
  // Of the framework, see HostWork.
  std::int64_t pass_ns = 0;
  std::int64_t iteration_ns = 0;
  std::int64_t synchronize_ns = 0;  ///< from the end of the awaited work until the host continues
  bool synchronizes = false;        ///< whether it waits where the framework reads from the device
};

/// Durations of all work, each alone. Results depend only on the arguments.
class TimeModel {
 public:
  virtual ~TimeModel() = default;

  /// Ranks that share a node, in the order of their numbers; all ranks if there are no nodes.
  virtual std::int32_t gpus_per_node() const { return std::numeric_limits<std::int32_t>::max(); }
  virtual DeviceLimits limits() const = 0;
  virtual HostCosts host() const = 0;
  virtual KernelTime kernel(const Cost& cost) const = 0;
  virtual KernelTime copy(std::int64_t bytes) const = 0;

  /// One group of transfers among `members` (global ranks in group order), as one kernel.
  virtual TransferTime transfers(std::span<const TransferShape> group, std::span<const std::int32_t> members,
                                 const CommunicatorHints& hints) const = 0;
};

/// The time of one part of `call`.
TransferTime time_of(const TimeModel& time, const Program& program, const ProgramCommand& call, const CallPart& part);

/// The end of virtual time: 104 days. Up to here a double represents every nanosecond.
inline constexpr std::int64_t kEndOfTime = std::int64_t{1} << 53;

/// Rounds to whole nanoseconds. NaN and times after the end of virtual time become twice the end.
std::int64_t whole_ns(double ns);

}  // namespace underlap::sim
