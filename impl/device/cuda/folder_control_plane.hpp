// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "impl/device/cuda/control_plane.hpp"

namespace underlap::cuda {

/// The ranks are processes that share a folder: of one machine, or of a file system that all of theirs mount. The
/// folder is new for each set of ranks and outlives them. What is said lies there as files, each complete from the
/// moment when it has its name; a rank looks every millisecond. broadcast() is the rank's own thread's alone.
class FolderControlPlane final : public ControlPlane {
 public:
  FolderControlPlane(std::filesystem::path folder, std::chrono::milliseconds timeout);

  void broadcast(std::string_view what, const Group& group, std::span<std::byte> bytes) override;
  void fail(std::int32_t rank, std::string_view why) noexcept override;
  std::optional<std::string> failure() override;

 private:
  bool publish(const std::string& name, std::span<const std::byte> bytes) const;
  std::optional<std::vector<std::byte>> read(const std::string& name) const;

  std::filesystem::path folder_;
  std::chrono::milliseconds timeout_;
  std::map<std::vector<std::int32_t>, std::uint64_t> num_calls_;  // by members
};

}  // namespace underlap::cuda
