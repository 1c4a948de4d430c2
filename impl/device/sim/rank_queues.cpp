// SPDX-License-Identifier: Apache-2.0
#include "impl/device/sim/rank_queues.hpp"

#include <algorithm>

#include "impl/device/sim/shared_device.hpp"

namespace underlap::sim {
namespace {

using Type = ProgramCommand::Type;

bool is_wait(Type type) { return type == Type::wait || type == Type::throttle; }

bool is_operation(Type type) { return type == Type::launch || type == Type::communicate || type == Type::upload; }

// Takes no time and no place in a hardware queue.
bool is_instant(Type type) { return type == Type::mark || type == Type::acquire || type == Type::release; }

}  // namespace

RankQueues::RankQueues(Source source, OnMark on_mark, const HostCosts& host, std::int32_t connections)
    : source_(std::move(source)), on_mark_(std::move(on_mark)), host_(host), connections_(connections) {}

void RankQueues::set_up(const Program& program) {
  streams_.resize(program.streams.size());
  const std::size_t num_queues =
      connections_ > 0 ? std::min(static_cast<std::size_t>(connections_), streams_.size()) : streams_.size();
  queues_.resize(num_queues);
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    streams_[i].queue = static_cast<std::uint32_t>(i % num_queues);
    streams_[i].num_run = streams_[i].num_out = program.first_positions[i];
    num_enqueued_.push_back(program.first_positions[i]);
  }
}

// The host ------------------------------------------------------------------------------------------------------------

bool RankQueues::next_chunk() {
  while (!chunks_.empty() && chunks_.front()->num_left == 0) chunks_.pop_front();
  std::optional<Program> program = source_();
  is_over_ = !program;
  if (is_over_) return false;
  if (streams_.empty()) set_up(*program);
  chunks_.push_back(std::make_unique<Chunk>(Chunk{std::move(*program), 0}));
  const auto& commands = chunks_.back()->program.commands;
  chunks_.back()->num_left = static_cast<std::size_t>(
      std::count_if(commands.begin(), commands.end(), [](const ProgramCommand& c) { return c.is_on_stream(); }));
  next_command_ = 0;
  return true;
}

void RankQueues::run_host(std::int64_t now) {
  if (host_is_held_ && host_ns_ < now) {
    host_ns_ = now;
    host_waited_for_ = last_over_;
  }
  host_is_held_ = false;
  while (!is_over_) {
    if (chunks_.empty() || next_command_ == chunks_.back()->program.commands.size()) {
      if (!next_chunk()) return;
      continue;
    }
    const ProgramCommand& command = chunks_.back()->program.commands[next_command_];
    host_is_held_ = !host_may_go_on(command);
    if (host_is_held_) return;
    host_ns_ += host_cost(command);
    if (keeps_event_edges_) follow_host_wait(command);
    if (command.is_on_stream()) enqueue(command, static_cast<std::uint32_t>(next_command_));
    ++next_command_;
  }
}

// Later commands of the host follow the operations that it waited for.
void RankQueues::follow_host_wait(const ProgramCommand& command) {
  const bool waits = command.type == Type::synchronize || (command.type == Type::host_work && host_.synchronizes);
  if (!waits) return;
  for (std::uint32_t stream = 0; stream < streams_.size(); ++stream) {
    if (command.awaited_stream != ProgramCommand::kAllStreams) {
      event_edges_.add_wait(stream, command.awaited_stream, command.awaited_position);
      continue;
    }
    for (std::uint32_t other = 0; other < streams_.size(); ++other)
      event_edges_.add_wait(stream, other, num_enqueued_[other]);
  }
}

bool RankQueues::host_may_go_on(const ProgramCommand& command) {
  if (command.type == Type::launch || command.type == Type::communicate)
    return num_waiting_launches_ < host_.queue_depth;
  if (command.type == Type::host_work)
    return !host_.synchronizes || has_passed(command.awaited_stream, command.awaited_position);
  if (command.type != Type::synchronize) return true;
  if (command.awaited_stream == ProgramCommand::kAllStreams) return num_in_flight_ == 0;
  return has_passed(command.awaited_stream, command.awaited_position);
}

std::int64_t RankQueues::host_work_ns(HostWork work) const {
  switch (work) {
    case HostWork::pass: return host_.pass_ns;
    case HostWork::synchronize: return host_.synchronize_ns;
    case HostWork::iteration: return host_.iteration_ns;
  }
  return 0;
}

std::int64_t RankQueues::host_cost(const ProgramCommand& command) const {
  switch (command.type) {
    case Type::launch: return host_.launch_ns;
    case Type::communicate: return host_.communicate_ns;
    case Type::upload: return host_.copy_ns;
    case Type::wait:
    case Type::throttle: return host_.event_ns;
    case Type::host_work: return host_work_ns(command.work);
    default: return 0;
  }
}

void RankQueues::enqueue(const ProgramCommand& command, std::uint32_t index) {
  InFlight item{.chunk = chunks_.back().get(),
                .ready_ns = host_ns_,
                .awaited_position = command.awaited_position,
                .awaited_stream = command.awaited_stream,
                .stream = command.stream,
                .index = index,
                .type = command.type};
  ++num_enqueued_[command.stream];
  if (keeps_event_edges_ && is_wait(command.type))
    event_edges_.add_wait(command.stream, command.awaited_stream, command.awaited_position);
  if (is_operation(command.type)) {
    if (keeps_event_edges_) event_edges_.add_operation(command.stream, num_enqueued_[command.stream]);
    item.operation = ++num_operations_;
    item.host_waited_for = host_waited_for_;
    item.ready_ns += host_.start_ns;
  }
  if (command.type == Type::mark) num_operations_ = 0;
  if (command.type == Type::launch || command.type == Type::communicate) ++num_waiting_launches_;
  StreamState& stream = streams_[command.stream];
  stream.fifo.push_back(item);
  ++num_in_flight_;
  if (!is_instant(command.type)) return queues_[stream.queue].fifo.push_back(command.stream);
  if (stream.fifo.size() == 1) ripen(command.stream);
}

