// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace underlap::formats {

/// Values by the ids that a file gives them. Ids that are counted from 0 or 1, as most are, are found without hashing.
/// References hold until the next id is added.
template <class T>
class ById {
 public:
  const T* find(std::uint64_t id) const {
    if (id < small_.size()) return small_[id] ? &*small_[id] : nullptr;
    const auto found = large_.find(id);
    return found == large_.end() ? nullptr : &found->second;
  }

  T& operator[](std::uint64_t id) {
    if (id >= kSmall) return large_[id];
    if (id >= small_.size()) small_.resize(static_cast<std::size_t>(id) + 1);
    return small_[id] ? *small_[id] : small_[id].emplace();
  }

 private:
  // What a damaged file can make it take stays small.
  static constexpr std::uint64_t kSmall = std::uint64_t{1} << 16;

  std::vector<std::optional<T>> small_;
  std::unordered_map<std::uint64_t, T> large_;
};

}  // namespace underlap::formats
