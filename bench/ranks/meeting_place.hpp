// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "platform/network/message_channel.hpp"

namespace underlap::bench {

/// The run's side of where its ranks meet: what they have put, and who waits for what.
class MeetingPlace {
 public:
  using Values = std::vector<std::optional<std::string>>;  ///< of the keys asked for; nullopt: it has not come
  /// Takes the answer to a rank that waited.
  using Answer = std::function<void(std::int32_t rank, const Values& values)>;

  explicit MeetingPlace(Answer answer) : answer_(std::move(answer)) {}

  /// Of two values under one key the first stays. Who waited for this last is answered.
  void put(const std::string& key, std::string value);
  /// Answers `rank` once all of `keys` are there: at once where they are.
  void wait(std::int32_t rank, std::vector<std::string> keys, Deadline deadline);
  /// Answers those whose time is up with what there is.
  void answer_the_late(Deadline now);
  /// When the next one's time is up.
  std::optional<Deadline> next_due() const;
  /// Ranks are connected: nobody asks for what is here any more.
  void clear() { values_.clear(); }

 private:
  struct Waiter {
    std::int32_t rank = 0;
    std::vector<std::string> keys;
    Deadline deadline;
    std::size_t num_missing = 0;
  };
  void answer(const Waiter& waiter) const;

  Answer answer_;
  std::map<std::string, std::string> values_;
  std::list<Waiter> waiters_;
  std::multimap<std::string, std::list<Waiter>::iterator> wanted_;  // by key that is not there
};

}  // namespace underlap::bench
