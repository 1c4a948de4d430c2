// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "impl/device/sim/call_times.hpp"
#include "impl/device/sim/engine.hpp"

namespace underlap::sim {

// An item that the device works on.
struct Engine::Running {
  InFlight item;                           // without a chunk: unused, its id is free
  std::int64_t handed_ns = 0;              // when its queue released it
  std::int64_t start_ns = -1;              // -1: waits for its place on the device
  std::int64_t last_arrival_ns = 0;        // of a call
  const CallTimes::Call* call = nullptr;   // null: no call
  std::vector<Rendezvous::Entry> entries;  // of a call, by part
  std::size_t num_flows_left = 0;          // of a call
  std::uint64_t sequence = 0;              // of a call
  VirtualMemory::Token token = 0;
};

struct Engine::Rank {
  Rank(std::int32_t number_, RankQueues queues_, const TimeModel& time)
      : number(number_), queues(std::move(queues_)), device(time.limits()), calls(time) {}

  const Program& program() const { return queues.newest_program(); }

  // Of the next operation that ends on a stream: its number on the stream.
  std::uint32_t next_index(std::uint32_t stream) {
    if (slices.size() <= stream) slices.resize(stream + 1);
    return static_cast<std::uint32_t>(slices[stream].size());
  }

  std::int32_t number;  // global; elsewhere a rank is an index among the simulated ranks
  RankQueues queues;
  SharedDevice device;
  std::vector<std::optional<KernelTime>> launches;  // by number of their cost
  CallTimes calls;
  std::vector<Running> running;                    // by the device's id
  std::vector<std::uint64_t> sequences;            // by communicator
  std::vector<std::uint32_t> tracks;               // by stream
  std::vector<std::uint32_t> groups;               // by communicator
  std::vector<std::vector<std::uint32_t>> slices;  // of the operations of each stream, in order
  std::uint32_t last_stream = 0;                   // of the operation that ended last
  std::int64_t last_end_ns = -1;                   // end of that operation
  std::int64_t scheduled_ns = -1;                  // of the newest event in the heap
  bool is_touched = false;
  bool leaves_no_slices = false;  // until its next mark
  SharedDevice::Changes changes;
  std::vector<InFlight> begin;
};

// One rank in a flow; it appears twice if it also represents the other end of its own message.
struct Engine::Member {
  std::int32_t rank = 0;
  SharedDevice::Id id = 0;
  std::size_t part = 0;  // of its call
  double limit = 1;      // the speed that its device allows the flow
};

struct Engine::Flow {
  std::vector<Member> members;  // that have arrived
  double left_ns = 0;
  double speed = 0;
  std::int64_t settled_ns = 0;
  std::uint64_t version = 0;
};

}  // namespace underlap::sim
