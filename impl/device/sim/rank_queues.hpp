// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "impl/device/sim/ring.hpp"
#include "impl/device/sim/time_model.hpp"
#include "profiler/collect/event_edges.hpp"

namespace underlap::sim {

/// A piece of a rank's program that is being simulated. It is dropped after all of it has run.
struct Chunk {
  Program program;
  std::size_t num_left = 0;  ///< commands on streams that have not run
};

/// A command in progress on its stream, with all data that its progress depends on. The command itself may be far away
/// in a long program, so it is read only when it starts and when it ends.
struct InFlight {
  enum class State : std::uint8_t { queued, running, over };

  Chunk* chunk = nullptr;
  std::int64_t ready_ns = 0;           ///< the host had enqueued it and the device may start it
  std::uint64_t awaited_position = 0;  ///< of a wait, from its command
  std::uint32_t awaited_stream = 0;
  std::uint32_t stream = 0;
  std::uint32_t index = 0;                             ///< into the chunk's commands
  std::uint32_t operation = 0;                         ///< number in its rank's step, from 1; 0: no operation
  std::optional<EventEdges::Place> host_waited_for{};  ///< the last operation that blocked the host before this
  ProgramCommand::Type type{};
  State state = State::queued;

  const Program& program() const { return chunk->program; }
  const ProgramCommand& command() const { return chunk->program.commands[index]; }
};

/// The host and the streams of one rank: enqueued commands, heads of hardware queues, finished commands.
///
/// Streams are assigned round robin to `connections` hardware queues, in the order of their creation. A queue passes on
/// its commands in the order of the host. A command that must wait, for an event or for the previous command of its
/// stream, blocks all later ones of its queue. Recording an event and marking a step take no place in a queue. It is an
/// unmeasured assumption that waits, and kernels after a running one of their stream, block their queue.
class RankQueues {
 public:
  /// Returns the next piece of the rank's program, or nothing at its end.
  using Source = std::function<std::optional<Program>()>;
  using OnMark = std::function<void(const ProgramCommand&, std::int64_t now)>;

  /// `connections` 0: a queue for each stream.
  RankQueues(Source source, OnMark on_mark, const HostCosts& host, std::int32_t connections);

  /// Which operations waited for which events, since it was last cleared; empty before keep_event_edges().
  EventEdges& event_edges() { return event_edges_; }
  void keep_event_edges() { keeps_event_edges_ = true; }

  /// Lets the host enqueue what it can, and passes on every command that is free at `now`. Returns the commands that
  /// start: launches, transfers and uploads, in order. Each runs until complete() is called for it.
  void advance(std::int64_t now, std::vector<InFlight>& begin);

  /// The source has more after it returned nothing: a host that ran dry continues at the next advance(), not before.
  void resume() {
    host_is_held_ = host_is_held_ || std::exchange(is_over_, false);
    has_news_ = true;
  }

  /// The command that runs on `stream` has ended. `index`: among the stream's operations, as event_edges() counts them.
  void complete(std::uint32_t stream, std::uint32_t index, std::int64_t now);

  /// Clears event_edges(), and counts operations from 0 again.
  void clear_event_edges();

  /// A started launch has its place on the device: the host may enqueue one more.
  void started() {
    --num_waiting_launches_;
    has_news_ = has_news_ || host_is_held_;
  }

  /// The next time when advance() has work even if nothing completes; SharedDevice::kNever if there is none.
  std::int64_t next_wake_ns() const { return next_wake_ns_; }

  /// Whether everything has run and the source is at its end.
  bool is_over() const { return is_over_ && num_in_flight_ == 0; }

  /// The streams of the rank; empty before the first piece of program.
  std::size_t num_streams() const { return streams_.size(); }

  // For error messages about stuck commands.
  const Ring<InFlight>& stream(std::uint32_t id) const { return streams_[id].fifo; }
  const InFlight* head_of_queue(std::uint32_t stream);
  std::optional<ProgramCommand> host_waits_for() const;
  const Program& newest_program() const { return chunks_.back()->program; }
  bool has_passed(std::uint32_t stream, std::uint64_t position) const { return streams_[stream].num_run >= position; }

 private:
  struct StreamState {
    Ring<InFlight> fifo;  // enqueued and not yet run
    std::uint64_t num_run = 0;
    std::uint64_t num_out = 0;  // that left their queue, counted like num_run; instant commands, which take no place
                                // there, may be late
    std::uint32_t queue = 0;

    /// The first command that has not left its queue.
    InFlight& next_out();
    bool is_next_out_at_front() const { return num_out == num_run; }
  };
  struct Queue {
    Ring<std::uint32_t> fifo;  // streams, each as often as it has commands there
    // Why its head is blocked, so that it is not checked again before that changes.
    std::int64_t ready_ns = 0;          // time when its head is enqueued; 0: it waits for the stream below
    std::uint32_t awaited = kNoStream;  // kNoStream: unknown
    std::uint64_t seen = 0;             // of that stream's num_run
  };
  static constexpr std::uint32_t kNoStream = 0xFFFFFFFF;

  void run_host(std::int64_t now);
  bool host_may_go_on(const ProgramCommand& command);
  void follow_host_wait(const ProgramCommand& command);
  bool next_chunk();
  void set_up(const Program& program);
  void enqueue(const ProgramCommand& command, std::uint32_t index);
  std::int64_t host_cost(const ProgramCommand& command) const;
  std::int64_t host_work_ns(HostWork work) const;
  void try_queue(Queue& queue, std::int64_t now, std::vector<InFlight>& begin);
  bool try_head(Queue& queue, std::int64_t now, std::vector<InFlight>& begin);
  bool is_stuck(const Queue& queue, std::int64_t now);
  void ripen(std::uint32_t stream);
  void pass_ripe(std::int64_t now);
  void pass_instants(std::uint32_t stream, std::int64_t now);
  void pop(StreamState& stream);
  void wake_at(std::int64_t ns);

  Source source_;
  OnMark on_mark_;
  HostCosts host_;
  std::int32_t connections_;
  std::int64_t host_ns_ = 0;
  std::size_t next_command_ = 0;  // of the newest chunk
  bool is_over_ = false;
  bool host_is_held_ = false;
  bool has_moved_ = false;            // something left a queue or a stream
  bool has_news_ = true;              // since the last advance(): without news, it has no work before next_wake_ns_
  std::uint32_t num_operations_ = 0;  // since the last mark
  std::int64_t num_waiting_launches_ = 0;
  std::size_t num_in_flight_ = 0;
  std::int64_t next_wake_ns_ = 0;
  std::deque<std::unique_ptr<Chunk>> chunks_;
  std::vector<StreamState> streams_;
  std::vector<Queue> queues_;
  std::vector<std::uint64_t> num_enqueued_;  ///< by stream: commands, counted from the device's first
  bool keeps_event_edges_ = false;
  EventEdges event_edges_;
  std::optional<EventEdges::Place> last_over_{};        // the operation that ended last
  std::optional<EventEdges::Place> host_waited_for_{};  // the last operation that blocked the host
  std::vector<std::uint32_t> ripe_;                     // streams whose front may have an instant command
};

}  // namespace underlap::sim
