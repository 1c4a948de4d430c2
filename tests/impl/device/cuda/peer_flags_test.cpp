// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/peer_copies/peer_flags.hpp"

#include <gmock/gmock.h>

#include <array>

#include "impl/device/cuda/handles.hpp"
#include "tests/cuda_host/machine.hpp"

namespace underlap::cuda {
namespace {

/// Flags on a played GPU, whose device memory is the host's.
class PeerFlags : public testing::Test {
 protected:
  PeerFlags() { cuda_host::Machine::instance().reset(1, 1); }

  void run(std::span<const FlagSignal> signals, std::span<const FlagWait> waits, std::uint64_t timeout_ns = 1'000'000) {
    const StreamHandle stream = make_stream(0);
    enqueue_flags(signals, waits, {&status_, &has_given_up_}, timeout_ns, stream.get());
    EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  }

  PeerStatus status_;
  std::uint64_t has_given_up_ = 0;
  std::uint64_t flag_ = 0;
};

TEST_F(PeerFlags, SignalsDoNotLookAtTheHostsMemory) {
  status_.is_aborted = 1;
  run(std::array{FlagSignal{&flag_, 3}}, {});
  EXPECT_EQ(flag_, 3U);
}

TEST_F(PeerFlags, AWaitThatEndsWithoutItsFlagTurnsLaterSignals) {
  run({}, std::array{FlagWait{&flag_, 1, 77, 78}});
  EXPECT_EQ(status_.poison, 77U);
  std::uint64_t other = 0;
  run(std::array{FlagSignal{&other, 3}}, {});
  EXPECT_EQ(other, kPeerGaveUp);
}

TEST_F(PeerFlags, AnAbortEndsAWaitAndTurnsLaterSignals) {
  status_.is_aborted = 1;
  run({}, std::array{FlagWait{&flag_, 1, 77, 78}}, 60'000'000'000);
  EXPECT_EQ(status_.poison, 0U) << "its cause is told by who aborted";
  run(std::array{FlagSignal{&flag_, 3}}, {});
  EXPECT_EQ(flag_, kPeerGaveUp);
}

}  // namespace
}  // namespace underlap::cuda
