// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>

#include "bench/ranks/rank_messages.hpp"
#include "impl/device/meeting.hpp"
#include "platform/network/message_channel.hpp"

namespace underlap::bench {

/// A rank's side of its channel to the run: what answers orders, and the way by which ranks meet.
///
/// Meeting holds while an order is carried out that lets it: at other times nothing is sent, so that none is disturbed
/// that is measured.
class LinkMeeting final : public Meeting {
 public:
  explicit LinkMeeting(MessageChannel& run) : run_(run) {}

  /// To the run. From any thread. Throws as MessageChannel::send() does.
  void send(RankMessage kind, const std::string& payload = {});

  /// Whether ranks may meet from now on.
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
