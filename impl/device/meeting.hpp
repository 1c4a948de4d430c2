// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace underlap {

/// Where ranks that are processes find each other while they connect: values under keys, which all ranks of a set put
/// and read. It says nothing of how they reach it.
class Meeting {
 public:
  virtual ~Meeting() = default;

  /// Puts a value under a key, where all ranks find it; of two the first stays.
  virtual void put(const std::string& key, std::string_view value) = 0;

  /// The values of `keys`, in their order. Waits for those that are not there, no longer than `timeout`; what has not
  /// come by then is nullopt. On one thread at a time.
  virtual std::vector<std::optional<std::string>> get(const std::vector<std::string>& keys,
                                                      std::chrono::milliseconds timeout) = 0;

  /// Tells the others that this rank failed, and why. From any thread; returns at once.
  virtual void fail(std::string_view why) noexcept = 0;
};

}  // namespace underlap
