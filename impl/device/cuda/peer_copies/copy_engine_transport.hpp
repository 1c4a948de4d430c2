// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "impl/device/cuda/control_plane.hpp"
#include "impl/device/cuda/handles.hpp"
#include "impl/device/cuda/peer_copies/peer_flags.hpp"
#include "impl/device/cuda/transport.hpp"
#include "impl/device/cuda/watchdog.hpp"

namespace underlap::cuda {

/// Identifies a node: only its ranks share the kernel's boot and the mount of /dev/shm.
std::string this_node();

struct CopyEngineOptions {
  std::int32_t rank = 0;
  int device = 0;
  std::chrono::milliseconds peer_timeout{30'000};
  std::chrono::milliseconds poll_interval{100};  ///< of the watchdog; 0: only the rank's own calls look
  std::string node = this_node();
};

/// Sends and receives by copy engines, for communicators that ask for them and whose members share a node. The other
/// transport carries all others. Every rank is a separate process, on its own GPU or a shared one.
///
/// connect() maps the memory of all members, by CUDA's IPC handles over the control plane. A group of transfers is
///
///   host      tell each sender where its bytes land here     ask each receiver where bytes land there (HostMailbox)
///   stream    | flags: my buffers are free; are my peers'? | copies to peers | flags: they are there; are mine? |
///
/// All signals and sends of a group come before the wait for its receives. A copy never writes to a buffer in use: as
/// with NCCL, a group starts at its peer when the peer's stream reaches it. If ranks enqueue their groups in one order,
/// they cannot wait in a circle, even if all streams of a rank share one hardware queue.
///
/// A wait that reaches its deadline (`peer_timeout`, on the device's clock) poisons the rank: its waits end at once,
/// and its signals carry the poison to every rank that receives them. Streams run dry, and synchronize() throws on
/// every poisoned rank, so that no result of the step is used; a watchdog notifies the other ranks. Copies to a peer
/// that is not ready are then no longer held back and may overwrite a buffer in use. That peer's step is lost like this
/// rank's, and the peer learns it from the next flag or its watchdog.
///
/// Used by the rank's thread; any thread may call abort().
/// Source: the ring exchange of Transformer Engine's userbuffers, with peer copies in place of its kernels.
class CopyEngineTransport final : public Transport {
 public:
  /// `others` and `control` outlive it, and it outlives the devices on it.
  CopyEngineTransport(Transport& others, ControlPlane& control, const CopyEngineOptions& options);
  ~CopyEngineTransport() override;

  void show_memory(std::span<const MemoryBlock> blocks) override;
  LibraryBytes allocate(std::int64_t bytes) override { return others_.allocate(bytes); }
  /// Throws MachineError also if a GPU cannot map its peer's memory.
  std::unique_ptr<Channel> connect(std::uint32_t index, std::string_view purpose, const Group& group,
                                   const CommunicatorHints& hints, std::span<const RegisteredBuffer> buffers) override;
  std::string link() const override { return others_.link(); }
  void abort() noexcept override;
  void rethrow_failure() const override;
  std::vector<std::string> notices() const override;

 private:
  class PeerChannel;
  struct Named {
    std::string purpose;
    Group group;
  };

  bool share_a_node(std::string_view what, const Group& group) const;
  std::string describe(const Poison& poison) const;
  Poison poison() const;
  PeerState state() const { return {status_, reinterpret_cast<std::uint64_t*>(given_up_memory_.get())}; }
  std::optional<std::string> find_error() const;
  void rethrow_any_failure() const;
  void give_up(const std::string& what) const noexcept;
  void end_with(const std::string& what) const noexcept;

  Transport& others_;
  ControlPlane& control_;
  CopyEngineOptions options_;
  std::vector<MemoryBlock> blocks_;  // of the device that connects
  std::vector<std::string> notices_;
  mutable std::mutex mutex_;     // of the two below, which the watchdog reads
  std::vector<Named> channels_;  // by Poison::channel
  mutable std::optional<std::string> failure_;
  mutable std::atomic<bool> has_failed_{false};
  PinnedBytes status_memory_;
  PeerStatus* status_;
  DeviceBytes given_up_memory_;
  std::unique_ptr<Watchdog> watchdog_;  // last: its thread uses all of the above
};

}  // namespace underlap::cuda
