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

/// The run's side of the exchange between its ranks: published values and waiting ranks.
class SharedValues {
 public:
  using Values = std::vector<std::optional<std::string>>;  ///< for the requested keys; nullopt: not published yet
  /// Sends the answer to a rank that waited.
  using Answer = std::function<void(std::int32_t rank, const Values& values)>;

  explicit SharedValues(Answer answer) : answer_(std::move(answer)) {}

  /// Publishes a value; the first value of a key stays. Answers ranks that waited only for this key.
  void put(const std::string& key, std::string value);
  /// Answers `rank` when all of `keys` are published: at once if they are.
  void wait(std::int32_t rank, std::vector<std::string> keys, Deadline deadline);
  /// Answers ranks whose deadline has passed with the values that exist.
  void answer_the_late(Deadline now);
  /// The earliest deadline of a waiting rank.
  std::optional<Deadline> next_due() const;
  /// Drops all values: ranks are connected and request no more.
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
  std::multimap<std::string, std::list<Waiter>::iterator> wanted_;  // by missing key
};

}  // namespace underlap::bench
