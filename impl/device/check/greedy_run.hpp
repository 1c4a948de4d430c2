// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "impl/device/check/finding.hpp"
#include "impl/device/program_matching.hpp"

namespace underlap::check {

/// Limits of a device's eagerness.
struct DeviceLimits {
  std::uint32_t num_queues = 0;      ///< hardware queues, which streams share in turn; 0: one for each stream
  std::uint32_t queue_depth = 1024;  ///< enqueued commands of a queue that have not ended; the host waits when there
                                     ///< are more
};

/// Runs the programs of all ranks without time, as far as possible.
///
/// Hosts enqueue in order. They wait at each synchronization and when a queue is full. The head of a hardware queue
/// starts after all earlier commands of its stream have ended, and a wait starts after its event has passed. Until then
/// no later command of that queue starts, on any stream. A transfer ends when all its parties have started. A possible
/// action stays possible until it happens, so all orders end in the same state: one run finds every deadlock at these
/// limits.
class GreedyRun {
 public:
  GreedyRun(std::span<const ProgramIndex> ranks, const Matching& matching, const DeviceLimits& limits);

  /// Whether every command of every rank has ended.
  bool has_finished() const;

  /// One finding for each circle of commands and hosts that wait for each other. Empty if all commands finished. Also
  /// empty if everything stuck waits in the end for a transfer whose other side never comes (check_matching reports
  /// those).
  std::vector<Finding> deadlocks() const;

 private:
  struct Queue {
    std::vector<std::uint32_t> commands;  // all enqueued commands
    std::size_t head = 0;                 // position of the first one that has not started
    std::uint32_t num_unfinished = 0;
  };
  struct Rank {
    std::uint32_t next = 0;            // the host's next command
    std::vector<std::uint32_t> ended;  // by stream: position up to which all has ended
    std::vector<Queue> queues;
    std::vector<std::uint32_t> num_pending;  // by command: unfinished exchanges that it waits for
  };
  /// A stuck waiter: a stream's first command that has not ended, or a rank's host.
  struct Waiter {
    std::int32_t rank = 0;
    std::uint32_t stream = 0;  // the host: the number of streams
  };
  /// The waiter that another one waits for, with the text that describes the wait.
  struct Blocker {
    Waiter waiter;
    std::string clause;
  };
  class CircleSearch;

  void run();
  bool advance(std::size_t rank);
  bool host_can_go_on(std::size_t rank) const;
  bool can_start(std::size_t rank, std::uint32_t command) const;
  bool has_passed(std::size_t rank, const ProgramCommand& command) const;
  void start(std::size_t rank, std::uint32_t command);
  void end(std::size_t rank, std::uint32_t command);
  Queue& queue_of(std::size_t rank, std::uint32_t command);
  const Queue& queue_of(std::size_t rank, std::uint32_t command) const;
  std::uint32_t queue_number(std::size_t rank, std::uint32_t command) const;

  std::vector<Blocker> blockers(const Waiter& waiter) const;
  std::vector<Blocker> host_blockers(std::int32_t rank) const;
  std::vector<Blocker> transfer_blockers(std::int32_t rank, std::uint32_t command) const;
  bool is_stuck(const Waiter& waiter) const;
  bool is_host(const Waiter& waiter) const;

  std::span<const ProgramIndex> ranks_;
  const Matching& matching_;
  DeviceLimits limits_;
  std::vector<Rank> state_;
  std::vector<std::uint32_t> num_started_;  // by exchange
  std::vector<std::size_t> to_advance_;     // ranks that the end of a transfer may have released
};

}  // namespace underlap::check
