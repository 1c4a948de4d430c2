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

/// A piece of a rank's program that is being simulated. It is dropped once all of it has run.
struct Chunk {
  Program program;
  std::size_t num_left = 0;  ///< commands on streams that have not run
};

/// A command on its way through its stream, with all that its way depends on: the command itself, far behind in a long
/// program, is looked at when it begins and when it ends.
struct InFlight {
  enum class State : std::uint8_t { queued, running, over };

  Chunk* chunk = nullptr;
  std::int64_t ready_ns = 0;           ///< the host had enqueued it and the device may begin
  std::uint64_t awaited_position = 0;  ///< of a wait, as its command has it
  std::uint32_t awaited_stream = 0;
  std::uint32_t stream = 0;
  std::uint32_t index = 0;                             ///< into the chunk's commands
  std::uint32_t operation = 0;                         ///< number in its rank's step, from 1; 0: no operation
  std::optional<EventEdges::Place> host_waited_for{};  ///< the last operation that held the host before this
  ProgramCommand::Type type{};
  State state = State::queued;

  const Program& program() const { return chunk->program; }
  const ProgramCommand& command() const { return chunk->program.commands[index]; }
};

/// The host and the streams of one rank: what has been enqueued, what is at the head of a hardware queue, what has run.
///
/// Streams are dealt round robin onto `connections` hardware queues, in the order of their creation. A queue passes its
/// commands on in the order in which the host gave them: one that must wait, for an event or for the command before it
/// in its stream, holds up everything behind it. Recording an event and marking a step take no place in a queue.
/// That a kernel behind a running one of its stream, and a wait, hold up their queue is an assumption until measured.
class RankQueues {
 public:
  /// Gives the next piece of the rank's program, or nothing where it is over.
  using Source = std::function<std::optional<Program>()>;
  using OnMark = std::function<void(const ProgramCommand&, std::int64_t now)>;

  /// `connections` 0: a queue for each stream.
  RankQueues(Source source, OnMark on_mark, const HostCosts& host, std::int32_t connections);

  /// Which operations waited for which events, since it was last cleared; nothing before keep_event_edges().
  EventEdges& event_edges() { return event_edges_; }
  void keep_event_edges() { keeps_event_edges_ = true; }

  /// Lets the host enqueue what it can, and passes on all that is free to pass at `now`. Returns the commands that
  /// begin: launches, transfers and uploads, in order. Each is over when complete() says so.
  void advance(std::int64_t now, std::vector<InFlight>& begin);

  /// The source has more to give after it gave nothing: a host that ran dry goes on at the next advance(), not before.
  void resume() {
    host_is_held_ = host_is_held_ || std::exchange(is_over_, false);
    has_news_ = true;
  }

  /// The command that runs on `stream` is over. `index`: among the stream's operations, as event_edges() counts them.
  void complete(std::uint32_t stream, std::uint32_t index, std::int64_t now);

  /// Forgets what event_edges() holds, and counts operations from 0 again.
  void clear_event_edges();

  /// A launch that began has got its place on the device: the host may enqueue one more.
  void started() {
    --num_waiting_launches_;
    has_news_ = has_news_ || host_is_held_;
  }

  /// When advance() has something to do though nothing completes; SharedDevice::kNever otherwise.
  std::int64_t next_wake_ns() const { return next_wake_ns_; }

  /// Whether everything has run and there is nothing more to come.
  bool is_over() const { return is_over_ && num_in_flight_ == 0; }

  /// The streams of the rank; empty before the first piece of program.
  std::size_t num_streams() const { return streams_.size(); }

  // For messages about what does not go on.
  const Ring<InFlight>& stream(std::uint32_t id) const { return streams_[id].fifo; }
  const InFlight* head_of_queue(std::uint32_t stream);
  std::optional<ProgramCommand> host_waits_for() const;
  const Program& newest_program() const { return chunks_.back()->program; }
  bool has_passed(std::uint32_t stream, std::uint64_t position) const { return streams_[stream].num_run >= position; }

 private:
  struct StreamState {
    Ring<InFlight> fifo;  // enqueued and not yet run
    std::uint64_t num_run = 0;
    std::uint64_t num_out = 0;  // of its queue, and all before them; marks, which take no place there, may lag behind
    std::uint32_t queue = 0;

    /// The first that is not out of its queue.
    InFlight& next_out();
    bool is_next_out_at_front() const { return num_out == num_run; }
  };
  struct Queue {
    Ring<std::uint32_t> fifo;  // streams, each as often as it has commands there
    // Why its head stayed, so that nobody looks at it again before that is over.
    std::int64_t ready_ns = 0;          // its head is enqueued then; 0: it waits for the stream below
    std::uint32_t awaited = kNoStream;  // kNoStream: nothing is known
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
  bool has_news_ = true;              // since the last advance(): without, it has nothing to do before next_wake_ns_
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
  std::optional<EventEdges::Place> last_over_{};        // the operation that was over last
  std::optional<EventEdges::Place> host_waited_for_{};  // the last that held the host
  std::vector<std::uint32_t> ripe_;  // streams at whose front something may have come that takes no time
};

}  // namespace underlap::sim
