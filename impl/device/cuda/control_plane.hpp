// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "impl/device/device.hpp"

namespace underlap::cuda {

/// Messages between ranks outside their transfers: small, rare, and never from the device.
class ControlPlane {
 public:
  virtual ~ControlPlane() = default;

  /// Sends `bytes` of the group's first member to all members. All members call it with the same number of bytes and
  /// the same groups in the same order. Returns after all of them have called. Throws MachineError naming `what` and
  /// the ranks that did not come in time, and throws at once if a rank has failed.
  virtual void broadcast(std::string_view what, const Group& group, std::span<std::byte> bytes) = 0;

  /// Notifies all ranks that `rank` failed, with the reason. The first failure is kept. From any thread; returns at
  /// once.
  virtual void fail(std::int32_t rank, std::string_view why) noexcept = 0;

  /// The first failure that any rank reported: the cause of the others' failures. From any thread, cheap.
  virtual std::optional<std::string> failure() = 0;
};

/// Gathers the bytes of each member, in the order of members; `bytes` is this member's, and all have equal sizes.
/// Otherwise as ControlPlane::broadcast().
std::vector<std::vector<std::byte>> all_gather(ControlPlane& control, std::string_view what, const Group& group,
                                               std::span<const std::byte> bytes);

/// The ranks are threads of one process.
class ThreadControlPlane final : public ControlPlane {
 public:
  explicit ThreadControlPlane(std::chrono::milliseconds timeout) : timeout_(timeout) {}

  void broadcast(std::string_view what, const Group& group, std::span<std::byte> bytes) override;
  void fail(std::int32_t rank, std::string_view why) noexcept override;
  std::optional<std::string> failure() override;

 private:
  struct Exchange {
    std::set<std::int32_t> present;
    std::vector<std::byte> bytes;
  };

  std::chrono::milliseconds timeout_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<std::vector<std::int32_t>, std::int32_t>, std::uint64_t> num_calls_;  // by (members, own index)
  std::map<std::pair<std::vector<std::int32_t>, std::uint64_t>, Exchange> exchanges_;      // by (members, which)
  std::optional<std::string> failure_;
};

}  // namespace underlap::cuda
