// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/agent_link.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <exception>

namespace underlap::bench {
namespace {

using std::chrono::milliseconds;

// An agent reads at once, whatever its rank is at.
constexpr milliseconds kPatienceToSend{10'000};
constexpr milliseconds kPatienceToKill{10'000};
constexpr milliseconds kLookAtLink{100};

Deadline soon() { return std::chrono::steady_clock::now() + kPatienceToSend; }

}  // namespace

Agent::Agent(MessageChannel channel, Hello hello) : channel_(std::move(channel)), hello_(std::move(hello)) {
  channel_.trust(fmt::format("the launched process {} on {}", hello_.place.pid, hello_.place.node));
}

std::string Agent::name() const { return fmt::format("rank {} on {}", hello_.rank, hello_.place.node); }

std::int32_t Agent::start(const ChildOptions& options) {
  const std::int32_t number = num_children_++;
  children_[number] = {};
  const ChildOrder order{number, options.arguments, options.environment};
  channel_.send(static_cast<std::uint32_t>(AgentMessage::start), to_message(order), soon());
  return number;
}

void Agent::send(AgentMessage kind, const ChildNews& news) noexcept {
  if (is_lost()) return;
  try {
    channel_.send(static_cast<std::uint32_t>(kind), to_message(news), soon());
  } catch (const std::exception& error) {
    lost_ = error.what();
  }
}

void Agent::read() {
  try {
    while (!is_lost()) {
      const std::optional<Message> message = channel_.try_receive();
      if (!message) return;
      take(*message);
    }
  } catch (const std::exception& error) {
    lost_ = error.what();
  }
}

void Agent::take(const Message& message) {
  ChildNews news = from_message<ChildNews>(message.payload);
  Child& child = children_[news.child];
  switch (static_cast<AgentMessage>(message.kind)) {
    case AgentMessage::printed: child.printed += news.text; break;
    case AgentMessage::stopped: child.is_stopped = news.number != 0; break;
    case AgentMessage::ended: child.end = std::move(news.text); break;
    default: throw MachineError(fmt::format("{} sent an unknown message, {}", name(), message.kind));
  }
}

void AgentLink::read(RankOutput& output) {
  agent_.read();
  output.add(std::exchange(agent_.child(child_).printed, {}));
}

bool AgentLink::is_stopped() {
  agent_.read();
  const Agent::Child& child = agent_.child(child_);
  return child.is_stopped && !child.end && !agent_.is_lost();
}

std::optional<std::string> AgentLink::end(milliseconds timeout) {
  const Deadline deadline = std::chrono::steady_clock::now() + timeout;
  while (true) {
    agent_.read();
    if (const auto& end = agent_.child(child_).end) return end;
    if (agent_.is_lost()) return "is lost: " + agent_.why_lost();
    const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left <= milliseconds(0)) return std::nullopt;
    pollfd waiting{agent_.descriptor(), POLLIN, 0};
    ::poll(&waiting, 1, static_cast<int>(std::min(left, kLookAtLink).count()));
  }
}

void AgentLink::begin_to_kill() noexcept {
  if (!is_killed_ && !agent_.child(child_).end) agent_.kill(child_);
  is_killed_ = true;
}

void AgentLink::kill() noexcept {
  begin_to_kill();
  end(kPatienceToKill);
}

}  // namespace underlap::bench
