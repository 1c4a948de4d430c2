// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "impl/device/cuda/control_plane.hpp"
#include "impl/device/cuda/handles.hpp"
#include "impl/device/cuda/peer_copies/host_mailbox.hpp"
#include "impl/device/cuda/transport.hpp"

namespace underlap::cuda {

/// Blocks of memory that a group's ranks have mapped of each other. Its own blocks outlive it, and on an orderly end
/// the peers' mappings of them are closed before they are given back.
class PeerMemory {
 public:
  /// All members call it together, each with its own blocks, which cudaMalloc made in whole pages of the driver.
  /// Throws MachineError naming the peer whose memory cannot be mapped.
  PeerMemory(ControlPlane& control, std::string_view purpose, const Group& group, std::span<const MemoryBlock> own);

  /// Where this rank's memory from `start` on lies. Throws std::logic_error for what is in none of its blocks.
  Landing locate(const std::byte* start, std::int64_t bytes) const;

  /// The address of a peer's memory here. Throws MachineError for what is in none of its blocks.
  std::byte* address(std::int32_t peer, const Landing& landing) const;

 private:
  using Mapping = Handle<std::byte, cudaIpcCloseMemHandle>;

  std::vector<MemoryBlock> own_;
  std::vector<std::vector<MemoryBlock>> blocks_;  // by member, at their addresses here
  std::vector<Mapping> mappings_;
};

}  // namespace underlap::cuda
