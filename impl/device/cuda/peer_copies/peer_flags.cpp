// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/peer_copies/peer_flags.hpp"

namespace underlap::cuda {
namespace {

constexpr int kPeerBits = 12;
constexpr int kChannelBits = 14;
constexpr int kSequenceBits = 64 - 2 - kChannelBits - kPeerBits;

static_assert(Poison::kMostPeers == 1 << kPeerBits && Poison::kMostChannels == 1U << kChannelBits);

}  // namespace

std::uint64_t Poison::pack() const {
  std::uint64_t word = static_cast<std::uint64_t>(cause) << kChannelBits | channel;
  word = word << kPeerBits | static_cast<std::uint64_t>(peer);
  return word << kSequenceBits | (sequence & ((std::uint64_t{1} << kSequenceBits) - 1));
}

Poison Poison::unpack(std::uint64_t word) {
  const auto bits = [&](int from, int count) { return word >> from & ((std::uint64_t{1} << count) - 1); };
  return {.cause = static_cast<Cause>(bits(62, 2)),
          .channel = static_cast<std::uint32_t>(bits(kSequenceBits + kPeerBits, kChannelBits)),
          .peer = static_cast<std::int32_t>(bits(kSequenceBits, kPeerBits)),
          .sequence = bits(0, kSequenceBits)};
}

}  // namespace underlap::cuda
