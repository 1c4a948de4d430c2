// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "impl/device/cuda/control_plane.hpp"
#include "impl/device/rank_store.hpp"

namespace underlap::cuda {

/// A control plane for ranks that are processes, on one machine or several; each is connected to their RankStore. Only
/// the rank's own thread calls broadcast(). A failure is sent to the RankStore, which ends the other ranks; failure()
/// returns only this rank's.
class StoreControlPlane final : public ControlPlane {
 public:
  /// `store` outlives this.
  StoreControlPlane(RankStore& store, std::chrono::milliseconds timeout) : store_(store), timeout_(timeout) {}

  void broadcast(std::string_view what, const Group& group, std::span<std::byte> bytes) override;
  void fail(std::int32_t rank, std::string_view why) noexcept override;
  std::optional<std::string> failure() override;

 private:
  RankStore& store_;
  std::chrono::milliseconds timeout_;
  std::map<std::vector<std::int32_t>, std::uint64_t> num_calls_;  // by members
  std::mutex mutex_;
  std::optional<std::string> failure_;
};

}  // namespace underlap::cuda
