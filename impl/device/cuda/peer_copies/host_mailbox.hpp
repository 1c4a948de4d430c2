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

/// A group of transfers in words: "of communicator tp_ring (ranks 0, 1), sequence 5".
std::string exchange_in_words(std::string_view purpose, const Group& group, std::uint64_t sequence);

/// Where a receive puts its bytes: at `offset` of one of the blocks of memory that its rank has shown its peers.
struct Landing {
  std::uint64_t block = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// The hosts of a group's ranks on one node tell each other where receives land, through memory that their processes
/// share. A copy engine is told addresses when a copy is enqueued, and a send does not know where it ends at its peer:
/// so the sender's host waits, not for the receive itself, but for the peer's host to have enqueued it. As all ranks
/// enqueue all transfers in one order, and receives of a group are posted before its sends ask, nobody waits in a ring.
///
/// Used by the rank's thread.
class HostMailbox {
 public:
  struct Waiting {
    std::chrono::milliseconds timeout{30'000};
    std::function<void()> rethrow_failure;  ///< throws where this or another rank has failed
  };

  /// All members call it together. Throws MachineError naming who does not come.
  HostMailbox(ControlPlane& control, std::string_view purpose, const Group& group, Waiting waiting);
  ~HostMailbox();
  HostMailbox(const HostMailbox&) = delete;
  HostMailbox& operator=(const HostMailbox&) = delete;

  /// Tells `sender` where the next receive from it lands. Waits where that one is hundreds of transfers behind.
  /// `sequence` is of the group of transfers, for the MachineError that it throws.
  void post(std::int32_t sender, const Landing& landing, std::uint64_t sequence);

  /// Where the next send to `receiver` lands, once it says so.
  Landing take(std::int32_t receiver, std::uint64_t sequence);

  /// This rank has done with its peers' memory.
  void leave();
  /// Returns when all members have left, or are late.
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
