// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>

#include "bench/ranks/rank_messages.hpp"
#include "impl/device/rank_store.hpp"
#include "platform/network/message_channel.hpp"

namespace underlap::bench {

/// A rank's side of its channel to the run: it answers orders, and lets ranks find each other.
/// Ranks may meet only during an order that allows it. At other times nothing is sent, so that measurements are not
/// disturbed.
class LinkRankStore final : public RankStore {
 public:
  explicit LinkRankStore(MessageChannel& run) : run_(run) {}

  /// Sends a message to the run. Thread-safe. Throws as MessageChannel::send() does.
  void send(RankMessage kind, const std::string& payload = {});

  /// Sets whether ranks may meet from now on.
  void open(bool is_open) { is_open_ = is_open; }

  void put(const std::string& key, std::string_view value) override;
  std::vector<std::optional<std::string>> get(const std::vector<std::string>& keys,
                                              std::chrono::milliseconds timeout) override;
  void fail(std::string_view why) noexcept override;

 private:
  MessageChannel& run_;
  std::mutex sending_;
  std::atomic<bool> is_open_{false};
};

}  // namespace underlap::bench
