// SPDX-License-Identifier: Apache-2.0
#include "impl/device/sim/nccl_tuner.hpp"

#include <gmock/gmock.h>

namespace underlap::sim::nccl {
namespace {

constexpr std::int64_t kKiB = 1 << 10, kMiB = 1 << 20, kGiB = 1 << 30;

struct Hopper : testing::Test {
  Hardware hardware = load_hardware("h200-sxm");
  Machine machine = machine_of(hardware);

  std::string chosen(Collective collective, Group group, std::int64_t bytes) const {
    const Choice choice = choose(machine, collective, group, bytes);
    return std::string(to_string(choice.algorithm)) + "/" + std::string(to_string(choice.protocol));
  }
  double expected_us(Group group, std::int64_t bytes) const {
    return choose(machine, Collective::all_reduce, group, bytes).estimate.time_us(bytes);
  }
};

TEST_F(Hopper, ReducesSmallMessagesByTreesAndLargeOnesInTheSwitchAcrossTwoNodes) {
  const Group two_nodes{16, 2};
  EXPECT_EQ(chosen(Collective::all_reduce, two_nodes, kKiB), "tree/ll");
  EXPECT_EQ(chosen(Collective::all_reduce, two_nodes, 64 * kKiB), "tree/ll");
  EXPECT_EQ(chosen(Collective::all_reduce, two_nodes, kMiB), "tree/ll128");
  EXPECT_EQ(chosen(Collective::all_reduce, two_nodes, 8 * kMiB), "nvls_tree/simple");
  EXPECT_EQ(chosen(Collective::all_reduce, two_nodes, kGiB), "nvls_tree/simple");
}

TEST_F(Hopper, ReducesSmallMessagesByRingsAndLargeOnesInTheSwitchInsideANode) {
  EXPECT_EQ(chosen(Collective::all_reduce, {8, 1}, kMiB), "ring/ll");
  EXPECT_EQ(chosen(Collective::all_reduce, {8, 1}, 2 * kMiB), "nvls/simple");
  EXPECT_EQ(chosen(Collective::all_reduce, {8, 1}, kGiB), "nvls/simple");
}

TEST_F(Hopper, GathersByRings) {
  EXPECT_EQ(chosen(Collective::all_gather, {8, 1}, kKiB), "ring/ll");
  EXPECT_EQ(chosen(Collective::all_gather, {8, 1}, kGiB), "ring/simple");
  EXPECT_EQ(chosen(Collective::reduce_scatter, {64, 8}, kGiB), "ring/simple");
}

TEST_F(Hopper, GathersSmallMessagesOfOneRankANodeByPat) {
  EXPECT_EQ(chosen(Collective::all_gather, {16, 16}, kMiB), "pat/simple");
  EXPECT_EQ(chosen(Collective::all_gather, {16, 2}, kMiB).substr(0, 4), "ring");
}

// Worked out by hand from the same constants: 25 us and 2 * 0.85 * 7/8 * 320 GB/s of bus bandwidth in the switch; 25
// us, two hops of 20.9 us and 8 channels of 57.7 GB/s across two nodes; 6.8 us and hops of 0.6 and 5.0 us for the tree.
TEST_F(Hopper, ExpectsTheTimesOfItsFormulas) {
  EXPECT_NEAR(expected_us({8, 1}, 128 * kMiB), 518.4, 0.1);
  EXPECT_NEAR(expected_us({8, 1}, 4 * kGiB), 15815.3, 0.1);
  EXPECT_NEAR(expected_us({16, 2}, kKiB), 25.3, 0.1);
  EXPECT_NEAR(expected_us({16, 2}, 64 * kKiB), 30.8, 0.1);
  EXPECT_NEAR(expected_us({16, 2}, kMiB), 59.1, 0.1);
  EXPECT_NEAR(expected_us({16, 2}, 8 * kMiB), 100.9, 0.1);
  EXPECT_NEAR(expected_us({16, 2}, kGiB), 4428, 1);
}

TEST_F(Hopper, RingAcrossNodesIsAsFastAsTheMembersPorts) {
  const auto algbw = [&](Group group) {
    return estimate(machine, Collective::all_gather, group, kGiB, Algorithm::ring, Protocol::simple)->algbw_gb_per_s;
  };
  EXPECT_NEAR(algbw({16, 2}) * 15 / 16, 8 * 48, 1e-9);
  EXPECT_NEAR(algbw({8, 2}) * 7 / 8, 4 * 48, 1e-9);
  EXPECT_NEAR(algbw({2, 2}) * 1 / 2, 48, 1e-9);
  machine.nvlink_gb_per_s = 300;
  EXPECT_NEAR(algbw({16, 2}) * 15 / 16, 300, 1e-9) << "no faster than NVLink";
}

TEST_F(Hopper, LatencyOfRingsGrowsWithTheNodesAndOfTreesWithTheirLogarithm) {
  const auto latency = [&](Group group, Algorithm algorithm) {
    return estimate(machine, Collective::all_reduce, group, kKiB, algorithm, Protocol::ll)->latency_us;
  };
  EXPECT_NEAR(latency({16, 16}, Algorithm::ring), 6.6 + 30 * 5.0, 1e-9);
  EXPECT_NEAR(latency({16, 2}, Algorithm::ring), 6.6 + 28 * 1.0 + 2 * 2.7, 1e-9);
  EXPECT_NEAR(latency({64, 8}, Algorithm::tree), 6.8 + 2 * (7 * 0.6 + 3 * 5.0), 1e-9);
}

TEST_F(Hopper, RingsAcrossNodesLoseTimeOnceTheyFillTheirChannels) {
  const auto latency = [&](Collective collective, std::int64_t bytes) {
    return estimate(machine, collective, {16, 2}, bytes, Algorithm::ring, Protocol::simple)->latency_us;
  };
  const double hops = 8.4 + 28 * 3.4 + 2 * 14.0;
  EXPECT_NEAR(latency(Collective::all_reduce, 64 * 16 * 16 - 1), hops, 1e-9);
  EXPECT_NEAR(latency(Collective::all_reduce, 64 * 16 * 16), hops * 1.4, 1e-9);
  EXPECT_NEAR(latency(Collective::all_gather, kGiB), 8.4 + 14 * 3.4 + 14.0, 1e-9);
}

TEST_F(Hopper, HasNothingToExpectOfWhatCannotRun) {
  const auto possible = [&](Collective collective, Group group, Algorithm algorithm) {
    return choose_protocol(machine, collective, group, kMiB, algorithm).has_value();
  };
  EXPECT_FALSE(possible(Collective::all_gather, {8, 1}, Algorithm::tree));
  EXPECT_FALSE(possible(Collective::all_reduce, {16, 2}, Algorithm::nvls));
  EXPECT_FALSE(possible(Collective::all_reduce, {8, 1}, Algorithm::nvls_tree));
  EXPECT_FALSE(possible(Collective::all_reduce, {4, 4}, Algorithm::pat));
  EXPECT_FALSE(possible(Collective::broadcast, {8, 1}, Algorithm::nvls));
  EXPECT_TRUE(possible(Collective::all_reduce, {3, 1}, Algorithm::nvls));
  EXPECT_FALSE(possible(Collective::all_reduce, {2, 1}, Algorithm::nvls)) << "NCCL leaves two GPUs to a ring";
  EXPECT_TRUE(possible(Collective::all_reduce, {6, 2}, Algorithm::nvls_tree));
  EXPECT_FALSE(possible(Collective::all_reduce, {4, 2}, Algorithm::nvls_tree));
  EXPECT_TRUE(possible(Collective::broadcast, {8, 1}, Algorithm::ring));
}

TEST(Ampere, HasNoReductionInTheSwitch) {
  const Hardware hardware = load_hardware("a100-sxm");
  const Machine machine = machine_of(hardware);
  EXPECT_EQ(choose(machine, Collective::all_reduce, {8, 1}, kGiB).algorithm, Algorithm::ring);
  EXPECT_EQ(choose(machine, Collective::all_reduce, {16, 2}, kKiB).algorithm, Algorithm::tree);
}

}  // namespace
}  // namespace underlap::sim::nccl
