// SPDX-License-Identifier: Apache-2.0
#include "bench/ranks/shared_values.hpp"

#include <algorithm>

namespace underlap::bench {

void SharedValues::put(const std::string& key, std::string value) {
  if (!values_.try_emplace(key, std::move(value)).second) return;
  const auto [first, last] = wanted_.equal_range(key);
  for (auto wanting = first; wanting != last; ++wanting) {
    if (--wanting->second->num_missing > 0) continue;
    answer(*wanting->second);
    waiters_.erase(wanting->second);
  }
  wanted_.erase(first, last);
}

void SharedValues::wait(std::int32_t rank, std::vector<std::string> keys, Deadline deadline) {
  const auto waiter = waiters_.insert(waiters_.end(), {rank, std::move(keys), deadline, 0});
  for (const std::string& key : waiter->keys) {
    if (values_.contains(key)) continue;
    wanted_.emplace(key, waiter);
    ++waiter->num_missing;
  }
  if (waiter->num_missing > 0) return;
  answer(*waiter);
  waiters_.erase(waiter);
}

void SharedValues::answer_the_late(Deadline now) {
  for (auto waiter = waiters_.begin(); waiter != waiters_.end();) {
    if (waiter->deadline > now) {
      ++waiter;
      continue;
    }
    answer(*waiter);
    std::erase_if(wanted_, [&](const auto& wanting) { return wanting.second == waiter; });
    waiter = waiters_.erase(waiter);
  }
}

std::optional<Deadline> SharedValues::next_due() const {
  const auto first = std::ranges::min_element(waiters_, {}, &Waiter::deadline);
  return first == waiters_.end() ? std::nullopt : std::optional(first->deadline);
}

void SharedValues::answer(const Waiter& waiter) const {
  Values values;
  for (const std::string& key : waiter.keys) {
    const auto found = values_.find(key);
    values.push_back(found == values_.end() ? std::nullopt : std::optional(found->second));
  }
  answer_(waiter.rank, values);
}

}  // namespace underlap::bench
