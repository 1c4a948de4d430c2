// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

struct CUstream_st;

namespace underlap::cuda {

/// Why a kernel's wait ended without its flag. One word, so that a kernel writes it atomically.
struct Poison {
  enum class Cause : std::uint8_t {
    none,
    late_data,     ///< a receive whose peer sent nothing within the deadline
    late_buffer,   ///< a send whose peer was not ready to receive within the deadline
    peer_gave_up,  ///< the peer is poisoned itself: the data it sent has no meaning
  };
  Cause cause = Cause::none;
  std::uint32_t channel = 0;   ///< below kMostChannels
  std::int32_t peer = 0;       ///< index in the channel's group, below kMostPeers
  std::uint64_t sequence = 0;  ///< of the channel's group of transfers, modulo 2^36

  static constexpr std::uint32_t kMostChannels = 1U << 14;
  static constexpr std::int32_t kMostPeers = 1 << 12;

  std::uint64_t pack() const;
  static Poison unpack(std::uint64_t word);
};

/// Messages between the kernels and the host of one rank, in pinned host memory.
struct PeerStatus {
  std::uint64_t poison = 0;      ///< of the first wait that failed, or of one of the first; 0: none
  std::uint32_t is_aborted = 0;  ///< by the host: every wait ends at once
};

/// Where a rank's kernels look for poison or an abort. Host memory is a microsecond away from a GPU, so signals do not
/// look there.
struct PeerState {
  PeerStatus* status = nullptr;
  std::uint64_t* has_given_up = nullptr;  ///< on the device; nonzero after a wait has ended without its flag
};

/// A flag counts up, in the memory of the rank that waits for it. This value means that no more will come.
inline constexpr std::uint64_t kPeerGaveUp = ~std::uint64_t{0};

/// Sets a flag, in this rank's memory or a peer's, after all earlier work of its stream.
struct FlagSignal {
  std::uint64_t* flag = nullptr;
  std::uint64_t value = 0;
};

/// Waits until a flag of this rank has reached a value.
struct FlagWait {
  const std::uint64_t* flag = nullptr;
  std::uint64_t value = 0;
  std::uint64_t if_late = 0;          ///< poison to raise past the deadline
  std::uint64_t if_peer_gave_up = 0;  ///< poison to raise if the flag is kPeerGaveUp
};

/// Enqueues kernels of one block on `stream`: all signals, then all waits, which spin side by side.
///
/// state       if its status is poisoned or aborted, waits that have looked for a while end; after a wait has ended
///             without its flag, signals carry kPeerGaveUp
/// timeout_ns  from the start of the waiting kernel, on the device's clock
/// No flag is signaled twice. Throws MachineError if a launch is refused.
void enqueue_flags(std::span<const FlagSignal> signals, std::span<const FlagWait> waits, const PeerState& state,
                   std::uint64_t timeout_ns, CUstream_st* stream);

}  // namespace underlap::cuda
