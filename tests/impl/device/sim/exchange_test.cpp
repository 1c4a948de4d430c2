// SPDX-License-Identifier: Apache-2.0
// Groups of one send and one receive, as rings over a tensor-parallel group use them, beside GEMMs.
#include <cmath>

#include "impl/device/sim/machine.hpp"
#include "tests/impl/device/sim/hardware_files.hpp"
#include "tests/impl/device/sim/world.hpp"

namespace underlap::sim {
namespace {

using Interval = World::Interval;

constexpr std::int64_t kBytes = 100'000;
constexpr std::int64_t kLatencyNs = 500;
constexpr std::int64_t kHopNs = kLatencyNs + kBytes / 100;  // at 100 bytes a nanosecond

// Ranks of round figures, each with a compute stream and a communicator of them all.
class Exchange {
 public:
  explicit Exchange(std::int32_t size, const CommunicatorHints& hints = {.priority = Priority::high})
      : world(size), size_(size) {
    Hardware hardware = test::round_hardware();
    hardware.node.p2p_nvlink_latency_us.value = kLatencyNs / 1e3;
    hardware.node.p2p_sms.value = 8;
    world.machine = std::make_unique<CostModel>(hardware);
    for (std::int32_t r = 0; r < size; ++r) {
      compute.push_back(at(r).create_stream("compute"));
      ring.push_back(at(r).declare("tp", world.group(r), hints));
      buffers_.push_back(at(r).allocate("ring", DataType::u8, 2 * kBytes));
    }
  }

  RecordingDevice& at(std::int32_t rank) { return world[static_cast<std::size_t>(rank)]; }
  const Communicator& ring_of(std::int32_t rank) const { return ring[static_cast<std::size_t>(rank)]; }
  Stream compute_of(std::int32_t rank) const { return compute[static_cast<std::size_t>(rank)]; }

  /// Rank `r` sends to the rank `distance` after it and receives from the one as far before it.
  void hop(std::int32_t r, const std::string& name, std::int32_t distance = 1) {
    exchange(r, name, (r + distance) % size_, (r - distance + size_) % size_);
  }
  void exchange(std::int32_t r, const std::string& name, std::int32_t to, std::int32_t from) {
    const Tensor& buffer = buffers_[static_cast<std::size_t>(r)];
    communicate(at(r), ring_of(r), name,
                {send_to(to, flat(buffer, 0, kBytes)), receive_from(from, flat(buffer, kBytes, kBytes))});
  }
  /// A GEMM of `waves` whole waves of 10 microseconds each.
  void gemm(std::int32_t r, const std::string& name, std::int64_t waves = 1) {
    const Cost cost{.bytes_read = 1, .work = Work::gemm, .extent = {1000, waves * 1000, 500}};
    at(r).launch(compute_of(r), named(name), Operation(intern("gemm"), do_nothing, cost, {}));
  }

  World world;
  std::vector<Stream> compute;
  std::vector<Communicator> ring;

