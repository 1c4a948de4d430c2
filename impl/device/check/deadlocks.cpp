// SPDX-License-Identifier: Apache-2.0
// Describes the circles of waits in which a greedy run is stuck.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "impl/device/check/greedy_run.hpp"

namespace underlap::check {

using Type = ProgramCommand::Type;

bool GreedyRun::is_host(const Waiter& waiter) const {
  return waiter.stream == ranks_[static_cast<std::size_t>(waiter.rank)].num_streams();
}

bool GreedyRun::is_stuck(const Waiter& waiter) const {
  const auto r = static_cast<std::size_t>(waiter.rank);
  if (is_host(waiter)) return state_[r].next < ranks_[r].num_commands();
  return state_[r].ended[waiter.stream] < ranks_[r].on_stream(waiter.stream).size();
}

// Every blocker of a stuck waiter is stuck itself: otherwise the waiter would have been released.
std::vector<GreedyRun::Blocker> GreedyRun::blockers(const Waiter& waiter) const {
  if (is_host(waiter)) return host_blockers(waiter.rank);
  const auto r = static_cast<std::size_t>(waiter.rank);
  const ProgramIndex& index = ranks_[r];
  const std::uint32_t first = index.on_stream(waiter.stream)[state_[r].ended[waiter.stream]];
  const std::string name = text_with_rank(ranks_, {waiter.rank, first});
  if (first >= state_[r].next)
    return {{{waiter.rank, index.num_streams()}, fmt::format("{} is not enqueued yet", name)}};
  const Queue& queue = queue_of(r, first);
  const bool is_waiting = queue.head < queue.commands.size();
  const ProgramCommand& command = index.command(first);
  if (is_waiting && queue.commands[queue.head] == first) return {{{waiter.rank, command.awaited_stream}, name}};
  if (state_[r].num_pending[first] > 0) return transfer_blockers(waiter.rank, first);
  const CommandPlace head{waiter.rank, queue.commands[queue.head]};
  return {
      {{waiter.rank, index.command(head.index).stream},
       fmt::format("{} is queued after {} in hardware queue {}", name, text_of(ranks_, head), queue_number(r, first))}};
}

std::vector<GreedyRun::Blocker> GreedyRun::host_blockers(std::int32_t rank) const {
  const auto r = static_cast<std::size_t>(rank);
  const std::uint32_t next = state_[r].next;
  const ProgramCommand& command = ranks_[r].command(next);
  const std::string name = text_with_rank(ranks_, {rank, next});
  if (awaits_position(command)) return {{{rank, command.awaited_stream}, name}};
  std::vector<Blocker> all;
  if (!command.is_on_stream()) {
    for (std::uint32_t stream = 0; stream < ranks_[r].num_streams(); ++stream)
      if (is_stuck({rank, stream})) all.push_back({{rank, stream}, name});
    return all;
  }
  const std::uint32_t queue = queue_number(r, next);
  for (std::uint32_t stream = queue; stream < ranks_[r].num_streams();
       stream += static_cast<std::uint32_t>(state_[r].queues.size()))
    if (is_stuck({rank, stream}))
      all.push_back({{rank, stream},
                     fmt::format("rank {} host: cannot enqueue {}, since hardware queue {} holds {} commands", rank,
                                 text_of(ranks_, {rank, next}), queue, limits_.queue_depth)});
  return all;
}

std::vector<GreedyRun::Blocker> GreedyRun::transfer_blockers(std::int32_t rank, std::uint32_t command) const {
  std::vector<Blocker> all;
  for (const std::uint32_t e : matching_.of_command[static_cast<std::size_t>(rank)][command])
    for (const Party& party : matching_.exchanges[e].parties) {
      if (!party.comes() || party.rank == rank) continue;
      const auto peer = static_cast<std::size_t>(party.rank);
      const std::uint32_t stream = ranks_[peer].command(party.command).stream;
      const bool has_started = state_[peer].num_pending[party.command] > 0 ||
                               state_[peer].ended[stream] >= ranks_[peer].position(party.command);
      if (!has_started)
        all.push_back({{party.rank, stream},
                       fmt::format("{} waits for rank {}", text_with_rank(ranks_, {rank, command}), party.rank)});
    }
  return all;
}

// Depth-first search over all stuck waiters. A path that returns to itself is a circle. Each waiter is visited once.
class GreedyRun::CircleSearch {
 public:
  explicit CircleSearch(const GreedyRun& run) : run_(run) {
    for (const ProgramIndex& index : run.ranks_) marks_.emplace_back(index.num_streams() + 1, Mark::none);
  }

