// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/peer_copies/peer_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "kernels/cuda/check.hpp"
#include "platform/errors.hpp"

namespace underlap::cuda {
namespace {

/// A block as its owner shows it.
struct Shown {
  cudaIpcMemHandle_t handle{};
  std::int64_t bytes = 0;
};

std::vector<Shown> show(std::span<const MemoryBlock> blocks) {
  std::vector<Shown> shown(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    check(cudaIpcGetMemHandle(&shown[i].handle, blocks[i].base));
    shown[i].bytes = blocks[i].bytes;
  }
  return shown;
}

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

/// Exchanges the memory that every member exposes. The lists may differ in length, so the longest is found first.
std::vector<std::vector<Shown>> exchange(ControlPlane& control, const std::string& purpose, const Group& group,
                                         std::vector<Shown> own) {
  std::vector<std::uint64_t> counts;
  const std::vector<std::uint64_t> own_count{own.size()};
  for (const auto& said : all_gather(control, purpose + ": memory blocks", group, bytes_of(own_count)))
    std::memcpy(&counts.emplace_back(), said.data(), sizeof(std::uint64_t));
  own.resize(*std::max_element(counts.begin(), counts.end()));
  std::vector<std::vector<Shown>> all;
  for (const auto& said : all_gather(control, purpose + ": memory handles", group, bytes_of(own))) {
    std::vector<Shown>& shown = all.emplace_back(counts[all.size()]);
    std::memcpy(shown.data(), said.data(), shown.size() * sizeof(Shown));
  }
  return all;
}

std::byte* map(const Shown& shown, std::string_view purpose, std::int32_t peer) {
  void* memory = nullptr;
  const cudaError_t code = cudaIpcOpenMemHandle(&memory, shown.handle, cudaIpcMemLazyEnablePeerAccess);
  if (code == cudaSuccess) return static_cast<std::byte*>(memory);
  (void)cudaGetLastError();  // or the next launch would be blamed for it
  throw MachineError(
      fmt::format("communicator {}: memory of rank {} cannot be mapped: {} ({}); if GPUs have no peer access, set "
                  "extensions.tp_ring_transport to nccl",
                  purpose, peer, cudaGetErrorName(code), cudaGetErrorString(code)));
}

}  // namespace

PeerMemory::PeerMemory(ControlPlane& control, std::string_view purpose, const Group& group,
                       std::span<const MemoryBlock> own)
    : own_(own.begin(), own.end()) {
  const auto shown = exchange(control, std::string(purpose), group, show(own));
  for (std::int32_t i = 0; i < group.size(); ++i) {
    std::vector<MemoryBlock>& of_member = blocks_.emplace_back();
    if (i == group.my_index) continue;
    for (const Shown& block : shown[static_cast<std::size_t>(i)]) {
      mappings_.emplace_back(map(block, purpose, group.members[static_cast<std::size_t>(i)]));
      of_member.push_back({mappings_.back().get(), block.bytes});
    }
  }
}

Landing PeerMemory::locate(const std::byte* start, std::int64_t bytes) const {
  for (std::size_t i = 0; i < own_.size(); ++i)
    if (start >= own_[i].base && start + bytes <= own_[i].base + own_[i].bytes)
      return {i, static_cast<std::uint64_t>(start - own_[i].base), static_cast<std::uint64_t>(bytes)};
  throw std::logic_error(
      "copy-engine transfer of memory that its peers have not mapped (CudaOptions::peers_map_tensors)");
}

std::byte* PeerMemory::address(std::int32_t peer, const Landing& landing) const {
  const std::vector<MemoryBlock>& blocks = blocks_[static_cast<std::size_t>(peer)];
  if (landing.block >= blocks.size() ||
      landing.offset + landing.bytes > static_cast<std::uint64_t>(blocks[landing.block].bytes))
    throw MachineError(fmt::format("a peer requests {} bytes at {} of block {}, which it has not exposed",
                                   landing.bytes, landing.offset, landing.block));
  return blocks[landing.block].base + landing.offset;
}

}  // namespace underlap::cuda
