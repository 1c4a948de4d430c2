// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "bench/launch/agent_messages.hpp"
#include "bench/launch/rank_link.hpp"
#include "platform/network/tcp.hpp"

namespace underlap::bench {

/// The run's side of an agent: a launched process that starts rank processes on its machine, and reports on them.
class Agent {
 public:
  /// State of one of its rank processes.
  struct Child {
    std::string printed;  ///< but not read yet
    bool is_stopped = false;
    std::optional<std::string> end;  ///< how it ended
  };

  Agent(MessageChannel channel, Hello hello);

  const Hello& hello() const { return hello_; }
  /// "rank 3 on node2".
  std::string name() const;

  /// Orders the agent to start a rank process and returns its number. Throws as MessageChannel::send() does.
  std::int32_t start(const ChildOptions& options);
  void kill(std::int32_t child) noexcept { send(AgentMessage::kill, {.child = child}); }
  /// Sends the agent the run's exit code: the run is over.
  void end(int exit_code) noexcept { send(AgentMessage::end, {.number = exit_code}); }

  /// The address of this machine by which the agent reached it.
  std::string address_here() const { return own_address(channel_.socket()); }

  /// Reads all of its pending messages.
  void read();
  Child& child(std::int32_t number) { return children_[number]; }
  /// To poll; -1 if the agent is lost.
  int descriptor() const { return is_lost() ? -1 : channel_.descriptor(); }
  bool is_lost() const { return lost_.has_value(); }
  /// Why the agent is lost.
  const std::string& why_lost() const { return *lost_; }

 private:
  void send(AgentMessage kind, const ChildNews& news) noexcept;
  void take(const Message& message);

  MessageChannel channel_;
  Hello hello_;
  std::optional<std::string> lost_;
  std::int32_t num_children_ = 0;
  std::map<std::int32_t, Child> children_;
};

/// A rank that an agent started: it has its own connection for orders and answers; the agent reports on its process.
class AgentLink final : public RankLink {
 public:
  /// `agent` outlives this.
  AgentLink(MessageChannel channel, Agent& agent, std::int32_t child)
      : RankLink(std::move(channel)), agent_(agent), child_(child) {}

  int watched() const override { return agent_.descriptor(); }
  void read(RankOutput& output) override;
  bool is_stopped() override;
  std::optional<std::string> end(std::chrono::milliseconds timeout) override;
  void begin_to_kill() noexcept override;
  void kill() noexcept override;
  pid_t pid() const override { return static_cast<pid_t>(agent_.hello().place.pid); }
  std::string node() const override { return agent_.hello().place.node; }

 private:
  Agent& agent_;
  std::int32_t child_;
  bool is_killed_ = false;
};

}  // namespace underlap::bench
