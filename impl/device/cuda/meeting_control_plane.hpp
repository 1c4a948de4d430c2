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
#include "impl/device/meeting.hpp"

namespace underlap::cuda {

/// A control plane for ranks that are processes, on one machine or several; each is connected to their Meeting. Only
/// the rank's own thread calls broadcast(). A failure is sent to the Meeting, which ends the other ranks; failure()
/// returns only this rank's.
class MeetingControlPlane final : public ControlPlane {
 public:
  /// `meeting` outlives this.
  MeetingControlPlane(Meeting& meeting, std::chrono::milliseconds timeout) : meeting_(meeting), timeout_(timeout) {}

  void broadcast(std::string_view what, const Group& group, std::span<std::byte> bytes) override;
  void fail(std::int32_t rank, std::string_view why) noexcept override;
  std::optional<std::string> failure() override;

 private:
  Meeting& meeting_;
  std::chrono::milliseconds timeout_;
  std::map<std::vector<std::int32_t>, std::uint64_t> num_calls_;  // by members
  std::mutex mutex_;
  std::optional<std::string> failure_;
};

}  // namespace underlap::cuda
