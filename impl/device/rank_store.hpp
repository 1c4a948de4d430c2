// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace underlap {

/// Where ranks that are processes find each other while they connect: values under keys, which all ranks of a set put
/// and read. How the ranks reach it is up to the implementation.
class RankStore {
 public:
  virtual ~RankStore() = default;

  /// Puts a value under a key, where all ranks find it. A key keeps its first value.
  virtual void put(const std::string& key, std::string_view value) = 0;

  /// The values of `keys`, in their order. Waits at most `timeout` for missing values; those that are still missing are
  /// nullopt. Called on one thread at a time.
  virtual std::vector<std::optional<std::string>> get(const std::vector<std::string>& keys,
                                                      std::chrono::milliseconds timeout) = 0;

  /// Notifies the other ranks that this rank failed, with the reason. From any thread; returns at once.
  virtual void fail(std::string_view why) noexcept = 0;
};

}  // namespace underlap
