// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "bench/launch/rank_link.hpp"
#include "bench/ranks/rank_messages.hpp"

namespace underlap::bench {

/// One rank process of a run: its last order, and whether it has answered.
class RankProcess {
 public:
  RankProcess(std::int32_t rank, std::unique_ptr<RankLink> link, LineSink sink);

  std::int32_t rank() const { return rank_; }
  /// "rank 3", or "rank 3 on node2" if there are several machines.
  std::string name() const;
  RankLink& link() { return *link_; }
  RankOutput& output() { return output_; }
  /// Reads what it has printed.
  void read_output() { link_->read(output_); }

  /// Sends an order; `task` describes it: "build cell a". Throws as MessageChannel::send() does.
  void order(RankMessage kind, const std::string& payload, std::string task);
  /// Stores the answer to the last order.
  void take_answer(Message answer);

  const std::string& task() const { return task_; }
  bool is_waited_for() const { return is_waited_for_; }
  /// Marks the rank as failed: no answer is expected any more.
  void give_up() { is_waited_for_ = false; }
  std::optional<Message>& answer() { return answer_; }

 private:
  std::int32_t rank_;
  std::unique_ptr<RankLink> link_;
  RankOutput output_;
  std::string task_ = "start";
  bool is_waited_for_ = false;
  std::optional<Message> answer_;
};

}  // namespace underlap::bench
