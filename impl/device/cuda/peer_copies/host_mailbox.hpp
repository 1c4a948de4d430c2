// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "impl/device/cuda/control_plane.hpp"

namespace underlap::cuda {

/// A group of transfers as text: "of communicator tp_ring (ranks 0, 1), sequence 5".
std::string exchange_in_words(std::string_view purpose, const Group& group, std::uint64_t sequence);

/// The destination of a receive: at `offset` of one of the memory blocks that its rank exposes to its peers.
struct Landing {
  std::uint64_t block = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// The hosts of a group's ranks on one node send each other the destinations of receives, through shared memory. A copy
/// engine needs addresses when a copy is enqueued, and a sender does not know the destination at its peer. So the
/// sender's host waits until the peer's host has enqueued the receive, not for the receive itself. All ranks enqueue
/// all transfers in one order, and a group posts its receives before its sends ask, so no circle of waits arises.
///
/// Used by the rank's thread.
class HostMailbox {
 public:
  struct Waiting {
    std::chrono::milliseconds timeout{30'000};
    std::function<void()> rethrow_failure;  ///< throws where this or another rank has failed
  };

  /// All members call it together. Throws MachineError naming the missing ranks.
  HostMailbox(ControlPlane& control, std::string_view purpose, const Group& group, Waiting waiting);
  ~HostMailbox();
  HostMailbox(const HostMailbox&) = delete;
  HostMailbox& operator=(const HostMailbox&) = delete;

  /// Sends `sender` the destination of the next receive from it. Waits while the sender is hundreds of transfers late.
  /// `sequence` is of the group of transfers, for the MachineError that it throws.
  void post(std::int32_t sender, const Landing& landing, std::uint64_t sequence);

  /// The destination of the next send to `receiver`; waits until the receiver posts it.
  Landing take(std::int32_t receiver, std::uint64_t sequence);

  /// Marks that this rank no longer uses its peers' memory.
  void leave();
  /// Returns when all members have left, or at the timeout.
  void wait_until_all_left() noexcept;

 private:
  struct Lane;
  struct Shared;
  struct Unmap {
    std::size_t bytes;
    void operator()(Shared* shared) const noexcept;
  };

  std::int32_t rank_of(std::int32_t member) const;
  Lane& lane(std::int32_t sender, std::int32_t receiver) const;
  template <class Condition>
  void wait(Condition condition, std::string_view side, std::int32_t peer, std::uint64_t sequence) const;

  std::string purpose_;
  Group group_;
  Waiting waiting_;
  std::unique_ptr<Shared, Unmap> shared_;
};

}  // namespace underlap::cuda
