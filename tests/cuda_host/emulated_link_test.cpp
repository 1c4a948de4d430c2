// SPDX-License-Identifier: Apache-2.0
// What each transfer moves, and how long the link takes for it.
#include "tests/cuda_host/on_emulated_link.hpp"

namespace underlap::cuda {
namespace {

using cuda_host::Machine;

TEST_F(OnEmulatedLink, AllGatherBringsTheOwnShardEverywhere) {
  EmulatedLink link(options({.gb_per_s = 0.2, .sms = 3}));
  constexpr std::int64_t kShard = 1003;
  const CountedFloats input(kShard);
  const Floats output(4 * kShard);
  const double ns = run(link, group_of(4, 1), {transfer(Collective::all_gather, &input, kShard, &output, 4 * kShard)});
  EXPECT_NEAR(ns, 3 * kShard * 4 / 0.2, kNsOff);
  for (std::int64_t i = 0; i < 4 * kShard; ++i) ASSERT_EQ(output[i], static_cast<float>(i % kShard + 1)) << i;
}

TEST_F(OnEmulatedLink, AllGatherInPlaceLeavesTheOwnShardAlone) {
  EmulatedLink link(options({.gb_per_s = 1, .sms = 2}));
  const CountedFloats buffer(4 * 100);
  run(link, group_of(4, 2), {transfer(Collective::all_gather, &buffer, 100, &buffer, 400, 200)});
  for (std::int64_t i = 0; i < 400; ++i) ASSERT_EQ(buffer[i], static_cast<float>(200 + i % 100 + 1)) << i;
  EXPECT_EQ(link.report().bytes_written, (3 + 3) * 100 * 4);
}

TEST_F(OnEmulatedLink, ReduceScatterReducesTheShards) {
  EmulatedLink link(options({.gb_per_s = 0.2, .sms = 3}));
  constexpr std::int64_t kShard = 1001;
  const CountedFloats input(4 * kShard);
  const Floats output(kShard);
  BoundTransfer reduce = transfer(Collective::reduce_scatter, &input, 4 * kShard, &output, kShard);
  EXPECT_NEAR(run(link, group_of(4, 3), {reduce}), 3 * kShard * 4 / 0.2, kNsOff);
  const auto sum = [&](std::int64_t i) { return static_cast<float>(4 * (i + 1) + 6 * kShard); };
  for (std::int64_t i = 0; i < kShard; ++i) ASSERT_EQ(output[i], sum(i)) << i;
  reduce.transfer.op = ReduceOp::average;
  run(link, group_of(4, 3), {reduce});
  for (std::int64_t i = 0; i < kShard; ++i) ASSERT_EQ(output[i], sum(i) / 4) << i;
  reduce.transfer.op = ReduceOp::max;
  EXPECT_NEAR(run(link, group_of(4, 3), {reduce}), 3 * kShard * 4 / 0.2, kNsOff);
  for (std::int64_t i = 0; i < kShard; ++i) ASSERT_EQ(output[i], static_cast<float>(i + 1 + 3 * kShard)) << i;
}

TEST_F(OnEmulatedLink, AllReduceAddsTheShardsAndSpreadsThem) {
  EmulatedLink link(options({.gb_per_s = 0.2, .sms = 3}));
  constexpr std::int64_t kCount = 4 * 1000;
  const CountedFloats buffer(kCount);
  const double ns = run(link, group_of(4, 0), {transfer(Collective::all_reduce, &buffer, kCount, &buffer, kCount)});
  EXPECT_NEAR(ns, 6 * 1000 * 4 / 0.2, kNsOff);
  for (std::int64_t i = 0; i < kCount; ++i) ASSERT_EQ(buffer[i], static_cast<float>(4 * (i % 1000 + 1) + 6000)) << i;
}

struct Case {
  Collective collective;
  std::int64_t elements;  // of a member's shard
  std::int32_t ranks;
  int sms;
  std::int64_t skip;  // elements by which memory is out of line
};

class Transfers : public OnEmulatedLink, public testing::WithParamInterface<Case> {
 protected:
  Transfers() {
    const Case& c = GetParam();
    const std::int64_t all = c.elements * c.ranks;
    const bool gathers = c.collective == Collective::all_gather;
    const bool scatters = c.collective == Collective::reduce_scatter;
    input_ = std::make_unique<Floats>(gathers ? c.elements : all, c.skip);
    output_ = std::make_unique<Floats>(scatters ? c.elements : all, c.skip);
    input_->count_up();
    transfer_ =
        transfer(c.collective, c.collective == Collective::receive ? nullptr : input_.get(), gathers ? c.elements : all,
                 c.collective == Collective::send ? nullptr : output_.get(), scatters ? c.elements : all);
    transfer_.transfer.peer = 0;
  }
  std::unique_ptr<Floats> input_;
  std::unique_ptr<Floats> output_;
  BoundTransfer transfer_;
};

std::int64_t wire_bytes(const Case& c) {
  const std::int64_t shard = c.elements * 4;
  switch (c.collective) {
    case Collective::all_reduce: return 2 * (c.ranks - 1) * ((shard + 15) / 16 * 16);
    case Collective::broadcast:
    case Collective::send:
    case Collective::receive: return shard * c.ranks;
    default: return (c.ranks - 1) * shard;
  }
}

TEST_P(Transfers, WriteAllOfTheirOutputInTheTimeOfTheirBytes) {
  const Case& c = GetParam();
  EmulatedLink link(options({.gb_per_s = 0.1, .sms = c.sms}));
  const double ns = run(link, group_of(c.ranks, c.ranks - 1), {transfer_});
  EXPECT_NEAR(ns, static_cast<double>(wire_bytes(c)) / 0.1, kNsOff);
  EXPECT_TRUE(c.collective == Collective::send || output_->is_written());
  const LinkReport report = link.report();
  EXPECT_EQ(report.bytes_out, c.collective == Collective::receive ? 0 : wire_bytes(c));
  EXPECT_EQ(report.bytes_in, c.collective == Collective::send ? 0 : wire_bytes(c));
}

// The formulas of link_kernel.hpp.
TEST_P(Transfers, MoveTheMemoryTrafficOfARing) {
  const Case& c = GetParam();
  EmulatedLink link(options({.gb_per_s = 0, .sms = c.sms}));
  run(link, group_of(c.ranks, c.ranks - 1), {transfer_});
  const LinkReport report = link.report();
  const std::int64_t n = c.ranks, m = c.elements * 4, all = n * m;
  const auto expect = [&](std::int64_t read, std::int64_t written) {
    EXPECT_EQ(report.bytes_read, read);
    EXPECT_EQ(report.bytes_written, written);
  };
  switch (c.collective) {
    case Collective::all_gather: return expect(n * m, (n - 1) * m + n * m);
    case Collective::reduce_scatter: return expect((2 * n - 1) * m, (n - 1) * m + m);
    case Collective::all_to_all: return expect((2 * n - 1) * m, (n - 1) * m + n * m);
    case Collective::broadcast: return expect(all, 2 * all);
    case Collective::send: return expect(all, 0);
    case Collective::receive: return expect(all, 2 * all);
    case Collective::all_reduce:
      if (m % 16 == 0) expect((3 * n - 2) * m, 2 * (n - 1) * m + n * m);
  }
}

TEST_P(Transfers, ByCopyEngineTakeTheSameTimeAndNoMoreThanAThread) {
  const Case& c = GetParam();
  if (c.collective == Collective::all_reduce || c.collective == Collective::reduce_scatter) return;
  EmulatedLink link(options({.gb_per_s = 0.1, .sms = c.sms, .copy_engine = true}));
  EXPECT_NEAR(run(link, group_of(c.ranks, c.ranks - 1), {transfer_}), static_cast<double>(wire_bytes(c)) / 0.1, kNsOff);
  for (const cuda_host::KernelLaunch& kernel : Machine::instance().launched)
    EXPECT_EQ(kernel.blocks * kernel.threads, 1U);
  EXPECT_TRUE(c.collective == Collective::send || output_->is_written());
  EXPECT_EQ(link.report().bytes_out, c.collective == Collective::receive ? 0 : wire_bytes(c));
}

INSTANTIATE_TEST_SUITE_P(
    EmulatedLink, Transfers,
    testing::Values(Case{Collective::all_gather, 1, 2, 1, 0}, Case{Collective::all_gather, 777, 8, 4, 0},
                    Case{Collective::all_gather, 640, 3, 1, 1}, Case{Collective::reduce_scatter, 1, 2, 3, 0},
                    Case{Collective::reduce_scatter, 777, 8, 4, 3}, Case{Collective::reduce_scatter, 640, 3, 1, 0},
                    Case{Collective::all_reduce, 1, 2, 2, 0}, Case{Collective::all_reduce, 333, 8, 3, 0},
                    Case{Collective::all_reduce, 640, 3, 2, 1}, Case{Collective::all_reduce, 512, 2, 2, 0},
                    Case{Collective::all_to_all, 333, 5, 3, 0}, Case{Collective::all_to_all, 64, 2, 1, 1},
                    Case{Collective::broadcast, 333, 4, 3, 0}, Case{Collective::send, 333, 4, 3, 0},
                    Case{Collective::receive, 333, 4, 3, 2}),
    [](const auto& c) {
      return std::string(to_string(c.param.collective)) + "_" + std::to_string(c.param.elements) + "_" +
             std::to_string(c.param.ranks) + "_" + std::to_string(c.param.sms) + "_" + std::to_string(c.param.skip);
    });

TEST_F(OnEmulatedLink, AGroupOfOneTakesNoTime) {
  EmulatedLink link(options({.gb_per_s = 0.1, .sms = 2}));
  const CountedFloats input(100);
  for (const Collective collective : {Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce,
                                      Collective::all_to_all, Collective::broadcast}) {
    const Floats output(100);
    EXPECT_EQ(run(link, group_of(1, 0), {transfer(collective, &input, 100, &output, 100)}), 0);
    EXPECT_EQ(output[99], 100) << to_string(collective);
  }
  EXPECT_EQ(run(link, group_of(1, 0), {transfer(Collective::all_reduce, &input, 100, &input, 100)}), 0) << "in place";
  EXPECT_TRUE(Machine::instance().launched.empty());  // as NCCL
}

// As NCCL's: the bytes that are sent come back as those that a peer sends, without a third copy.
TEST_F(OnEmulatedLink, ASendAndAReceiveMoveTheirBytesTwice) {
  EmulatedLink link(options({.gb_per_s = 0.1, .sms = 2}));
  const CountedFloats input(1000);
  const Floats output(1000);
  run(link, group_of(2, 0),
      {transfer(Collective::receive, nullptr, 0, &output, 1000), transfer(Collective::send, &input, 1000, nullptr, 0)});
  const LinkReport report = link.report();
  EXPECT_EQ(report.bytes_read, 2 * 4000);
  EXPECT_EQ(report.bytes_written, 2 * 4000);
  EXPECT_EQ(output[999], 1000);
}

}  // namespace
}  // namespace underlap::cuda
