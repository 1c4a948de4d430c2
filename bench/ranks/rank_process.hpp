// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/ranks/rank_messages.hpp"
#include "platform/child_process.hpp"
#include "platform/message_channel.hpp"

namespace underlap::bench {

/// Takes one finished line, without its end.
using LineSink = std::function<void(const std::string&)>;

/// What a rank prints, line by line. A line is held for a moment before it is handed on: one that comes with the end of
/// the rank belongs to the error that tells of it.
class RankOutput {
 public:
  explicit RankOutput(LineSink sink) : sink_(std::move(sink)) {}

  /// Takes what is there now.
  void read_from(int descriptor);
  /// Nothing more can come.
  bool has_ended() const { return has_ended_; }
  /// Hands on the lines that were held long enough, or with `all` every one.
  void forward(bool all);
  /// When the next line is due.
  std::optional<Deadline> next_due() const;
  /// The last lines that nobody has seen; they are not handed on any more.
  std::vector<std::string> take_last_lines();

 private:
  struct Line {
    std::string text;
    Deadline due;
  };
  void add(std::string_view bytes);

  LineSink sink_;
  bool has_ended_ = false;
  std::string unfinished_;
  std::deque<Line> held_;
};

/// The run's side of one rank that is a process: what it was told, and whether it has answered.
class RankProcess {
 public:
  RankProcess(std::int32_t rank, const ChildOptions& options, LineSink sink);

  std::int32_t rank() const { return rank_; }
  ChildProcess& child() { return child_; }
  MessageChannel& channel() { return channel_; }
  RankOutput& output() { return output_; }

  /// Sends an order; `told` says it in words: "build cell a". Throws as MessageChannel::send() does.
  void order(RankMessage kind, const std::string& payload, std::string told);
  /// Takes an answer where one has come. Throws as MessageChannel::try_receive() does.
  void listen();

  const std::string& told() const { return told_; }
  bool is_waited_for() const { return is_waited_for_; }
  /// It failed: nothing more is expected of it.
  void give_up() { is_waited_for_ = false; }
  std::optional<Message>& answer() { return answer_; }

 private:
  std::int32_t rank_;
  ChildProcess child_;
  MessageChannel channel_;
  RankOutput output_;
  std::string told_ = "start";
  bool is_waited_for_ = false;
  std::optional<Message> answer_;
};

}  // namespace underlap::bench
