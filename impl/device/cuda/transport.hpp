// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "impl/device/device.hpp"

struct CUstream_st;

namespace underlap::cuda {

class Transport;

/// A transfer with device memory behind its views.
struct DeviceTransfer {
  Transfer transfer;
  std::byte* input = nullptr;
  std::byte* output = nullptr;
};

/// Memory of a device, taken from the driver in one piece.
struct MemoryBlock {
  std::byte* base = nullptr;
  std::int64_t bytes = 0;
};

/// A tensor that a communicator is to register.
struct RegisteredBuffer {
  std::string name;  ///< for messages
  std::byte* data = nullptr;
  std::int64_t bytes = 0;
  bool symmetric = true;  ///< as a window of all members, where the library has windows
};

/// Memory that a transport's library took from the driver; it outlives no library.
struct FreeByLibrary {
  const Transport* transport = nullptr;
  void operator()(std::byte* memory) const noexcept;
};
using LibraryBytes = std::unique_ptr<std::byte, FreeByLibrary>;

/// What carries the transfers of one communicator.
class Channel {
 public:
  virtual ~Channel() = default;

  /// Enqueues `transfers` as one group on `stream` and returns at once. `sequence` counts the groups of this channel.
  /// Throws MachineError where the library or the device refuses.
  virtual void enqueue(std::span<const DeviceTransfer> transfers, CUstream_st* stream, std::uint64_t sequence) = 0;
};

/// What joins the ranks: NCCL, or the emulated link of a rank that is alone on its GPU.
class Transport {
 public:
  virtual ~Transport() = default;

  /// The memory in which all tensors lie of the device whose communicators are connected next. Empty: it has none that
  /// other processes could map.
  virtual void show_memory(std::span<const MemoryBlock> /*blocks*/) {}

  /// Memory of the kind that the library can register, for tensors; null where any memory will do. Freed after the
  /// channels that registered it, and before the transport goes. Throws MachineError.
  virtual LibraryBytes allocate(std::int64_t /*bytes*/) { return {}; }
  virtual void free(std::byte* /*memory*/) const noexcept {}

  /// Connects this member of `group`, and registers `buffers`, which outlive the channel. All members call it for the
  /// same communicators in the same order, with no kernel in flight, and with buffers of equal sizes.
  /// Throws MachineError naming the communicator and who is missing, or the buffer that the library refuses.
  virtual std::unique_ptr<Channel> connect(std::uint32_t index, std::string_view purpose, const Group& group,
                                           const CommunicatorHints& hints,
                                           std::span<const RegisteredBuffer> buffers) = 0;

  /// The link in words, as results carry it: "nccl 2.28.9", "emulated 450 GB/s, 16 SMs".
  virtual std::string link() const = 0;

  /// Ends this rank's transfers in flight, so that their streams run dry, and all waiting for members at the end of
  /// channels and communicators, which without it is orderly and together; from any thread. Who gives up tells the
  /// other ranks why by the control plane: this does not, because it does not know. NCCL before 2.29.7 does not end its
  /// kernels on symmetric windows: the supervisor then ends the process, where it may.
  virtual void abort() noexcept = 0;

  /// Throws what ended the transfers, where something did: their streams then run dry, and what they hold is worthless.
  virtual void rethrow_failure() const {}

  /// What was asked for and cannot be honoured, one line each, so that a report can say so.
  virtual std::vector<std::string> notices() const { return {}; }
};

inline void FreeByLibrary::operator()(std::byte* memory) const noexcept { transport->free(memory); }

}  // namespace underlap::cuda
