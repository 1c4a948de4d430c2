// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "impl/device/tensor_table.hpp"

struct CUstream_st;

namespace underlap::cuda {

class Transport;

/// Device memory, allocated from the driver in one piece.
struct MemoryBlock {
  std::byte* base = nullptr;
  std::int64_t bytes = 0;
};

/// A tensor that a communicator registers.
struct RegisteredBuffer {
  std::string name;  ///< for messages
  std::byte* data = nullptr;
  std::int64_t bytes = 0;
  bool symmetric = true;  ///< as a window of all members, if the library supports windows
};

/// Memory that a transport's library allocated from the driver; the library outlives it.
struct FreeByLibrary {
  const Transport* transport = nullptr;
  void operator()(std::byte* memory) const noexcept;
};
using LibraryBytes = std::unique_ptr<std::byte, FreeByLibrary>;

/// Carries the transfers of one communicator.
class Channel {
 public:
  virtual ~Channel() = default;

  /// Enqueues `transfers` as one group on `stream` and returns at once. `sequence` counts the groups of this channel.
  /// Throws MachineError if the library or the device refuses.
  virtual void enqueue(std::span<const BoundTransfer> transfers, CUstream_st* stream, std::uint64_t sequence) = 0;
};

/// Connects the ranks: NCCL, or the emulated link of a rank that is alone on its GPU.
class Transport {
 public:
  virtual ~Transport() = default;

  /// The memory of all tensors of the device whose communicators are connected next. Empty if it has no memory that
  /// other processes can map.
  virtual void show_memory(std::span<const MemoryBlock> /*blocks*/) {}

  /// Memory that the library can register, for tensors; null if any memory works. Freed after the channels that
  /// registered it, and before the transport is destroyed. Throws MachineError.
  virtual LibraryBytes allocate(std::int64_t /*bytes*/) { return {}; }
  virtual void free(std::byte* /*memory*/) const noexcept {}

  /// Connects this member of `group`, and registers `buffers`, which outlive the channel. All members call it for the
  /// same communicators in the same order, with no kernel in flight, and with buffers of equal sizes. Throws
  /// MachineError naming the communicator and the missing ranks, or the buffer that the library refuses.
  virtual std::unique_ptr<Channel> connect(std::uint32_t index, std::string_view purpose, const Group& group,
                                           const CommunicatorHints& hints,
                                           std::span<const RegisteredBuffer> buffers) = 0;

  /// The link as text for results: "nccl 2.28.9", "emulated 450 GB/s, 16 SMs".
  virtual std::string link() const = 0;

  /// Ends this rank's transfers in flight, so that their streams run dry; from any thread. Also ends all waiting for
  /// members in the destructors of channels and communicators, which otherwise is orderly and collective. The caller
  /// notifies the other ranks of the reason by the control plane, because the transport does not know it. NCCL before
  /// 2.29.7 does not end its kernels on symmetric windows: the supervisor then ends the process, if it may.
  virtual void abort() noexcept = 0;

  /// Throws the error that ended the transfers, if any: their streams then run dry, and their contents are invalid.
  virtual void rethrow_failure() const {}

  /// Requests that cannot be met, one line each, for reports.
  virtual std::vector<std::string> notices() const { return {}; }
};

inline void FreeByLibrary::operator()(std::byte* memory) const noexcept { transport->free(memory); }

}  // namespace underlap::cuda
