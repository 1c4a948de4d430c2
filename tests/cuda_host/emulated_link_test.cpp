// SPDX-License-Identifier: Apache-2.0
// The emulated link on the machine of queues, whose clock moves on only where kernels sleep: times are exact.
#include "impl/device/cuda/emulated_link/emulated_link.hpp"

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/bf16.hpp"
#include "kernels/cuda/check.hpp"
#include "platform/errors.hpp"
#include "tests/cuda_host/machine.hpp"

namespace underlap::cuda {
namespace {

using cuda_host::Machine;
using cuda_host::virtual_clock;
using testing::Each;
using testing::ElementsAre;

constexpr std::int64_t kPiece = 256;
constexpr double kNsOff = 40;  // sleeps end up to 16 ns late, twice at most, and a byte's time is rounded

EmulatedLinkOptions options(plan::EmulatedLink link) {
  return {.link = link,
          .shape = {.threads = 64, .shared_bytes = 1024, .staging_bytes = 5 * kPiece, .piece_bytes = kPiece},
          .num_records = 64,
          .copy_piece_us = 2};
}

Group group_of(std::int32_t size, std::int32_t index) {
  Group group{.members = std::vector<std::int32_t>(static_cast<std::size_t>(size)), .my_index = index};
  std::iota(group.members.begin(), group.members.end(), 0);
  return group;
}

/// Floats in device memory; not a number until written.
class Floats {
 public:
  explicit Floats(std::int64_t count, std::int64_t skip = 0) : count_(count), skip_(skip) {
    void* memory = nullptr;
    check(cudaMalloc(&memory, static_cast<std::size_t>(count + skip) * sizeof(float)));
    data_ = static_cast<float*>(memory) + skip;
  }
  ~Floats() { cudaFree(data_ - skip_); }
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;

  Floats& count_up() {
    for (std::int64_t i = 0; i < count_; ++i) data_[i] = static_cast<float>(i + 1);
    return *this;
  }
  float operator[](std::int64_t i) const { return data_[i]; }
  View view(std::int64_t offset, std::int64_t elements) const {
    const Tensor tensor{.id = 1, .dtype = DataType::f32, .elements = count_};
    return {.tensor = tensor, .offset = offset, .rows = 1, .cols = elements, .leading_dimension = elements};
  }
  std::byte* at(std::int64_t element) const { return reinterpret_cast<std::byte*>(data_ + element); }
  bool is_written() const {
    return std::none_of(data_, data_ + count_, [](float value) { return std::isnan(value); });
  }

 private:
  std::int64_t count_;
  std::int64_t skip_;
  float* data_;
};

DeviceTransfer transfer(Collective collective, const Floats* input, std::int64_t in, const Floats* output,
                        std::int64_t out, std::int64_t in_at = 0, std::int64_t out_at = 0) {
  DeviceTransfer made;
  made.transfer.collective = collective;
  if (input != nullptr) made.transfer.input = input->view(in_at, in), made.input = input->at(in_at);
  if (output != nullptr) made.transfer.output = output->view(out_at, out), made.output = output->at(out_at);
  return made;
}

class OnEmulatedLink : public testing::Test {
 protected:
  OnEmulatedLink() {
    Machine::instance().reset(1, 5);
    Machine::instance().kernels_run_together = true;
    virtual_clock().tick_ns = 0;
    for (cudaStream_t& stream : streams_) check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  }
  ~OnEmulatedLink() override {
    for (cudaStream_t stream : streams_) cudaStreamDestroy(stream);
    virtual_clock() = {};
  }

  /// Runs what stands in the streams; nanoseconds of virtual time.
  double run() {
    const auto before = virtual_clock().now_ns;
    for (cudaStream_t stream : streams_) check(cudaStreamSynchronize(stream));
    return static_cast<double>(virtual_clock().now_ns - before);
  }
  double run(EmulatedLink& link, const Group& group, const std::vector<DeviceTransfer>& transfers) {
    const auto channel = link.connect(0, "test", group, {}, {});
    channel->enqueue(transfers, streams_[0], 0);
    return run();
  }

