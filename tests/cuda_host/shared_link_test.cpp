// SPDX-License-Identifier: Apache-2.0
// Transfers that share a link, what they take of the GPU, and what the link reports.
#include "platform/errors.hpp"
#include "tests/cuda_host/on_emulated_link.hpp"

namespace underlap::cuda {
namespace {

using cuda_host::Machine;
using cuda_host::virtual_clock;

TEST_F(OnEmulatedLink, TransfersOfTwoCommunicatorsShareTheRateWhetherBlocksSleepOrPoll) {
  for (const bool polls : {false, true}) {
    EmulatedLinkOptions asked = options({.gb_per_s = 0.1, .sms = 2});
    asked.shape.polls = polls;
    EmulatedLink link(asked);
    const Gather one(1000), other(1000);
    const auto a = link.connect(0, "a", group_of(4, 0), {}, {});
    const auto b = link.connect(1, "b", group_of(4, 0), {}, {});
    a->enqueue(one.transfers, streams_[0], 0);
    b->enqueue(other.transfers, streams_[1], 0);
    EXPECT_NEAR(run(), 2 * 3 * 4000 / 0.1, kNsOff);
    EXPECT_NEAR(link.report().achieved_gb_per_s.value(), 0.1, 1e-4);  // as one busy time, not half the rate twice
  }
}

TEST_F(OnEmulatedLink, TellsHowLongBlocksWaitedForMultiprocessors) {
  EmulatedLink link(options({.gb_per_s = 0.1, .sms = 2}));
  const Gather gather(4000);
  const double carrying = 3 * 16000 / 0.1;
  const auto channel = link.connect(0, "test", group_of(4, 0), {}, {});
  channel->enqueue(gather.transfers, streams_[0], 0);
  const auto begin = virtual_clock().now_ns;
  // The first has carried its half by then, and the link lay idle.
  virtual_clock().placed_at_ns = [&](unsigned block) {
    return block == 0 ? 0 : begin + static_cast<unsigned long long>(0.75 * carrying);
  };
  EXPECT_NEAR(run(), 1.25 * carrying, kNsOff);
  const LinkReport report = link.report();
  EXPECT_NEAR(report.achieved_gb_per_s.value(), 0.08, 1e-4);
  EXPECT_NEAR(report.longest_placing_us, 0.75e-3 * carrying, 1);
  EXPECT_EQ(report.bytes_out, 3 * 16000);
}

TEST_F(OnEmulatedLink, ACopyEngineSharesWithAKernel) {
  EmulatedLink link(options({.gb_per_s = 0.1, .sms = 2}));
  const Gather by_kernel(1000), by_engine(1000);
  const auto a = link.connect(0, "a", group_of(4, 0), {}, {});
  const auto b = link.connect(1, "b", group_of(4, 0), {.copy_engine = true}, {});
  a->enqueue(by_kernel.transfers, streams_[0], 0);
  b->enqueue(by_engine.transfers, streams_[1], 0);
  EXPECT_NEAR(run(), 2 * 3 * 4000 / 0.1, kNsOff);
  EXPECT_TRUE(by_engine.output.is_written());
}

// What fewer multiprocessors move is no fault of the link.
TEST_F(OnEmulatedLink, DoesNotJudgeTransfersThatAKnobGivesFewerMultiprocessors) {
  EmulatedLink link(options({.gb_per_s = 0.1, .sms = 3}));
  const Gather gather(4000);
  for (const int sms : {2, 0}) {
    const auto channel = link.connect(0, "test", group_of(4, 0), {.sms = sms}, {});
    channel->enqueue(gather.transfers, streams_[0], 0);
    run();
    link.measure_alone();
    channel->enqueue(gather.transfers, streams_[0], 1);
    run();
    const LinkReport report = link.report();
    EXPECT_EQ(report.num_with_fewer_sms, sms == 2) << sms;
    EXPECT_EQ(report.alone_gb_per_s.has_value(), sms == 0) << sms;
  }
}

// Whether the link or a communicator asked for them.
TEST_F(OnEmulatedLink, TellsThatADriverHasNoCopyEnginesForIt) {
  Machine::instance().set_driver(13000);
  const EmulatedLinkOptions by_blocks = options({.gb_per_s = 0.1, .sms = 2});
  EmulatedLink blocks(by_blocks), asked_for_by_one(by_blocks);
  EmulatedLink engines(options({.gb_per_s = 0.1, .sms = 2, .copy_engine = true}));
  const auto a = blocks.connect(0, "a", group_of(4, 0), {}, {});
  const auto b = asked_for_by_one.connect(0, "b", group_of(4, 0), {.copy_engine = true}, {});
  const auto c = engines.connect(0, "c", group_of(4, 0), {}, {});
  EXPECT_TRUE(blocks.unmet().empty());
  EXPECT_THAT(asked_for_by_one.unmet(), SizeIs(1));
  constexpr bool kCanAsk = CUDART_VERSION >= 12080;
  const std::string who = kCanAsk ? "the driver (CUDA 13.0) copies within a GPU by" : "a program built with CUDA 12.";
  EXPECT_THAT(engines.unmet(), ElementsAre(HasSubstr(who)));
  Machine::instance().set_driver(13010);
  EXPECT_EQ(engines.unmet().empty(), kCanAsk);
}

TEST_F(OnEmulatedLink, TheTwoDirectionsOfASendAndAReceiveDoNotShare) {
  for (const bool copy_engine : {false, true}) {
    EmulatedLink link(options({.gb_per_s = 0.1, .sms = 2, .copy_engine = copy_engine}));
    const CountedFloats input(2000);
    const Floats output(1000);
    BoundTransfer send = transfer(Collective::send, &input, 2000, nullptr, 0);
    BoundTransfer receive = transfer(Collective::receive, nullptr, 0, &output, 1000);
    EXPECT_NEAR(run(link, group_of(2, 0), {receive, send}), 2000 * 4 / 0.1, kNsOff) << copy_engine;
    EXPECT_TRUE(output.is_written());
  }
}

TEST_F(OnEmulatedLink, TransfersOfAGroupFollowEachOther) {
  EmulatedLink link(options({.gb_per_s = 0.1, .sms = 2}));
  const CountedFloats input(50);
  std::vector<std::unique_ptr<Floats>> outputs;
  std::vector<BoundTransfer> transfers;
  for (int i = 0; i < kMostLinkWorks + 2; ++i) {
    outputs.push_back(std::make_unique<Floats>(100));
    transfers.push_back(transfer(Collective::all_gather, &input, 50, outputs.back().get(), 100));
  }
  EXPECT_NEAR(run(link, group_of(2, 0), transfers), (kMostLinkWorks + 2) * 200 / 0.1, 2 * kNsOff);
  for (const auto& output : outputs) EXPECT_TRUE(output->is_written());
  EXPECT_EQ(link.report().num_transfers, 1);
}

TEST_F(OnEmulatedLink, LatencyCountsForEachStepOfTheRing) {
  const CountedFloats input(400);
  const Floats output(1600);
  for (const bool copy_engine : {false, true}) {
    EmulatedLink link(options({.gb_per_s = 0.1, .sms = 2, .copy_engine = copy_engine, .latency_us = 50}));
    const double gather = run(link, group_of(4, 0), {transfer(Collective::all_gather, &input, 400, &output, 1600)});
    EXPECT_NEAR(gather, 3 * 1600 / 0.1 + 3 * 50e3, kNsOff);
    const double reduce = run(link, group_of(4, 0), {transfer(Collective::all_reduce, &output, 1600, &output, 1600)});
    EXPECT_NEAR(reduce, 6 * 1600 / 0.1 + 6 * 50e3, kNsOff);
  }
}

TEST_F(OnEmulatedLink, TakesWhatWasAskedForOfTheGpu) {
  EmulatedLinkOptions as_nccl{.link = {.gb_per_s = 450, .sms = 5}, .shape = {}, .num_records = 4};
  EmulatedLink link(as_nccl);
  const Gather gather(64, 2);
  const auto blocks_with = [&](const CommunicatorHints& hints) {
    run(link, group_of(2, 0), gather.transfers, hints);
    EXPECT_EQ(Machine::instance().launched.size(), 1U);
    EXPECT_EQ(launched().threads, 544U);
    EXPECT_EQ(launched().shared_bytes, 82240U);
    return launched().blocks;
  };
  EXPECT_EQ(blocks_with({}), 5U);
  EXPECT_EQ(blocks_with({.sms = 2}), 2U);
}

TEST_F(OnEmulatedLink, ReductionsStayKernelsBesideCopyEngines) {
  EmulatedLink link(options({.gb_per_s = 1, .sms = 3, .copy_engine = true}));
  EXPECT_EQ(link.link(), "emulated 1 GB/s, copy engines (reductions: 3 SMs)");
  const CountedFloats buffer(64);
  run(link, group_of(2, 0), {transfer(Collective::all_reduce, &buffer, 64, &buffer, 64)});
  EXPECT_EQ(launched().blocks, 3U);
}

TEST_F(OnEmulatedLink, ReportsEachTransferOnceAndCountsWhatItCouldNotRecord) {
  EmulatedLinkOptions few = options({.gb_per_s = 0.1, .sms = 1});
  few.num_records = 2;
  EmulatedLink link(few);
  const Gather gather(1000, 2);
  const auto channel = link.connect(0, "test", group_of(2, 0), {}, {});
  for (int i = 0; i < 3; ++i) channel->enqueue(gather.transfers, streams_[0], 0);
  run();
  const LinkReport first = link.report();
  EXPECT_EQ(first.num_transfers, 2);
  EXPECT_EQ(first.num_unrecorded, 1);
  EXPECT_EQ(link.report().num_transfers, 0);
  channel->enqueue(gather.transfers, streams_[0], 0);
  run();
  EXPECT_EQ(link.report().num_transfers, 1);
}

TEST_F(OnEmulatedLink, TakesNothingMoreOnceAborted) {
  EmulatedLink link(options({.gb_per_s = 1, .sms = 1}));
  const auto channel = link.connect(0, "test", group_of(2, 0), {}, {});
  link.abort();
  const Gather gather(10, 2);
  EXPECT_THROW(channel->enqueue(gather.transfers, streams_[0], 7), MachineError);
}

TEST_F(OnEmulatedLink, LaunchesItsKernelAsNcclDoes) {
  const Gather gather(64, 2);
  const auto launched_with = [&](plan::EmulatedLink asked, const CommunicatorHints& hints) {
    EmulatedLink link(options(asked));
    run(link, group_of(2, 0), gather.transfers, hints);
    return launched();
  };
  const plan::EmulatedLink sixteen{.gb_per_s = 1, .sms = 16};
  EXPECT_EQ(launched_with(sixteen, {}).cluster, 4U);
  EXPECT_TRUE(launched_with(sixteen, {}).is_remote_domain);
  EXPECT_EQ(launched_with(sixteen, {.cga_size = 2}).cluster, 2U);
  EXPECT_EQ(launched_with({.gb_per_s = 1, .sms = 16, .cga_size = 1}, {}).cluster, 1U);
  EXPECT_EQ(launched_with({.gb_per_s = 1, .sms = 6}, {}).cluster, 1U) << "6 blocks are no whole clusters of 4";
  Machine::instance().compute_capability = 80;
  EXPECT_EQ(launched_with(sixteen, {.cga_size = 2}).cluster, 0U);
  EXPECT_FALSE(launched_with(sixteen, {}).is_remote_domain);
}

TEST_F(OnEmulatedLink, MeasuresEachKindOfTransferOnceAlone) {
  EmulatedLink link(options({.gb_per_s = 0.1, .sms = 2}));
  const Gather gather(8000);
  const auto a = link.connect(0, "a", group_of(4, 0), {}, {});
  const auto b = link.connect(1, "b", group_of(4, 0), {}, {});
  for (std::uint64_t i = 0; i < 2; ++i) a->enqueue(gather.transfers, streams_[0], i);
  run();
  Machine::instance().launched.clear();
  link.measure_alone();
  EXPECT_EQ(Machine::instance().launched.size(), 3U) << "one kind, three times";
  link.measure_alone();
  EXPECT_EQ(Machine::instance().launched.size(), 3U) << "it is known";
  EXPECT_EQ(link.report().num_transfers, 0) << "the repetitions are no block's transfers";
  // Beside each other either seems to have half of the link; both together have all of it.
  a->enqueue(gather.transfers, streams_[0], 7);
  b->enqueue(gather.transfers, streams_[1], 9);
  run();
  const LinkReport report = link.report();
  EXPECT_NEAR(report.alone_gb_per_s.value(), 0.1, 1e-3);
  ASSERT_EQ(link.stamps().size(), 2U);
  EXPECT_EQ(link.stamps()[0].communicator, 0U);
  EXPECT_EQ(link.stamps()[0].sequence, 7U);
  EXPECT_EQ(link.stamps()[1].communicator, 1U);
  EXPECT_EQ(link.stamps()[1].sequence, 9U);
  EXPECT_NEAR(static_cast<double>(link.stamps()[0].end_ns - link.stamps()[0].start_ns), 2 * 3 * 32000 / 0.1, 1e5);
}

}  // namespace
}  // namespace underlap::cuda
