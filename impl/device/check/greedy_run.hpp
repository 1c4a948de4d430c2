// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "impl/device/check/finding.hpp"
#include "impl/device/matching.hpp"

namespace underlap::check {

/// What bounds a device's eagerness.
struct DeviceLimits {
  std::uint32_t num_queues = 0;      ///< hardware queues, that streams share in turn; 0: one for each stream
  std::uint32_t queue_depth = 1024;  ///< commands of a queue that were enqueued and have not ended; then the host waits
};

/// Runs the programs of all ranks without time, as far as they go.
///
/// Hosts enqueue in order; they wait where they synchronize and where a queue is full. The head of a hardware queue
/// starts once its stream has done with all before it, and a wait once its event has passed; until then nothing behind
/// it starts, of whatever stream. A transfer ends when all its parties have started. What may happen stays possible
/// until it happens, so all orders end in the same state: one run finds every deadlock at these limits.
class GreedyRun {
 public:
  GreedyRun(std::span<const ProgramIndex> ranks, const Matching& matching, const DeviceLimits& limits);

  /// Whether every command of every rank has ended.
  bool has_finished() const;

  /// One finding for each circle of commands and hosts that wait for each other. Empty where all finished, and where
  /// all that is stuck waits in the end for a transfer whose other side never comes (check_matching reports those).
  std::vector<Finding> deadlocks() const;

 private:
  struct Queue {
    std::vector<std::uint32_t> commands;  // all that were enqueued
    std::size_t head = 0;                 // of those that have not started
    std::uint32_t num_unfinished = 0;
  };
  struct Rank {
    std::uint32_t next = 0;            // the host's next command
    std::vector<std::uint32_t> ended;  // by stream: position up to which all has ended
    std::vector<Queue> queues;
    std::vector<std::uint32_t> num_pending;  // by command: exchanges that it still waits for
  };
  /// Somebody who is stuck: a stream's first command that has not ended, or a rank's host.
  struct Waiter {
    std::int32_t rank = 0;
    std::uint32_t stream = 0;  // the host: the number of streams
  };
  /// For whom a waiter waits, and how that is said.
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
  std::vector<std::size_t> to_advance_;     // ranks that a transfer's end may have freed
};

}  // namespace underlap::check