  std::vector<Finding> search() {
    for (std::size_t r = 0; r < marks_.size(); ++r)
      for (std::uint32_t stream = 0; stream < marks_[r].size(); ++stream) visit({static_cast<std::int32_t>(r), stream});
    return std::move(findings_);
  }

 private:
  enum class Mark : std::uint8_t { none, on_way, done };

  Mark& mark(const Waiter& w) { return marks_[static_cast<std::size_t>(w.rank)][w.stream]; }

  void visit(const Waiter& start) {
    if (mark(start) != Mark::none || !run_.is_stuck(start)) return;
    enter(start);
    while (!way_.empty()) {
      Stop& stop = way_.back();
      if (stop.next == stop.blockers.size()) {
        mark(stop.waiter) = Mark::done;
        way_.pop_back();
        continue;
      }
      const Waiter next = stop.blockers[stop.next++].waiter;
      if (mark(next) == Mark::on_way)
        report(next);
      else if (mark(next) == Mark::none)
        enter(next);
    }
  }

  void enter(const Waiter& waiter) {
    mark(waiter) = Mark::on_way;
    way_.push_back({waiter, run_.blockers(waiter), 0});
  }

  void report(const Waiter& first) {
    std::size_t i = way_.size() - 1;
    while (way_[i].waiter.rank != first.rank || way_[i].waiter.stream != first.stream) --i;
    Finding finding{.kind = FindingKind::deadlock, .commands = {}, .what = {}, .remedy = {}};
    std::vector<std::string> clauses;
    for (; i < way_.size(); ++i) {
      clauses.push_back(way_[i].blockers[way_[i].next - 1].clause);
      finding.commands.push_back(command_of(way_[i].waiter));
    }
    finding.what = fmt::format("{}", fmt::join(shortened(std::move(clauses)), "; "));
    finding.remedy = "break the cycle: enqueue these in the same order on all ranks, or use separate streams";
    findings_.push_back(std::move(finding));
  }

  // For a circle through many ranks, its two ends are enough to read.
  static std::vector<std::string> shortened(std::vector<std::string> clauses) {
    constexpr std::ptrdiff_t kMost = 12;
    const std::ptrdiff_t num_dropped = std::ssize(clauses) - kMost;
    if (num_dropped <= 1) return clauses;
    const auto middle = clauses.begin() + kMost / 2;
    *middle = fmt::format("({} more in between)", num_dropped + 1);
    clauses.erase(middle + 1, middle + 1 + num_dropped);
    return clauses;
  }

  CommandPlace command_of(const Waiter& w) const {
    const auto r = static_cast<std::size_t>(w.rank);
    if (run_.is_host(w)) return {w.rank, run_.state_[r].next};
    return {w.rank, run_.ranks_[r].on_stream(w.stream)[run_.state_[r].ended[w.stream]]};
  }

  struct Stop {
    Waiter waiter;
    std::vector<Blocker> blockers;
    std::size_t next = 0;
  };

  const GreedyRun& run_;
  std::vector<std::vector<Mark>> marks_;  // by rank and stream
  std::vector<Stop> way_;
  std::vector<Finding> findings_;
};

std::vector<Finding> GreedyRun::deadlocks() const { return CircleSearch(*this).search(); }

}  // namespace underlap::check
