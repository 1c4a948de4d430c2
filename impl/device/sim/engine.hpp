// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "impl/device/sim/call_times.hpp"
#include "impl/device/sim/rank_queues.hpp"
#include "impl/device/sim/rendezvous.hpp"
#include "impl/device/sim/shared_device.hpp"
#include "impl/device/sim/virtual_memory.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::sim {

struct EngineOptions {
  std::int32_t connections = 0;  ///< hardware queues of a rank (CUDA_DEVICE_MAX_CONNECTIONS); 0: one for each stream
  double jitter = 0;             ///< every duration is stretched by a random share, up to this one
  std::uint64_t seed = 1;        ///< of the jitter
  bool records_slices = true;    ///< false: marks only
  std::vector<std::int32_t> simulated = {};  ///< global ranks of the sources, ascending; empty: 0, 1, ...
  VirtualMemory* memory = nullptr;  ///< computes values in virtual time; null: no rank has memory. Outlives the engine
};

/// Simulates the programs of all ranks in virtual time.
///
/// A discrete-event simulation. Hosts enqueue, hardware queues are in order, streams are FIFO, and kernels share a
/// device (SharedDevice). A transfer starts to move data when its last member has started it, at the speed of its
/// slowest member. Only one of several ranks that do the same needs to be simulated. A group member that is not
/// simulated is assumed to be where its simulated equivalent is, and transfers take the time of the whole group (see
/// Rendezvous). All times are whole nanoseconds from 0. Equal input gives identical output.
class Engine {
 public:
  /// One source for each simulated rank, in rank order. `time` outlives the engine. Throws std::invalid_argument if the
  /// numbers of sources and simulated ranks differ, or if values are computed without all ranks.
  Engine(const TimeModel& time, const EngineOptions& options, std::vector<RankQueues::Source> sources);
  ~Engine();

  /// Simulates until every source is dry and everything has run; may be called again after sources have more to give.
  /// Throws MachineError, with the waits of each rank, if nothing can continue; std::invalid_argument if the members of
  /// a transfer do not match.
  void play();

  /// Slices, marks and groups of all ranks since the last call.
  Trace take_trace();

  /// From here on, operations of a rank that end before its next mark leave no slice: no window contains them.
  void leave_out_first_steps();

  std::int64_t now_ns() const { return now_; }
  std::uint64_t num_operations() const { return num_operations_; }

 private:
  struct Running;
  struct Rank;
  struct Member;
  struct Flow;
  struct Event {
    std::int64_t ns = 0;
    std::uint64_t order = 0;
    std::int32_t rank = -1;  // index among the simulated ranks; -1: a flow
    std::uint32_t flow = 0;
    std::uint64_t version = 0;  // of the flow
    bool operator>(const Event& other) const { return ns != other.ns ? ns > other.ns : order > other.order; }
  };

  void touch(std::int32_t rank);
  void run_touched();
  void run_rank(std::int32_t rank);
  void schedule(std::int32_t rank);
  void hand_over(std::int32_t rank, const InFlight& item);
  static Running& occupy(Rank& rank, SharedDevice::Id id, const InFlight& item, std::int64_t handed_ns);
  const KernelTime& launch_time(Rank& rank, const Program& program, const ProgramCommand& launch);
  void enter(std::int32_t rank, Running& running, const CallTimes::Call& call);
  void start(std::int32_t rank, SharedDevice::Id id);
  void arrive(std::int32_t rank, SharedDevice::Id id);
  void begin_flow(std::uint32_t flow);
  void limit_flows(std::int32_t rank);
  void set_speed(std::uint32_t flow, double speed);
  void end_flow(std::uint32_t flow);
  void exchange(const std::vector<Member>& members);
  void finish(std::int32_t rank, SharedDevice::Id id);
  void record(std::int32_t rank, const Running& running);
  void record_cause(Rank& rank, const InFlight& item, std::int64_t ready_ns, std::optional<SharedDevice::Id> gave_up);
  void name_tracks(std::int32_t rank, const Program& program);
  std::int32_t number_of(std::int32_t rank) const;
  double stretched(double ns, std::int32_t rank, const InFlight& item) const;
  /// Throws std::invalid_argument if an operation takes longer than the range of virtual time.
  void refuse_endless(std::int32_t rank, const InFlight& item, double ns) const;
  [[noreturn]] void report_deadlock() const;
  std::string explain(std::int32_t rank, const InFlight& front) const;

  const TimeModel& time_;
  EngineOptions options_;
  HostCosts host_;
  Rendezvous rendezvous_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<Flow> flows_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<std::int32_t> touched_;
  std::int64_t now_ = 0;
  std::uint64_t num_events_ = 0;
  std::uint64_t num_operations_ = 0;
  Trace trace_;
};

}  // namespace underlap::sim