// Queues and streams --------------------------------------------------------------------------------------------------

void RankQueues::advance(std::int64_t now, std::vector<InFlight>& begin) {
  if (!std::exchange(has_news_, false) && now < next_wake_ns_) return;
  do {
    has_moved_ = false;
    next_wake_ns_ = SharedDevice::kNever;
    run_host(now);
    pass_ripe(now);
    for (Queue& queue : queues_) try_queue(queue, now, begin);
  } while (has_moved_);
}

void RankQueues::try_queue(Queue& queue, std::int64_t now, std::vector<InFlight>& begin) {
  while (!queue.fifo.empty() && !is_stuck(queue, now) && try_head(queue, now, begin)) {
    queue.fifo.pop_front();
    has_moved_ = true;
  }
}

InFlight& RankQueues::StreamState::next_out() {
  while (is_instant(fifo[num_out - num_run].type)) ++num_out;
  return fifo[num_out - num_run];
}

// Whether the head of a queue is blocked for the same reason as last time.
bool RankQueues::is_stuck(const Queue& queue, std::int64_t now) {
  if (queue.ready_ns > now) return wake_at(queue.ready_ns), true;
  return queue.awaited != kNoStream && streams_[queue.awaited].num_run == queue.seen;
}

// Tries to release the head of a queue; returns whether it left.
bool RankQueues::try_head(Queue& queue, std::int64_t now, std::vector<InFlight>& begin) {
  StreamState& stream = streams_[queue.fifo.front()];
  InFlight& head = stream.next_out();
  const auto stays = [&](std::int64_t ready_ns, std::uint32_t awaited) {
    queue.ready_ns = ready_ns;
    queue.awaited = awaited;
    queue.seen = awaited == kNoStream ? 0 : streams_[awaited].num_run;
    return false;
  };
  if (head.ready_ns > now) return wake_at(head.ready_ns), stays(head.ready_ns, kNoStream);
  if (is_wait(head.type)) {
    if (!has_passed(head.awaited_stream, head.awaited_position)) return stays(0, head.awaited_stream);
    head.state = InFlight::State::over;
    if (stream.is_next_out_at_front()) ripen(head.stream);
  } else {
    if (!stream.is_next_out_at_front()) return stays(0, head.stream);
    head.state = InFlight::State::running;
    begin.push_back(head);
  }
  ++stream.num_out;
  queue.awaited = kNoStream;
  return true;
}

void RankQueues::ripen(std::uint32_t stream) {
  if (std::find(ripe_.begin(), ripe_.end(), stream) == ripe_.end()) ripe_.push_back(stream);
}

// In the order of the streams, so that their marks are reported in this order.
void RankQueues::pass_ripe(std::int64_t now) {
  if (ripe_.empty()) return;
  std::sort(ripe_.begin(), ripe_.end());
  for (const std::uint32_t stream : ripe_) pass_instants(stream, now);
  std::erase_if(ripe_, [this](std::uint32_t id) {
    const Ring<InFlight>& fifo = streams_[id].fifo;
    return fifo.empty() || !is_instant(fifo.front().type);
  });
}

// Pops finished items at the front of a stream, and the instant commands that reach it.
void RankQueues::pass_instants(std::uint32_t id, std::int64_t now) {
  StreamState& stream = streams_[id];
  while (!stream.fifo.empty()) {
    InFlight& front = stream.fifo.front();
    if (is_instant(front.type)) {
      if (front.ready_ns > now) return ripen(id), wake_at(front.ready_ns);
      if (front.type == Type::mark) on_mark_(front.command(), now);
      front.state = InFlight::State::over;
    }
    if (front.state != InFlight::State::over) return;
    pop(stream);
  }
}

void RankQueues::pop(StreamState& stream) {
  --stream.fifo.front().chunk->num_left;
  stream.fifo.pop_front();
  ++stream.num_run;
  stream.num_out = std::max(stream.num_out, stream.num_run);
  --num_in_flight_;
  has_moved_ = true;
}

void RankQueues::complete(std::uint32_t id, std::uint32_t index, std::int64_t now) {
  has_news_ = true;
  last_over_ = {id, index};
  streams_[id].fifo.front().state = InFlight::State::over;
  pass_instants(id, now);
}

void RankQueues::clear_event_edges() {
  event_edges_.clear();
  last_over_.reset();
  host_waited_for_.reset();
}

void RankQueues::wake_at(std::int64_t ns) { next_wake_ns_ = std::min(next_wake_ns_, ns); }

// Messages ------------------------------------------------------------------------------------------------------------

const InFlight* RankQueues::head_of_queue(std::uint32_t stream) {
  const Queue& queue = queues_[streams_[stream].queue];
  return queue.fifo.empty() ? nullptr : &streams_[queue.fifo.front()].next_out();
}

std::optional<ProgramCommand> RankQueues::host_waits_for() const {
  if (!host_is_held_) return std::nullopt;
  return chunks_.back()->program.commands[next_command_];
}

}  // namespace underlap::sim
