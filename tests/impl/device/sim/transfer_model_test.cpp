// SPDX-License-Identifier: Apache-2.0
#include "impl/device/sim/transfer_model.hpp"

#include <numeric>
#include <utility>

#include "tests/impl/device/sim/hardware_files.hpp"

namespace underlap::sim {
namespace {

constexpr std::int64_t kMB = 1'000'000;

std::vector<std::int32_t> ranks(std::int32_t count, std::int32_t stride = 1, std::int32_t first = 0) {
  std::vector<std::int32_t> members;
  for (std::int32_t i = 0; i < count; ++i) members.push_back(first + i * stride);
  return members;
}

TransferShape collective(Collective kind, std::int64_t bytes) { return {.collective = kind, .bytes = bytes}; }
TransferShape message(Collective kind, std::int64_t bytes, std::int32_t peer) {
  return {.collective = kind, .bytes = bytes, .peer = peer};
}

struct RoundTransfers : testing::Test {
  CostModel model{test::round_hardware()};

  TransferTime time(const std::vector<TransferShape>& call, const std::vector<std::int32_t>& members,
                    std::int32_t my_index = 0, const CommunicatorHints& hints = {}) const {
    return model.transfers(call, members, my_index, hints);
  }
  double alone_ms(const TransferShape& transfer, const std::vector<std::int32_t>& members) const {
    return time({transfer}, members).alone_ns / 1e6;
  }
};

TEST_F(RoundTransfers, CollectivesTakeTheirBusBytesOverTheSlowestLink) {
  using enum Collective;
  struct Case {
    Collective kind;
    std::int64_t megabytes;
    std::vector<std::int32_t> members;
    double ms;
  };
  const std::vector<Case> cases = {{all_gather, 800, ranks(8), 7},
                                   {reduce_scatter, 800, ranks(8), 7},
                                   {all_reduce, 800, ranks(8), 14},
                                   {broadcast, 800, ranks(8), 8},
                                   {all_to_all, 800, ranks(8), 7},
                                   // The bus factor of other sizes.
                                   {all_reduce, 100, ranks(2), 1},
                                   {all_gather, 400, ranks(4, 2), 3},
                                   // Across nodes through the ports of the members: eight, one, one, two a node.
                                   {all_gather, 1600, ranks(16), 1500.0 / 80},
                                   {all_gather, 400, ranks(4, 8), 30},
                                   {all_reduce, 400, ranks(4, 8), 60},
                                   {all_gather, 400, ranks(4, 4), 15},
                                   // Of 16 pieces of 100 MB, 8 leave the node through the own port.
                                   {all_to_all, 1600, ranks(16), 80}};
  for (const auto& [kind, megabytes, members, ms] : cases)
    EXPECT_DOUBLE_EQ(alone_ms(collective(kind, megabytes * kMB), members), ms)
        << to_string(kind) << " of " << megabytes << " MB on " << testing::PrintToString(members);
}

TEST_F(RoundTransfers, RingSendsTheSameBytesOverEveryHop) {
  const TransferTime inside = time({collective(Collective::all_reduce, 800 * kMB)}, ranks(8));
  EXPECT_DOUBLE_EQ(inside.nvlink_bytes, 1400.0 * kMB);
  EXPECT_DOUBLE_EQ(inside.network_bytes, 0);
  EXPECT_DOUBLE_EQ(inside.hbm_bytes, 3 * 1400.0 * kMB) << "read, written, and the own operand read";
  const TransferTime across = time({collective(Collective::all_gather, 1600 * kMB)}, ranks(16));
  EXPECT_DOUBLE_EQ(across.network_bytes, 1500.0 * kMB / 8);
  EXPECT_DOUBLE_EQ(across.nvlink_bytes, 1500.0 * kMB * 14 / 16);
  EXPECT_DOUBLE_EQ(across.hbm_bytes, 2 * 1500.0 * kMB);
  EXPECT_EQ(across.algorithm, "ring");
  EXPECT_EQ(across.protocol, "simple");
}

TEST_F(RoundTransfers, GroupOfOneTakesNoTime) {
  const TransferTime alone = time({collective(Collective::all_reduce, 800 * kMB)}, {5});
  EXPECT_EQ(alone.alone_ns, 0);
  EXPECT_EQ(alone.sms, 0);
  EXPECT_EQ(alone.nvlink_bytes, 0);
  EXPECT_EQ(alone.algorithm, "none");
}

TEST_F(RoundTransfers, SendAndReceiveUseTheTwoDirectionsAtOnce) {
  EXPECT_DOUBLE_EQ(alone_ms(message(Collective::send, 100 * kMB, 1), ranks(2)), 1);
  const std::vector<TransferShape> both{message(Collective::send, 100 * kMB, 1),
                                        message(Collective::receive, 100 * kMB, 1)};
  EXPECT_DOUBLE_EQ(time(both, ranks(2)).alone_ns, 1e6);
  EXPECT_DOUBLE_EQ(time(both, ranks(2)).nvlink_bytes, 100.0 * kMB);
  EXPECT_DOUBLE_EQ(time(both, ranks(2)).hbm_bytes, 200.0 * kMB);
  EXPECT_DOUBLE_EQ(time(both, ranks(2, 8)).alone_ns, 1e7) << "to another node";
  const std::vector<TransferShape> two_sends{message(Collective::send, 100 * kMB, 1),
                                             message(Collective::send, 100 * kMB, 2)};
  EXPECT_DOUBLE_EQ(time(two_sends, ranks(3)).alone_ns, 2e6);
}

TEST_F(RoundTransfers, DifferentLinksWorkAtTheSameTime) {
  const std::vector<TransferShape> call{message(Collective::send, 100 * kMB, 1),
                                        message(Collective::send, 50 * kMB, 2)};
  const TransferTime t = time(call, {0, 1, 8});
  EXPECT_DOUBLE_EQ(t.alone_ns, 5e6);
  EXPECT_DOUBLE_EQ(t.nvlink_bytes, 100.0 * kMB);
  EXPECT_DOUBLE_EQ(t.network_bytes, 50.0 * kMB);
}

struct LatentTransfers : RoundTransfers {
  void SetUp() override {
    Hardware hardware = test::round_hardware();
    for (CollectiveTimes& times : hardware.collectives)
      for (Segment& segment : times.segments) segment.latency_us = 100;
    hardware.node.p2p_nvlink_latency_us.value = 10;
    hardware.node.p2p_network_latency_us.value = 30;
    for (CollectiveTimes& times : hardware.collectives) times.sms = 20;
    hardware.node.p2p_sms.value = 8;
    model = CostModel(hardware);
  }
};

TEST_F(LatentTransfers, TransfersOfOneCallShareTheLatency) {
  const TransferShape half = collective(Collective::all_gather, 400 * kMB);
  EXPECT_DOUBLE_EQ(time({half}, ranks(8)).alone_ns, 3.6e6);
  EXPECT_DOUBLE_EQ(time({half, half}, ranks(8)).alone_ns, 7.1e6);
  EXPECT_DOUBLE_EQ(time({half, half}, ranks(8)).latency_ns, 1e5);
  const TransferShape other = collective(Collective::reduce_scatter, 400 * kMB);
  EXPECT_DOUBLE_EQ(time({half, other}, ranks(8)).alone_ns, 7.1e6);
}

TEST_F(LatentTransfers, EmptyMessagesStillCostTheirLatency) {
  EXPECT_EQ(time({message(Collective::send, 0, 1)}, ranks(2)).alone_ns, 10'000);
  EXPECT_EQ(time({message(Collective::receive, 0, 1)}, ranks(2, 8)).alone_ns, 30'000);
  EXPECT_EQ(time({collective(Collective::all_gather, 0)}, ranks(8)).alone_ns, 100'000);
}

TEST_F(LatentTransfers, LatencyOfAnotherGroupIsScaledAsTheTunerExpects) {
  // Ring, Simple, one node: 8.4 us and hops of 3.4 us: 3 for 4 ranks, 7 for 8.
  const double ratio = (8.4 + 3 * 3.4) / (8.4 + 7 * 3.4);
  EXPECT_DOUBLE_EQ(time({collective(Collective::all_gather, 0)}, ranks(4)).latency_ns, 1e5 * ratio);
}

TEST_F(LatentTransfers, HintsReplaceTheBlocksAndSlowWhatHasFewer) {
  const TransferShape gather = collective(Collective::all_gather, 800 * kMB);
  EXPECT_EQ(time({gather}, ranks(8)).sms, 20);
  EXPECT_EQ(time({gather}, ranks(8), 0, {.sms = 40}).sms, 40);
  EXPECT_DOUBLE_EQ(time({gather}, ranks(8), 0, {.sms = 40}).alone_ns, 7.1e6);
  EXPECT_DOUBLE_EQ(time({gather}, ranks(8), 0, {.sms = 10}).alone_ns, 14.2e6);
  EXPECT_EQ(time({message(Collective::send, kMB, 1)}, ranks(2)).sms, 8);
}

TEST_F(LatentTransfers, MessagesToAnotherNodeMayTakeOtherBlocks) {
  Hardware hardware = test::round_hardware();
  hardware.node.p2p_sms.value = 8;
  hardware.node.p2p_network_sms = Figure{.value = 2};
  model = CostModel(hardware);
  EXPECT_EQ(time({message(Collective::send, kMB, 1)}, ranks(2)).sms, 8);
  EXPECT_EQ(time({message(Collective::send, kMB, 1)}, ranks(2, 8)).sms, 2);
  EXPECT_EQ(time({message(Collective::send, kMB, 1), message(Collective::send, kMB, 8)}, ranks(9)).sms, 8);
}

TEST_F(LatentTransfers, AcrossNodesChannelsComeWithPorts) {
  Hardware hardware = test::round_hardware();
  for (CollectiveTimes& times : hardware.collectives) times.sms = 20;
  hardware.nccl.channels_per_port = Figure{.value = 4};
  model = CostModel(hardware);
  const TransferShape gather = collective(Collective::all_gather, 800 * kMB);
  EXPECT_EQ(time({gather}, {0, 8, 16, 24}).sms, 4);
  EXPECT_EQ(time({gather}, {0, 1, 8, 9}).sms, 8);
  EXPECT_EQ(time({gather}, ranks(16)).sms, 20);
  EXPECT_EQ(time({gather}, ranks(2)).sms, 20) << "inside a node";
}

TEST_F(LatentTransfers, FewBlocksCarryWhatTheirMultiprocessorsCan) {
  Hardware hardware = test::round_hardware();
  for (CollectiveTimes& times : hardware.collectives) times.sms = 20;
  hardware.nccl.sm_gb_per_s = hardware.node.p2p_nvlink_gb_per_s;
  hardware.nccl.sm_gb_per_s->value = 20;
  model = CostModel(hardware);
  const TransferShape gather = collective(Collective::all_gather, 800 * kMB);  // 700 MB on a link of 100 GB/s
  EXPECT_DOUBLE_EQ(time({gather}, ranks(8), 0, {.sms = 10}).alone_ns, 7e6);
  EXPECT_DOUBLE_EQ(time({gather}, ranks(8), 0, {.sms = 4}).alone_ns, 8.75e6);
  EXPECT_EQ(time({gather}, ranks(8), 0, {.sms = 4}).sms, 4);
  // Across nodes each block drives its own channel.
  const double alone = time({gather}, ranks(16)).alone_ns;
  EXPECT_DOUBLE_EQ(time({gather}, ranks(16), 0, {.sms = 10}).alone_ns, 2 * alone);
}

TEST_F(LatentTransfers, CopyEngineTakesNoSmAndReducesNothing) {
  const TransferTime gather = time({collective(Collective::all_gather, 800 * kMB)}, ranks(8), 0, {.copy_engine = true});
  EXPECT_TRUE(gather.copy_engine);
  EXPECT_EQ(gather.sms, 0);
  EXPECT_DOUBLE_EQ(gather.alone_ns, 7.1e6);
  EXPECT_THROW(time({collective(Collective::all_reduce, 1)}, ranks(8), 0, {.copy_engine = true}),
               std::invalid_argument);
}

TEST_F(RoundTransfers, RefusesWhatTheGroupDoesNotHave) {
  EXPECT_THROW(time({message(Collective::send, 1, 2)}, ranks(2)), std::invalid_argument);
  EXPECT_THROW(time({message(Collective::send, 1, -1)}, ranks(2)), std::invalid_argument);
  EXPECT_THROW(time({collective(Collective::all_gather, -1)}, ranks(2)), std::invalid_argument);
  EXPECT_THROW(time({collective(Collective::all_gather, 1)}, ranks(2), 2), std::invalid_argument);
  EXPECT_THROW(time({collective(Collective::all_gather, 1)}, ranks(2), 0, {.sms = -1}), std::invalid_argument);
}

TEST(Placement, DecidesWhichMembersShareANode) {
  const CostModel model(test::round_hardware(), {.gpus_per_node = 2});
  const std::vector<TransferShape> call{message(Collective::send, 100 * kMB, 1)};
  EXPECT_DOUBLE_EQ(model.transfers(call, std::vector<std::int32_t>{0, 1}, 0).alone_ns, 1e6);
  EXPECT_DOUBLE_EQ(model.transfers(call, std::vector<std::int32_t>{1, 2}, 0).alone_ns, 1e7);
}

/// The round machine, but for the times of its all-gather on a known group.
Hardware with_gather(std::int32_t ranks, std::int32_t nodes, std::vector<Segment> segments) {
  Hardware hardware = test::round_hardware();
  hardware.collectives = {{.collective = Collective::all_gather,
                           .algorithm = nccl::Algorithm::ring,
                           .ranks = ranks,
                           .nodes = nodes,
                           .segments = std::move(segments),
                           .source = ""}};
  return hardware;
}

TEST(Segments, DecideByTheMessageAndTheLastServesAllAbove) {
  const Hardware hardware = with_gather(8, 1, {{1000, 1, 7}, {2000, 2, 70}});
  const auto us = [&](std::int64_t bytes) {
    return time_of_collective(hardware, Collective::all_gather, {8, 1}, bytes).time_us(bytes);
  };
  EXPECT_DOUBLE_EQ(us(1000), 1 + 1000 / 8e3);
  EXPECT_DOUBLE_EQ(us(1001), 2 + 1001 / 80e3);
  EXPECT_DOUBLE_EQ(us(80'000'000), 1002);
}

TEST(Segments, OfAnotherGroupAreReadAtTheMessageThatLoadsTheLinksAlike) {
  const Hardware hardware = with_gather(16, 2, {{8000, 0, 80}, {16000, 0, 8}});
  const auto busbw = [&](std::int64_t bytes) {
    return time_of_collective(hardware, Collective::all_gather, {2, 2}, bytes).algbw_gb_per_s / 2;
  };
  // 1/2 of the message through one port a node instead of 15/16 through eight: 64/15 of the time a byte.
  EXPECT_NEAR(busbw(8000 * 15 / 64), 10, 1e-9);
  EXPECT_NEAR(busbw(8000 * 15 / 64 + 1), 1, 1e-9);
}

TEST(Segments, NeverMakeALargerMessageFaster) {
  // On the known group each begins where the one before ended, at 600 and at 700 us.
  const Hardware hardware = with_gather(16, 2, {{8'000'000, 100, 15}, {16'000'000, 500, 75}, {64'000'000, 100, 25}});
  double before_us = 0;
  for (std::int64_t bytes = 1'000'000; bytes < 64'000'000; bytes += 100'000) {
    const double us = time_of_collective(hardware, Collective::all_gather, {64, 8}, bytes).time_us(bytes);
    EXPECT_GE(us, before_us) << bytes;
    before_us = us;
  }
}

TEST(Segments, ComeFromTheLargestKnownGroupThatIsNotLarger) {
  Hardware hardware = with_gather(8, 1, {{1, 1, 80}});
  for (const int nodes : {32, 4, 16})
    hardware.collectives.push_back(with_gather(8 * nodes, nodes, {{1, double(nodes), 80}}).collectives[0]);
  const auto latency = [&](std::int32_t nodes) {
    return time_of_collective(hardware, Collective::all_gather, {8 * nodes, nodes}, 0).latency_us;
  };
  for (const int known : {1, 4, 16, 32}) EXPECT_EQ(latency(known), known);
  EXPECT_GT(latency(64), 32);
  EXPECT_LT(latency(2), 4) << "the smallest, where all are larger";
  EXPECT_GT(latency(8), 4);
  EXPECT_LT(latency(8), 16);
}

TEST(Segments, OfOneNodeSayNothingOfGroupsAcrossNodes) {
  Hardware hardware = test::round_hardware();
  std::erase_if(hardware.collectives, [](const CollectiveTimes& times) { return times.nodes > 1; });
  EXPECT_TRUE(time_of_collective(hardware, Collective::all_gather, {8, 1}, kMB).is_known);
  EXPECT_FALSE(time_of_collective(hardware, Collective::all_gather, {16, 2}, kMB).is_known);
}

TEST(Segments, GiveWayToTheTunerWhereTheDescriptionHasNone) {
  Hardware hardware = test::round_hardware();
  hardware.collectives.clear();
  const CollectiveTime time = time_of_collective(hardware, Collective::all_gather, {8, 1}, 700 * kMB);
  EXPECT_FALSE(time.is_known);
  EXPECT_DOUBLE_EQ(time.time_us(0), 8.4 + 7 * 3.4);
  EXPECT_DOUBLE_EQ(time.algbw_gb_per_s, 100.0 * 8 / 7);
  EXPECT_EQ(time.sms, 10);
}

TEST(H100, GathersAsSimAisTableSays) {
  const CostModel model(load_hardware("h100-sxm"));
  const auto busbw = [&](std::int64_t bytes, std::int32_t members) {
    const std::vector<TransferShape> call{collective(Collective::all_gather, bytes)};
    const double n = members;
    return static_cast<double>(bytes) * (n - 1) / n / model.transfers(call, ranks(members), 0).alone_ns;
  };
  constexpr std::int64_t kMiB = 1 << 20;
  EXPECT_NEAR(busbw(1024 * kMiB, 8), 0.77 * 450, 0.5);
  EXPECT_NEAR(busbw(16384 * kMiB, 8), 0.81 * 450, 0.5);
  EXPECT_NEAR(busbw(256 * kMiB, 16), 0.85 * 400, 0.5);
  EXPECT_NEAR(busbw(16 * kMiB, 256), 0.044 * 400, 0.1);
  EXPECT_NEAR(busbw(1024 * kMiB, 1024), 0.315 * 400, 0.5);
}

TEST(H100, LargerMessagesTakeLonger) {
  const CostModel model(load_hardware("h100-sxm"));
  for (const auto kind : {Collective::all_gather, Collective::all_reduce})
    for (const auto& members : {ranks(2), ranks(8), ranks(16), ranks(16, 8), ranks(256)}) {
      double before = 0;
      for (std::int64_t bytes = 64; bytes <= (std::int64_t{1} << 34); bytes *= 2) {
        const double now = model.transfers(std::vector<TransferShape>{collective(kind, bytes)}, members, 0).alone_ns;
        EXPECT_GE(now, before * 0.9) << to_string(kind) << " of " << bytes << " on " << members.size();
        before = now;
      }
    }
}

TEST(GB200, RackIsOneNode) {
  const CostModel model(load_hardware("gb200"));
  const std::vector<TransferShape> call{collective(Collective::all_reduce, std::int64_t{1} << 30)};
  EXPECT_EQ(model.transfers(call, ranks(72), 0).network_bytes, 0);
  EXPECT_EQ(model.transfers(call, ranks(72), 0).algorithm, "nvls");
  EXPECT_GT(model.transfers(call, ranks(144), 0).network_bytes, 0);
}

}  // namespace
}  // namespace underlap::sim
