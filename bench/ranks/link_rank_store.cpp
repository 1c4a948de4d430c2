// SPDX-License-Identifier: Apache-2.0
#include "bench/ranks/link_rank_store.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "bench/ranks/shared_values.hpp"

namespace underlap::bench {

void LinkRankStore::send(RankMessage kind, const std::string& payload) {
  const std::lock_guard lock(sending_);
  run_.send(static_cast<std::uint32_t>(kind), payload);
}

void LinkRankStore::put(const std::string& key, std::string_view value) {
  send(RankMessage::put, to_message(MeetingPut{key, std::string(value)}));
}

// The run answers in any case, and ends its ranks where another failed: there is no deadline here.
std::vector<std::optional<std::string>> LinkRankStore::get(const std::vector<std::string>& keys,
                                                           std::chrono::milliseconds timeout) {
  send(RankMessage::get, to_message(MeetingGet{keys, timeout}));
  const Message answer = run_.receive();
  if (static_cast<RankMessage>(answer.kind) != RankMessage::met)
    throw std::logic_error(fmt::format("a rank that asked for its peers received message {}", answer.kind));
  return from_message<SharedValues::Values>(answer.payload);
}

void LinkRankStore::fail(std::string_view why) noexcept {
  if (!is_open_) return;
  try {
    send(RankMessage::failed, to_message(RankFailure{RankFailure::Kind::machine, std::string(why)}));
  } catch (const MachineError&) {
    // The run has ended, for a reason that it knows.
  }
}

}  // namespace underlap::bench
