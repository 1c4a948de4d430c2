// SPDX-License-Identifier: Apache-2.0
// What each tensor-parallel technique must leave exposed, to the nanosecond.
#include <gmock/gmock.h>

#include "impl/device/sim/machine.hpp"
#include "profiler/analysis/exposure.hpp"
#include "tests/impl/tp/virtual_slot.hpp"

namespace underlap::tp {
namespace {

using plan::TensorMethod;

constexpr std::int64_t kPartNs = 100;  // the GEMM of one rank's rows
constexpr std::int64_t kCopyNs = 7;
constexpr std::int64_t kSumNs = 11;

SlotCase slot(SlotKind kind, const plan::TensorSlotOverlap& overlap, std::int32_t num_ranks = 4) {
  return {.kind = kind,
          .overlap = overlap,
          .num_ranks = num_ranks,
          .gemm_ns = num_ranks * kPartNs,
          .copy_ns = kCopyNs,
          .sum_ns = kSumNs};
}

// Of the second step on rank 0; all ranks do the same at the same time.
analysis::Split split_of(const SlotCase& c) {
  const Trace trace = VirtualSlot(c).play();
  return analysis::split_window(trace, analysis::find_windows(trace).windows.at(0));
}

/// What is exposed, and how long the step takes beside that.
void expect_split(const SlotCase& c, std::int64_t exposed_ns, std::int64_t other_ns) {
  const analysis::Split split = split_of(c);
  EXPECT_EQ(split.exposed_ns(), exposed_ns);
  EXPECT_EQ(split.window_ns, other_ns + exposed_ns);
}

constexpr std::int64_t excess(std::int64_t a, std::int64_t b) { return std::max<std::int64_t>(0, a - b); }

using RingCase = std::tuple<std::int32_t, std::int64_t>;  // ranks, hop
class RingLaw : public testing::TestWithParam<RingCase> {
 protected:
  std::int32_t num_ranks() const { return std::get<0>(GetParam()); }
  std::int64_t hop_ns() const { return std::get<1>(GetParam()); }
  std::int64_t num_hops() const { return num_ranks() - 1; }
  SlotCase ring(SlotKind kind) const {
    SlotCase c = slot(kind, {.method = TensorMethod::ring_exchange}, num_ranks());
    c.hop_ns = hop_ns();
    return c;
  }
};
INSTANTIATE_TEST_SUITE_P(Hops, RingLaw,
                         testing::Combine(testing::Values(2, 4, 8), testing::Values(1, 50, 99, 100, 101, 150, 1000)));

TEST_P(RingLaw, AGatherExposesNothingWhileAHopIsShorterThanItsGemmAndElseTheExcessOfEachHop) {
  expect_split(ring(SlotKind::gather), num_hops() * excess(hop_ns(), kPartNs), kCopyNs + num_ranks() * kPartNs);
}

TEST_P(RingLaw, AnAggregatedGatherExposesItsSwapAndTheExcessOfEachHopOfTwo) {
  SlotCase c = ring(SlotKind::gather);
  c.overlap.aggregate = true;
  expect_split(c, hop_ns() + (num_ranks() / 2 - 1) * excess(2 * hop_ns(), 2 * kPartNs),
               kCopyNs + num_ranks() * kPartNs);
}

TEST_P(RingLaw, AScatterExposesTheSameAndAddsItsSum) {
  expect_split(ring(SlotKind::scatter), num_hops() * excess(hop_ns(), kPartNs), num_ranks() * kPartNs + kSumNs);
}

constexpr std::int64_t kCastNs = 20;

SlotCase fp8_slot(const plan::TensorSlotOverlap& overlap, std::int32_t num_ranks) {
  SlotCase c = slot(SlotKind::scatter, overlap, num_ranks);
  c.overlap.fp8_buf = true;
  c.tokens_of_part = kFp8Tokens, c.features = kFp8Features, c.others = kFp8Others;
  c.cast_ns = kCastNs;
  return c;
}

TEST_P(RingLaw, AScatterInFp8ExposesTheExcessOfHalfAHopAndAddsACast) {
  SlotCase c = fp8_slot({.method = TensorMethod::ring_exchange}, num_ranks());
  c.hop_ns = 2 * hop_ns();
  expect_split(c, num_hops() * excess(hop_ns(), kPartNs), num_ranks() * kPartNs + kCastNs + kSumNs);
}

class CollectiveLaw : public testing::TestWithParam<std::int64_t> {
 protected:
  /// A slot whose collective takes as long as the test says.
  static SlotCase slot_of(SlotKind kind, TensorMethod method) {
    SlotCase c = slot(kind, {.method = method, .num_sm = 0});
    c.collective_ns = GetParam();
    return c;
  }
  const std::int64_t collective_ns_ = GetParam(), gemm_ns_ = slot(SlotKind::gather, {}).gemm_ns;
};
INSTANTIATE_TEST_SUITE_P(Durations, CollectiveLaw, testing::Values(4, 200, 396, 400, 404, 600, 4000));

TEST_P(CollectiveLaw, ADrainExposesItsFirstGatherAndTheExcessOfEachOther) {
  expect_split(slot_of(SlotKind::drain, TensorMethod::nccl), collective_ns_ + 2 * excess(collective_ns_, gemm_ns_),
               3 * gemm_ns_);
  expect_split(slot_of(SlotKind::drain, TensorMethod::waited), 3 * collective_ns_, 3 * gemm_ns_);
}

// Of all-reduces, forward has nothing beside it, also where the backward pass is asynchronous.
TEST_P(CollectiveLaw, WaitedForIsExposedWhole) {
  for (const SlotKind kind : {SlotKind::gather, SlotKind::scatter, SlotKind::reduce, SlotKind::gather_beside,
                              SlotKind::scatter_beside, SlotKind::reduce_beside})
    expect_split(slot_of(kind, TensorMethod::waited), collective_ns_, gemm_ns_);
  expect_split(slot_of(SlotKind::reduce, TensorMethod::nccl), collective_ns_, gemm_ns_);
}

TEST_P(CollectiveLaw, AsynchronousExposesWhatItTakesLongerThanTheGemmAndBulkAddsItsCopy) {
  for (const SlotKind kind : {SlotKind::gather_beside, SlotKind::scatter_beside, SlotKind::reduce_beside})
    expect_split(slot_of(kind, TensorMethod::nccl), excess(collective_ns_, gemm_ns_), gemm_ns_);
  for (const SlotKind kind : {SlotKind::gather_beside, SlotKind::scatter_beside})
    expect_split(slot_of(kind, TensorMethod::bulk), excess(collective_ns_, gemm_ns_), kCopyNs + gemm_ns_);
}

// The GEMM of bulk in waves of 10: 4000 tiles on 100 multiprocessors, 20 of which the collective holds.
SlotCase stealing_bulk(std::int64_t collective_ns, bool set_sm_margin) {
  SlotCase c =
      slot(SlotKind::gather_beside, {.method = TensorMethod::bulk, .num_sm = 20, .set_sm_margin = set_sm_margin});
  c.wave_ns = 10;
  c.collective_ns = collective_ns;
  return c;
}

TEST(BulkLaws, ACollectiveStretchesTheGemmByTheMultiprocessorsThatItHolds) {
  const analysis::Split longer = split_of(stealing_bulk(600, false));
  EXPECT_EQ(longer.compute_ns(), 500) << "4000 tiles on 80: 50 waves and not 40";
  EXPECT_EQ(longer.exposed_ns(), 600 - 500);
  EXPECT_EQ(longer.window_ns, kCopyNs + 600) << "the step is as long as without stealing: that is the collective's";
  const analysis::Split shorter = split_of(stealing_bulk(200, false));
  EXPECT_EQ(shorter.exposed_ns(), 0);
  EXPECT_EQ(shorter.compute_ns(), 440) << "20 waves of 80, then 2400 tiles in 24 of 100";
  EXPECT_EQ(shorter.window_ns, kCopyNs + 440) << "40 more than without stealing";
  const analysis::Split with_margin = split_of(stealing_bulk(200, true));
  EXPECT_EQ(with_margin.compute_ns(), 500) << "a margin keeps them free also after the collective";
  EXPECT_EQ(with_margin.exposed_ns(), 0);
}

struct PipelineCase {
  std::int32_t num_splits;
  std::int64_t scatter_ns;  // of a split
};
class PipelineLaw : public testing::TestWithParam<PipelineCase> {};
INSTANTIATE_TEST_SUITE_P(Splits, PipelineLaw,
                         testing::Values(PipelineCase{2, 10}, PipelineCase{4, 10}, PipelineCase{4, 99},
                                         PipelineCase{4, 100}, PipelineCase{4, 101}, PipelineCase{8, 60},
                                         PipelineCase{2, 1000}));

TEST_P(PipelineLaw, ExposesTheLastSplitAndTheExcessOfThoseBefore) {
  const auto [splits, scatter_ns] = GetParam();
  SlotCase c = slot(SlotKind::scatter, {.method = TensorMethod::pipeline, .num_sm = 0, .num_splits = splits});
  c.wave_ns = 1;
  c.collective_ns = splits * scatter_ns;
  c.copy_ns = 0;
  expect_split(c, scatter_ns + (splits - 1) * excess(scatter_ns, c.gemm_ns / splits), c.gemm_ns);
}

TEST_P(PipelineLaw, InFp8ExposesHalfOfThatAndAddsTheCastOfTheLastSplit) {
  const auto [splits, scatter_ns] = GetParam();
  SlotCase c = fp8_slot({.method = TensorMethod::pipeline, .num_sm = 0, .num_splits = splits}, 4);
  c.features = 8 * splits;
  c.wave_ns = 1;
  c.collective_ns = 2 * splits * scatter_ns;
  c.cast_ns = 2 * splits;  // of a rank's part: all four parts of a split take 8
  c.sum_ns = 0;
  expect_split(c, scatter_ns + (splits - 1) * excess(scatter_ns, c.gemm_ns / splits), c.gemm_ns + 8);
}

TEST(PipelineLaws, OnlyTheCopyOfTheLastSplitComesOnTop) {
  SlotCase c = slot(SlotKind::scatter, {.method = TensorMethod::pipeline, .num_sm = 0, .num_splits = 4});
  c.copy_ns = 40;  // 10 a split
  c.collective_ns = 200;
  EXPECT_EQ(split_of(c).window_ns, c.gemm_ns + 50 + 10);
}

// Splits of ten waves of 10; a scatter of 80 holds 20 multiprocessors.
TEST(PipelineLaws, WhatAScatterHoldsTheSplitBesideItLacks) {
  SlotCase c = slot(SlotKind::scatter, {.method = TensorMethod::pipeline, .num_sm = 20, .num_splits = 4});
  c.wave_ns = 10;
  c.collective_ns = 4 * 80;
  const analysis::Split split = split_of(c);
  // 4000 tiles, and three times eight waves without 20 of theirs: 4480 are 44.8 waves. The last scatter, on 32, has
  // nothing beside it.
  EXPECT_EQ(split.compute_ns(), 450);
  EXPECT_EQ(split.exposed_ns(), 80);
}

// On an H100, fc1 of gpt3-175b over four ranks: rows and features for the machine's own times.
std::int64_t step_of_fc1_ns(TensorMethod method, std::int64_t tokens) {
  const SlotCase c{.overlap = {.method = method}, .tokens_of_part = tokens / 4, .features = 12288, .others = 49152 / 4};
  const sim::CostModel h100(sim::load_hardware("h100-sxm"));
  const Trace trace = VirtualSlot(c).play(h100);
  return analysis::find_windows(trace).windows.at(0).length_ns();
}

TEST(RingLaws, ARingWinsWhereRowsAreManyAndLosesWhereTheyAreFew) {
  for (const std::int64_t tokens : {2048, 4096, 8192})
    EXPECT_LT(step_of_fc1_ns(TensorMethod::ring_exchange, tokens), step_of_fc1_ns(TensorMethod::waited, tokens));
  for (const std::int64_t tokens : {64, 128, 256, 512})
    EXPECT_GT(step_of_fc1_ns(TensorMethod::ring_exchange, tokens), step_of_fc1_ns(TensorMethod::waited, tokens))
        << "each of the four GEMMs of " << tokens / 4 << " rows reads the weights";
}

}  // namespace
}  // namespace underlap::tp
