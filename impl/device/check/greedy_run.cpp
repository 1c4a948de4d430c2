// SPDX-License-Identifier: Apache-2.0
#include "impl/device/check/greedy_run.hpp"

#include <algorithm>

namespace underlap::check {

using Type = ProgramCommand::Type;

GreedyRun::GreedyRun(std::span<const ProgramIndex> ranks, const Matching& matching, const DeviceLimits& limits)
    : ranks_(ranks),
      matching_(matching),
      limits_(limits),
      state_(ranks.size()),
      num_started_(matching.exchanges.size(), 0) {
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const std::uint32_t num_streams = ranks[r].num_streams();
    state_[r].ended.resize(num_streams, 0);
    state_[r].queues.resize(limits.num_queues == 0 ? num_streams : std::min(limits.num_queues, num_streams));
    state_[r].num_pending.resize(ranks[r].num_commands(), 0);
  }
  run();
}

void GreedyRun::run() {
  for (std::size_t r = ranks_.size(); r-- > 0;) to_advance_.push_back(r);
  while (!to_advance_.empty()) {
    const std::size_t rank = to_advance_.back();
    to_advance_.pop_back();
    while (advance(rank)) {
    }
  }
}

// One sweep over a rank's queues and its host. Returns whether anything moved.
bool GreedyRun::advance(std::size_t rank) {
  Rank& state = state_[rank];
  bool has_moved = false;
  for (Queue& queue : state.queues)
    while (queue.head < queue.commands.size() && can_start(rank, queue.commands[queue.head])) {
      start(rank, queue.commands[queue.head++]);
      has_moved = true;
    }
  while (state.next < ranks_[rank].num_commands() && host_can_go_on(rank)) {
    const std::uint32_t command = state.next++;
    has_moved = true;
    if (!ranks_[rank].command(command).is_on_stream()) continue;
    Queue& queue = queue_of(rank, command);
    queue.commands.push_back(command);
    ++queue.num_unfinished;
  }
  return has_moved;
}

bool GreedyRun::host_can_go_on(std::size_t rank) const {
  const Rank& state = state_[rank];
  const ProgramCommand& command = ranks_[rank].command(state.next);
  if (command.is_on_stream()) return queue_of(rank, state.next).num_unfinished < limits_.queue_depth;
  if (command.type != Type::synchronize || awaits_position(command))
    return command.type != Type::synchronize || has_passed(rank, command);
  return std::all_of(state.queues.begin(), state.queues.end(), [](const Queue& q) { return q.num_unfinished == 0; });
}

bool GreedyRun::can_start(std::size_t rank, std::uint32_t index) const {
  const ProgramCommand& command = ranks_[rank].command(index);
  if (state_[rank].ended[command.stream] + 1 < ranks_[rank].position(index)) return false;
  return !awaits_position(command) || has_passed(rank, command);
}

bool GreedyRun::has_passed(std::size_t rank, const ProgramCommand& command) const {
  return state_[rank].ended[command.awaited_stream] >= ranks_[rank].awaited_position(command);
}

void GreedyRun::start(std::size_t rank, std::uint32_t command) {
  const std::vector<std::uint32_t>& exchanges = matching_.of_command[rank][command];
  state_[rank].num_pending[command] = static_cast<std::uint32_t>(exchanges.size());
  if (exchanges.empty()) return end(rank, command);
  for (const std::uint32_t e : exchanges) {
    const Exchange& exchange = matching_.exchanges[e];
    if (++num_started_[e] < exchange.parties.size()) continue;
    for (const Party& party : exchange.parties) {
      const auto peer = static_cast<std::size_t>(party.rank);
      if (--state_[peer].num_pending[party.command] == 0) end(peer, party.command);
    }
  }
}

void GreedyRun::end(std::size_t rank, std::uint32_t command) {
  ++state_[rank].ended[ranks_[rank].command(command).stream];
  --queue_of(rank, command).num_unfinished;
  if (!matching_.of_command[rank][command].empty()) to_advance_.push_back(rank);
}

std::uint32_t GreedyRun::queue_number(std::size_t rank, std::uint32_t command) const {
  return ranks_[rank].command(command).stream % static_cast<std::uint32_t>(state_[rank].queues.size());
}
const GreedyRun::Queue& GreedyRun::queue_of(std::size_t rank, std::uint32_t command) const {
  return state_[rank].queues[queue_number(rank, command)];
}
GreedyRun::Queue& GreedyRun::queue_of(std::size_t rank, std::uint32_t command) {
  return state_[rank].queues[queue_number(rank, command)];
}

bool GreedyRun::has_finished() const {
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const auto has_waiting = [](const Queue& queue) { return queue.num_unfinished > 0; };
    if (state_[r].next < ranks_[r].num_commands() ||
        std::any_of(state_[r].queues.begin(), state_[r].queues.end(), has_waiting))
      return false;
  }
  return true;
}

}  // namespace underlap::check