  std::array<cudaStream_t, 3> streams_{};
};

TEST_F(OnEmulatedLink, AllGatherBringsTheOwnShardEverywhere) {
  EmulatedLink link(options({.gb_per_s = 0.2, .sms = 3}));
  constexpr std::int64_t kShard = 1003;
  Floats input(kShard);
  input.count_up();
  const Floats output(4 * kShard);
  const double ns = run(link, group_of(4, 1), {transfer(Collective::all_gather, &input, kShard, &output, 4 * kShard)});
  EXPECT_NEAR(ns, 3 * kShard * 4 / 0.2, kNsOff);
  for (std::int64_t i = 0; i < 4 * kShard; ++i) ASSERT_EQ(output[i], static_cast<float>(i % kShard + 1)) << i;
}

TEST_F(OnEmulatedLink, AllGatherInPlaceLeavesTheOwnShardAlone) {
  EmulatedLink link(options({.gb_per_s = 1, .sms = 2}));
  Floats buffer(4 * 100);
  buffer.count_up();
  run(link, group_of(4, 2), {transfer(Collective::all_gather, &buffer, 100, &buffer, 400, 200)});
  for (std::int64_t i = 0; i < 400; ++i) ASSERT_EQ(buffer[i], static_cast<float>(200 + i % 100 + 1)) << i;
  EXPECT_EQ(link.report().bytes_written, (3 + 3) * 100 * 4);
}

TEST_F(OnEmulatedLink, ReduceScatterReducesTheShards) {
  EmulatedLink link(options({.gb_per_s = 0.2, .sms = 3}));
  constexpr std::int64_t kShard = 1001;
  Floats input(4 * kShard);
  input.count_up();
  const Floats output(kShard);
  DeviceTransfer reduce = transfer(Collective::reduce_scatter, &input, 4 * kShard, &output, kShard);
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
  Floats buffer(kCount);
  buffer.count_up();
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
  DeviceTransfer transfer_;
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
  const auto channel = link.connect(0, "test", group_of(c.ranks, c.ranks - 1), {}, {});
  Machine::instance().launched.clear();
  channel->enqueue(std::array{transfer_}, streams_[0], 0);
  EXPECT_NEAR(run(), static_cast<double>(wire_bytes(c)) / 0.1, kNsOff);
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
  Floats input(100);
  input.count_up();
  for (const Collective collective : {Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce,
                                      Collective::all_to_all, Collective::broadcast}) {
    const Floats output(100);
    EXPECT_EQ(run(link, group_of(1, 0), {transfer(collective, &input, 100, &output, 100)}), 0);
    EXPECT_EQ(output[99], 100) << to_string(collective);
  }
}

TEST_F(OnEmulatedLink, TransfersOfTwoCommunicatorsShareTheRateWhetherBlocksSleepOrPoll) {
  for (const bool polls : {false, true}) {
    EmulatedLinkOptions asked = options({.gb_per_s = 0.1, .sms = 2});
    asked.shape.polls = polls;
    EmulatedLink link(asked);
    Floats input(1000);
    const Floats output(4000), other(4000);
    input.count_up();
    const auto a = link.connect(0, "a", group_of(4, 0), {}, {});
    const auto b = link.connect(1, "b", group_of(4, 0), {}, {});
    a->enqueue(std::array{transfer(Collective::all_gather, &input, 1000, &output, 4000)}, streams_[0], 0);
    b->enqueue(std::array{transfer(Collective::all_gather, &input, 1000, &other, 4000)}, streams_[1], 0);
    EXPECT_NEAR(run(), 2 * 3 * 4000 / 0.1, kNsOff);
    EXPECT_NEAR(link.report().achieved_gb_per_s.value(), 0.1, 1e-4);  // as one busy time, not half the rate twice
  }
}

TEST_F(OnEmulatedLink, TellsHowLongBlocksWaitedForMultiprocessors) {
  EmulatedLink link(options({.gb_per_s = 0.1, .sms = 2}));
  Floats input(4000);
  const Floats output(16000);
  input.count_up();
  const double carrying = 3 * 16000 / 0.1;
  const auto channel = link.connect(0, "test", group_of(4, 0), {}, {});
  channel->enqueue(std::array{transfer(Collective::all_gather, &input, 4000, &output, 16000)}, streams_[0], 0);
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
  const Group group = group_of(4, 0);
  Floats input(1000);
  const Floats output(4000), other(4000);
  input.count_up();
  const auto a = link.connect(0, "a", group, {}, {});
  const auto b = link.connect(1, "b", group, {.copy_engine = true}, {});
  a->enqueue(std::array{transfer(Collective::all_gather, &input, 1000, &output, 4000)}, streams_[0], 0);
  b->enqueue(std::array{transfer(Collective::all_gather, &input, 1000, &other, 4000)}, streams_[1], 0);
  EXPECT_NEAR(run(), 2 * 3 * 4000 / 0.1, kNsOff);
  EXPECT_TRUE(other.is_written());
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
  EXPECT_THAT(asked_for_by_one.unmet(), testing::SizeIs(1));
  constexpr bool kCanAsk = CUDART_VERSION >= 12080;
  const std::string who = kCanAsk ? "the driver (CUDA 13.0) copies within a GPU by" : "a program built with CUDA 12.";
  EXPECT_THAT(engines.unmet(), testing::ElementsAre(testing::HasSubstr(who)));
  Machine::instance().set_driver(13010);
  EXPECT_EQ(engines.unmet().empty(), kCanAsk);
}

TEST_F(OnEmulatedLink, TheTwoDirectionsOfASendAndAReceiveDoNotShare) {
  for (const bool copy_engine : {false, true}) {
    EmulatedLink link(options({.gb_per_s = 0.1, .sms = 2, .copy_engine = copy_engine}));
    Floats input(2000);
    const Floats output(1000);
    input.count_up();
    DeviceTransfer send = transfer(Collective::send, &input, 2000, nullptr, 0);
    DeviceTransfer receive = transfer(Collective::receive, nullptr, 0, &output, 1000);
    EXPECT_NEAR(run(link, group_of(2, 0), {receive, send}), 2000 * 4 / 0.1, kNsOff) << copy_engine;
    EXPECT_TRUE(output.is_written());
  }
}

TEST_F(OnEmulatedLink, TransfersOfAGroupFollowEachOther) {
  EmulatedLink link(options({.gb_per_s = 0.1, .sms = 2}));
  Floats input(50);
  input.count_up();
  std::vector<std::unique_ptr<Floats>> outputs;
  std::vector<DeviceTransfer> transfers;
  for (int i = 0; i < kMostLinkWorks + 2; ++i) {
    outputs.push_back(std::make_unique<Floats>(100));
    transfers.push_back(transfer(Collective::all_gather, &input, 50, outputs.back().get(), 100));
  }
  EXPECT_NEAR(run(link, group_of(2, 0), transfers), (kMostLinkWorks + 2) * 200 / 0.1, 2 * kNsOff);
  for (const auto& output : outputs) EXPECT_TRUE(output->is_written());
  EXPECT_EQ(link.report().num_transfers, 1);
}

TEST_F(OnEmulatedLink, LatencyCountsForEachStepOfTheRing) {
  Floats input(400);
  input.count_up();
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
  Floats input(64);
  input.count_up();
  const Floats output(128);
  const auto blocks_with = [&](const CommunicatorHints& hints) {
    const auto channel = link.connect(0, "test", group_of(2, 0), hints, {});
    Machine::instance().launched.clear();
    channel->enqueue(std::array{transfer(Collective::all_gather, &input, 64, &output, 128)}, streams_[0], 0);
    run();
    EXPECT_EQ(Machine::instance().launched.size(), 1U);
    const cuda_host::KernelLaunch& kernel = Machine::instance().launched.at(0);
    EXPECT_EQ(kernel.threads, 544U);
    EXPECT_EQ(kernel.shared_bytes, 82240U);
    return kernel.blocks;
  };
  EXPECT_EQ(blocks_with({}), 5U);
  EXPECT_EQ(blocks_with({.sms = 2}), 2U);
}

TEST_F(OnEmulatedLink, ReductionsStayKernelsBesideCopyEngines) {
  EmulatedLink link(options({.gb_per_s = 1, .sms = 3, .copy_engine = true}));
  EXPECT_EQ(link.link(), "emulated 1 GB/s, copy engines (reductions: 3 SMs)");
  Floats buffer(64);
  buffer.count_up();
  const auto channel = link.connect(0, "test", group_of(2, 0), {}, {});
  Machine::instance().launched.clear();
  channel->enqueue(std::array{transfer(Collective::all_reduce, &buffer, 64, &buffer, 64)}, streams_[0], 0);
  run();
  EXPECT_EQ(Machine::instance().launched.at(0).blocks, 3U);
}

TEST_F(OnEmulatedLink, ReportsEachTransferOnceAndCountsWhatItCouldNotRecord) {
  EmulatedLinkOptions few = options({.gb_per_s = 0.1, .sms = 1});
  few.num_records = 2;
  EmulatedLink link(few);
  Floats input(1000);
  input.count_up();
  const Floats output(2000);
  const auto channel = link.connect(0, "test", group_of(2, 0), {}, {});
  for (int i = 0; i < 3; ++i)
    channel->enqueue(std::array{transfer(Collective::all_gather, &input, 1000, &output, 2000)}, streams_[0], 0);
  run();
  const LinkReport first = link.report();
  EXPECT_EQ(first.num_transfers, 2);
  EXPECT_EQ(first.num_unrecorded, 1);
  EXPECT_EQ(link.report().num_transfers, 0);
  channel->enqueue(std::array{transfer(Collective::all_gather, &input, 1000, &output, 2000)}, streams_[0], 0);
  run();
  EXPECT_EQ(link.report().num_transfers, 1);
}

TEST_F(OnEmulatedLink, TakesNothingMoreOnceAborted) {
  EmulatedLink link(options({.gb_per_s = 1, .sms = 1}));
  const auto channel = link.connect(0, "test", group_of(2, 0), {}, {});
  link.abort();
  Floats input(10);
  const Floats output(20);
  EXPECT_THROW(channel->enqueue(std::array{transfer(Collective::all_gather, &input, 10, &output, 20)}, streams_[0], 7),
               MachineError);
}

TEST_F(OnEmulatedLink, LaunchesItsKernelAsNcclDoes) {
  Floats input(64);
  const Floats output(128);
  const auto launched_with = [&](plan::EmulatedLink asked, const CommunicatorHints& hints) {
    EmulatedLink link(options(asked));
    const auto channel = link.connect(0, "test", group_of(2, 0), hints, {});
    Machine::instance().launched.clear();
    channel->enqueue(std::array{transfer(Collective::all_gather, &input, 64, &output, 128)}, streams_[0], 0);
    run();
    return Machine::instance().launched.at(0);
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
  Floats input(8000);
  const Floats output(32000);
  input.count_up();
  const auto a = link.connect(0, "a", group_of(4, 0), {}, {});
  const auto b = link.connect(1, "b", group_of(4, 0), {}, {});
  const std::array gather{transfer(Collective::all_gather, &input, 8000, &output, 32000)};
  for (std::uint64_t i = 0; i < 2; ++i) a->enqueue(gather, streams_[0], i);
  run();
  Machine::instance().launched.clear();
  link.measure_alone();
  EXPECT_EQ(Machine::instance().launched.size(), 3U) << "one kind, three times";
  link.measure_alone();
  EXPECT_EQ(Machine::instance().launched.size(), 3U) << "it is known";
  EXPECT_EQ(link.report().num_transfers, 0) << "the repetitions are no block's transfers";
  // Beside each other either seems to have half of the link; both together have all of it.
  a->enqueue(gather, streams_[0], 7);
  b->enqueue(gather, streams_[1], 9);
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
