// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "impl/device/sim/time_model.hpp"

namespace underlap::sim {

/// The resources that a transfer in flight takes from one of its members, each as bytes per nanosecond at full speed.
struct FlowDemand {
  double hbm = 0;
  double nvlink_out = 0;
  double nvlink_in = 0;
  double network_out = 0;
  double network_in = 0;
};

/// The multiprocessors, memory bandwidth, links and copy engines of one device, shared out in virtual time.
///
/// Multiprocessors. Kernels are served by priority, then in the order of their start. A kernel that still has blocks to
/// place gets free multiprocessors before later kernels. Running blocks are never preempted: a kernel of waves releases
/// multiprocessors only between two waves, when one of higher priority gets them. A transfer holds its multiprocessors
/// from its start to its end, also while it waits for peers.
///
/// Bandwidth. Memory and each direction of each link are shared max-min fair: work that needs less than an equal share
/// gets all it needs. A kernel that is slowed by one resource is slowed as a whole.
///
/// Source of the rules: NVIDIA, CUDA C++ Programming Guide, on streams, priorities and concurrent kernels. That blocks
/// are placed kernel after kernel is observed (Amert et al. 2017), not documented.
/// Fails when work also slows down by caches or power: it is then slower than here.
class SharedDevice {
 public:
  using Id = std::uint32_t;
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  explicit SharedDevice(const DeviceLimits& limits) : limits_(limits), free_sms_(limits.sms) {}

  /// A kernel or copy is handed to the device. It starts once it gets what it needs; see advance().
  Id add_kernel(const KernelTime& time, Priority priority);

  /// A group of transfers that holds `sms` from its start until remove().
  Id add_transfers(int sms, Priority priority);
  void remove(Id id);

  /// A transfer begins or ends to move bytes from and to this device. `flow` is the caller's number for it.
  void begin_flow(std::uint64_t flow, const FlowDemand& demand);
  void end_flow(std::uint64_t flow);

  /// The changes up to `now`.
  struct Changes {
    std::vector<Id> started;      ///< got their multiprocessors, in order
    std::vector<Id> finished;     ///< kernels and copies; their ids are free again
    std::optional<Id> gave_up{};  ///< a kernel that gave up multiprocessors between two waves and runs on
  };
  /// Whether advance() would change anything.
  bool has_to_advance(std::int64_t now) const { return has_news_ || now > now_ || now >= next_event_ns_; }

  /// Moves everything to `now` and divides resources again. `now` never decreases.
  void advance(std::int64_t now, Changes& changes);

  /// When advance() must be called next if nothing else happens; kNever where nothing runs.
  std::int64_t next_event_ns() const { return next_event_ns_; }

  /// The speed, 0 to 1, that this device leaves each flow; valid until the next change.
  struct FlowLimit {
    std::uint64_t flow = 0;
    double speed = 1;
  };
  const std::vector<FlowLimit>& flow_limits() const { return flow_limits_; }

 private:
  struct Work {
    KernelTime time;
    bool is_transfers = false;
    bool is_high = false;
    bool has_started = false;
    int held = 0;            // multiprocessors
    std::int64_t tiles = 0;  // of the plan: what was left when it was made
    double plan_ns = 0;      // at full speed
    double fixed_ns = 0;     // of plan_ns, before its first wave
    double left_ns = 0;
    double speed = 0;
  };
  struct Flow {
    std::uint64_t id = 0;
    FlowDemand demand;
  };
  struct Share {
    double demand = 0;
    double* speed = nullptr;
  };
  static constexpr std::size_t kResources = 5;  // memory, then two directions of two links

  Id add(Work work);
  bool is_waves(const Work& w) const { return !w.is_transfers && w.time.kind == KernelTime::Kind::waves; }
  bool is_copy(const Work& w) const { return !w.is_transfers && w.time.kind == KernelTime::Kind::copy; }
  double tile_ns(const Work& w) const;
  static double in_waves_ns(const Work& w);
  std::int64_t waves_done(const Work& w) const;
  bool is_between_waves(const Work& w) const;
  void settle(std::int64_t now);
  void finish(Changes& changes);
  bool pass_waves(Work& w);
  void share_sms(Changes& changes);
  bool grant(Work& w);
  void plan_waves(Work& w, int sms);
  void start(Id id, Changes& changes);
  void share_copy_engines(Changes& changes);
  void share_bandwidth();
  static void share_max_min(std::vector<Share>& shares, double capacity);
  double demand_of(const Work& w) const;
  double sm_speed(const Work& w) const;
  double ns_to_event(const Work& w, bool younger_wait, bool older_wait) const;
  void find_next_event();

  DeviceLimits limits_;
  int free_sms_;
  std::int64_t now_ = 0;
  std::int64_t next_event_ns_ = kNever;
  bool has_news_ = true;    // something was added or taken away since the last advance()
  std::vector<Work> work_;  // by id
  std::vector<Id> free_ids_;
  std::vector<Id> order_;  // by priority, then by age
  std::vector<Flow> flows_;
  std::vector<FlowLimit> flow_limits_;
  std::array<std::vector<Share>, kResources> wanted_;  // scratch of share_bandwidth()
};

}  // namespace underlap::sim
