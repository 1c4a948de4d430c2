// SPDX-License-Identifier: Apache-2.0
// Reports which streams and hosts wait for which others when the engine is stuck.
#include <fmt/format.h>

#include <algorithm>

#include "impl/device/sim/engine_state.hpp"
#include "platform/errors.hpp"

namespace underlap::sim {
namespace {

constexpr std::size_t kMostLines = 40;

std::string text(std::int32_t rank, const InFlight& item) {
  return fmt::format("rank {} {}", rank, describe(item.program(), item.command()));
}

std::string missing_text(const std::vector<std::int32_t>& ranks) {
  return ranks.empty() ? "a member's SMs" : fmt::format("rank {}", fmt::join(ranks, ", "));
}

}  // namespace

// Describes what blocks the front of a stream.
std::string Engine::explain(std::int32_t r, const InFlight& front) const {
  Rank& rank = *ranks_[static_cast<std::size_t>(r)];
  const std::int32_t number = rank.number;
  if (front.state == InFlight::State::running) {
    const auto running = std::find_if(rank.running.begin(), rank.running.end(), [&front](const Running& candidate) {
      return candidate.item.chunk != nullptr && candidate.item.stream == front.stream;
    });
    if (running == rank.running.end()) return text(number, front);
    if (running->start_ns < 0) return text(number, front) + " waits for SMs that other kernels hold";
    std::string line = text(number, front);
    const auto id = static_cast<SharedDevice::Id>(running - rank.running.begin());
    const auto is_here = [r, id](const Member& member) { return member.rank == r && member.id == id; };
    for (const Rendezvous::Entry& entry : running->entries)
      if (std::ranges::any_of(flows_[entry.flow].members, is_here))  // else it is over; its number may be reused
        line += " waits for " + missing_text(rendezvous_.missing(entry.flow));
    return line;
  }
  const InFlight* const head = rank.queues.head_of_queue(front.stream);
  if (head != nullptr && head != &front)
    return fmt::format("{} is queued after {} in a hardware queue", text(number, front),
                       describe(head->program(), head->command()));
  return text(number, front);
}

void Engine::report_deadlock() const {
  std::vector<std::string> lines;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const auto rank = static_cast<std::int32_t>(r);
    const RankQueues& queues = ranks_[r]->queues;
    for (std::uint32_t s = 0; s < queues.num_streams(); ++s)
      if (!queues.stream(s).empty()) lines.push_back(explain(rank, queues.stream(s).front()));
    if (const auto command = queues.host_waits_for())
      lines.push_back(fmt::format("rank {} {}", number_of(rank), describe(ranks_[r]->program(), *command)));
  }
  const std::size_t num_left_out = lines.size() > kMostLines ? lines.size() - kMostLines : 0;
  lines.resize(lines.size() - num_left_out);
  std::string message = fmt::format("deadlock after {} ns of simulated time:", now_);
  for (const std::string& line : lines) message += "\n  " + line;
  if (num_left_out > 0) message += fmt::format("\n  and {} more", num_left_out);
  throw MachineError(message);
}

}  // namespace underlap::sim