 private:
  std::int32_t size_;
  std::vector<Tensor> buffers_;
};

std::string key(std::int32_t rank, const std::string& rest) { return std::to_string(rank) + " " + rest; }

class Rings : public testing::TestWithParam<std::int32_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, Rings, testing::Values(2, 4, 8));

TEST_P(Rings, AHopTakesItsLatencyAndItsBytesOnceAndFollowsTheOneBefore) {
  for (const bool copy_engine : {false, true}) {
    const std::int32_t n = GetParam();
    Exchange e(n, {.copy_engine = copy_engine, .priority = Priority::high});
    for (std::int32_t r = 0; r < n; ++r)
      for (std::int32_t h = 0; h + 1 < n; ++h) e.hop(r, "hop " + std::to_string(h));
    const auto times = e.world.play();
    for (std::int32_t r = 0; r < n; ++r)
      for (std::int32_t h = 0; h + 1 < n; ++h)
        EXPECT_EQ(times.at(key(r, "tp hop " + std::to_string(h))), (Interval{h * kHopNs, (h + 1) * kHopNs}));
  }
}

TEST_P(Rings, AnExchangeWithAPeerThatChangesTakesNoLonger) {
  const std::int32_t n = GetParam();
  Exchange shifted(n), paired(n);
  for (std::int32_t r = 0; r < n; ++r)
    for (std::int32_t d = 1; d < n; ++d) {
      shifted.hop(r, "hop " + std::to_string(d), d);
      paired.exchange(r, "hop " + std::to_string(d), r ^ d, r ^ d);
    }
  const auto times = shifted.world.play();
  EXPECT_EQ(times, paired.world.play());
  for (std::int32_t r = 0; r < n; ++r)
    for (std::int32_t d = 1; d < n; ++d)
      EXPECT_EQ(times.at(key(r, "tp hop " + std::to_string(d))), (Interval{(d - 1) * kHopNs, d * kHopNs}));
}

TEST(Exchange, ALateRankDelaysOnlyThoseWhoWaitForIt) {
  constexpr std::int64_t kLate = 10'000;
  Exchange e(8);
  for (std::int32_t r = 0; r < 8; ++r) {
    if (r == 4) e.gemm(r, "late");
    if (r == 4) e.at(r).wait(e.ring_of(r).stream, e.at(r).record(e.compute_of(r)));
    for (const char* name : {"hop 0", "hop 1", "hop 2"}) e.hop(r, name);
  }
  const auto times = e.world.play();
  for (std::int32_t r = 0; r < 8; ++r)
    for (std::int32_t h = 0; h < 3; ++h) {
      const bool is_late = std::abs(r - 4) <= h + 1;  // lateness passes on to a neighbor with each hop
      EXPECT_EQ(times.at(key(r, "tp hop " + std::to_string(h))).end, (h + 1) * kHopNs + (is_late ? kLate : 0))
          << "rank " << r << " hop " << h;
    }
}

TEST(Exchange, TheTwoMessagesOfAHopBeginEachWithItsOwnPeer) {
  Exchange e(3);
  e.gemm(2, "late");
  e.at(2).wait(e.ring_of(2).stream, e.at(2).record(e.compute_of(2)));
  for (std::int32_t r = 0; r < 3; ++r) e.hop(r, "hop");
  for (std::int32_t r = 0; r < 2; ++r) {
    const Communicator pair = e.at(r).declare("pair", {.members = {0, 1}, .my_index = r});
    const std::vector<std::byte> bytes(100'000);  // 10 us
    e.at(r).upload(pair.stream, named("before"), flat(e.at(r).allocate("x", DataType::u8, 100'000)), bytes);
    const View view = flat(e.at(r).allocate("y", DataType::u8, kBytes));
    communicate(e.at(r), pair, "message", {r == 0 ? send_to(1, view) : receive_from(0, view)});
  }
  const auto times = e.world.play();
  EXPECT_EQ(times.at("1 tp hop"), (Interval{0, 10'000 + kHopNs}));
  EXPECT_EQ(times.at("1 pair message"), (Interval{10'000, 10'000 + kHopNs}))
      << "what rank 1 received in the hop came long ago: the link from 0 to 1 is free";
}

TEST(Exchange, ACopyEngineTakesNoMultiprocessorAndAKernelThatMovesBytesTakesItsOwn) {
  const auto gemm_beside = [](const CommunicatorHints& hints) {
    Exchange e(2, hints);
    for (std::int32_t r = 0; r < 2; ++r) {
      for (int h = 0; h < 100; ++h) e.hop(r, "hop");
      e.gemm(r, "gemm", 5);
    }
    return e.world.play().at("0 compute gemm").end;
  };
  EXPECT_EQ(gemm_beside({.copy_engine = true, .priority = Priority::high}), 50'000);
  EXPECT_EQ(gemm_beside({.priority = Priority::high}), 60'000) << "500 tiles on 92";
  EXPECT_EQ(gemm_beside({.sms = 20, .priority = Priority::high}), 70'000) << "on 80";
}

TEST(Exchange, AHopOfHighPriorityGetsItsBlocksAtTheEndOfAWave) {
  Exchange e(2);
  for (std::int32_t r = 0; r < 2; ++r) {
    e.gemm(r, "gemm", 3);
    const std::vector<std::byte> bytes(50'000);  // 5 us at the 10 GB/s of the host's link
    e.at(r).upload(e.ring_of(r).stream, named("before"), flat(e.at(r).allocate("x", DataType::u8, 50'000)), bytes);
    e.hop(r, "hop");
  }
  const auto times = e.world.play();
  EXPECT_EQ(times.at("0 tp hop"), (Interval{10'000, 10'000 + kHopNs}));
  // 100 tiles, 92 beside the hop, 100, 8.
  EXPECT_EQ(times.at("0 compute gemm"), (Interval{0, 40'000}));
}

TEST(Exchange, SharesTheMemoryWithWhatItRunsBesideOnACopyEngineToo) {
  for (const bool copy_engine : {false, true}) {
    Exchange e(2, {.copy_engine = copy_engine, .priority = Priority::high});
    for (std::int32_t r = 0; r < 2; ++r) {
      e.hop(r, "hop");
      e.at(r).launch(e.compute_of(r), named("copy"),
                     Operation(intern("copy"), do_nothing, {.bytes_read = 3'000'000}, {}));
    }
    const auto times = e.world.play();
    // Sent and received: 200,000 bytes in 1500 ns, 133.3 a nanosecond; the copy has what is left of 1000.
    EXPECT_EQ(times.at("0 tp hop"), (Interval{0, kHopNs}));
    EXPECT_EQ(times.at("0 compute copy"), (Interval{0, 3'200})) << copy_engine;
  }
}

TEST(Exchange, TwoRingsAtOnceShareTheLink) {
  Exchange e(4);
  std::vector<Communicator> second;
  for (std::int32_t r = 0; r < 4; ++r) second.push_back(e.at(r).declare("other", e.world.group(r)));
  for (std::int32_t r = 0; r < 4; ++r) {
    e.hop(r, "hop");
    std::swap(e.ring[static_cast<std::size_t>(r)], second[static_cast<std::size_t>(r)]);
    e.hop(r, "hop");
  }
  const auto times = e.world.play();
  // Each alone would take 100,000 bytes in 1500 ns; both want 133.3 of the link's 100.
  EXPECT_EQ(times.at("0 tp hop"), (Interval{0, 2'000}));
  EXPECT_EQ(times.at("3 other hop"), (Interval{0, 2'000}));
}

}  // namespace
}  // namespace underlap::sim
