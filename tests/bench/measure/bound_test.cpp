// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/bound.hpp"

#include "impl/plan/layout/chunk_buckets.hpp"
#include "tests/impl/step/tensor_overlaps.hpp"

namespace underlap::bench {
namespace {

constexpr std::int32_t kRanksOfAStage = 4;  // or fewer

plan::Config config_with(bool overlap) {
  plan::Config config = testing_support::small_config(2);
  config.ddp.overlap_grad_reduce = config.ddp.overlap_param_gather = overlap;
  config.ddp.bucket_size = 9000;
  return config;
}

// A trace of one step in which each slice of a real one takes `ns` nanoseconds, one after the other.
Trace with_durations(const plan::Config& config, std::int64_t compute_ns, std::int64_t transfer_ns) {
  const Trace real = testing_support::train(config, 2).traces[0];
  Trace trace;
  trace.tracks = real.tracks;
  trace.groups = real.groups;
  std::int64_t now = 0;
  for (std::size_t i = 0; i < real.size(); ++i) {
    Slice slice = real.slice(i);
    slice.start_ns = now;
    const CommunicationRecord* record = real.communication(i);
    slice.duration_ns = record == nullptr ? compute_ns : transfer_ns;
    if (record == nullptr) {
      trace.add(slice);
    } else {
      CommunicationRecord copy = *record;
      copy.last_arrival_ns = now;
      trace.add(slice, copy);
    }
    now += slice.duration_ns;
  }
  trace.marks = {{.rank = 0, .block = 0, .step = 0, .time_ns = 0}, {.rank = 0, .block = 0, .step = 1, .time_ns = now}};
  return trace;
}

ComputeDurations durations_of(const Trace& trace) {
  return ComputeDurations(analysis::place_times(trace, analysis::find_windows(trace).windows, kRanksOfAStage));
}

StepBound bound_of(const plan::Config& config, const Trace& no_comm, const Trace* off) {
  const ComputeDurations compute = durations_of(no_comm);
  const analysis::TransfersAlone alone = off == nullptr ? analysis::TransfersAlone{} : analysis::transfers_alone(*off);
  return step_bound(config, {.no_comm = compute, .off = off == nullptr ? nullptr : &alone});
}

// Of one purpose, or of all.
std::int64_t num_compute_slices_of_a_step(const Trace& trace, std::optional<NameId> purpose = {}) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < trace.size(); ++i)
    count += trace.tag(i).step == 1 && trace.communication(i) == nullptr &&
             trace.tag(i).purpose == purpose.value_or(trace.tag(i).purpose);
  return count;
}

// Bytes are shared out by rates, and times rounded.
void expect_near(std::int64_t ns, std::int64_t expected_ns, std::int64_t within_ns = 50) {
  EXPECT_LE(std::abs(ns - expected_ns), within_ns) << ns << " against " << expected_ns;
}

// A group of two: each transfer sends half of its message, in one step of a ring.
TEST(StepBound, TakesTransfersAtTheRateAndTheLatencyOfAnEmulatedLink) {
  plan::Config config = config_with(false);
  const Trace trace = with_durations(config, 1000, 1);
  const auto bound_ns = [&](double gb_per_s, double latency_us) {
    config.run.emulated_link = plan::EmulatedLink{.gb_per_s = gb_per_s, .latency_us = latency_us};
    const StepBound bound = bound_of(config, trace, nullptr);
    EXPECT_THAT(bound.source, HasSubstr("transfers at the emulated link's"));
    return bound.ns.value().schedule_ns - num_compute_slices_of_a_step(trace) * 1000;
  };
  const std::int64_t at_one = bound_ns(1, 0);
  EXPECT_GT(at_one, 1000);
  expect_near(bound_ns(0.25, 0), 4 * at_one);
  expect_near(bound_ns(1, 7), at_one + 2 * 7000);  // a reduce-scatter and a gather
}

TEST(StepBound, WithoutOverlapIsComputeAndTransfersInTurn) {
  const plan::Config config = config_with(false);
  const Trace trace = with_durations(config, 1000, 50'000);
  const StepBound bound = bound_of(config, trace, &trace);
  ASSERT_TRUE(bound.ns) << bound.source;
  // One reduce-scatter in fp32 and one all-gather in bf16 took 50 us each: bytes are shared out by the mean rate.
  expect_near(bound.ns->schedule_ns, num_compute_slices_of_a_step(trace) * 1000 + 100'000);
}

TEST(StepBound, APacedLinkTakesItsRateAndItsLatency) {
  plan::Config config = config_with(false);
  const Trace trace = with_durations(config, 1000, 1);
  config.run.link_gbps = 8;  // a byte a nanosecond
  config.run.link_latency_us = 5;
  const StepBound bound = bound_of(config, trace, nullptr);
  ASSERT_TRUE(bound.ns) << bound.source;
  const std::int64_t elements = bucket_layout(config).elements;
  const std::int64_t transfers = elements / 2 * 4 + elements / 2 * 2 + 2 * 5000;
  expect_near(bound.ns->schedule_ns, num_compute_slices_of_a_step(trace) * 1000 + transfers);
  EXPECT_THAT(bound.source, HasSubstr("8 Gbit/s"));
}

// Two ranks each: half of the bucket within an instance, and across both halves of the half, there and back.
TEST(StepBound, SeveralInstancesAddAnAllReduceOfTheShard) {
  plan::Config config = config_with(false);
  const Trace trace = with_durations(config, 1000, 1);
  config.parallel.data_parallel_size = 4;
  config.ddp.num_distributed_optimizer_instances = 2;
  config.run.link_gbps = 8;  // a byte a nanosecond
  config.run.link_latency_us = 5;
  const StepBound bound = bound_of(config, trace, nullptr);
  ASSERT_TRUE(bound.ns) << bound.source;
  const std::int64_t shard = bucket_layout(config).elements / 2;
  const std::int64_t transfers = shard * 4 + shard * 4 + shard * 2 + 3 * 5000;
  expect_near(bound.ns->schedule_ns, num_compute_slices_of_a_step(trace) * 1000 + transfers);
}

TEST(StepBound, OfALatencyAloneIsNotAboveWhatTheOffCellTook) {
  plan::Config config = config_with(false);
  const Trace trace = with_durations(config, 1000, 50'000);
  config.run.link_latency_us = 20;
  const StepBound bound = bound_of(config, trace, &trace);
  ASSERT_TRUE(bound.ns) << bound.source;
  EXPECT_LE(bound.ns->schedule_ns, num_compute_slices_of_a_step(trace) * 1000 + 100'000 + 50) << "latency counted once";
}

TEST(StepBound, OverlapHidesTransfersButForTheFirstAndTheLastBucketAndDoesNotMoveTheIdeal) {
  const Trace trace = with_durations(config_with(false), 100'000, 50'000);
  const StepBound off = bound_of(config_with(false), trace, &trace), on = bound_of(config_with(true), trace, &trace);
  ASSERT_TRUE(on.ns && off.ns);
  const std::int64_t compute = num_compute_slices_of_a_step(trace) * 100'000;
  EXPECT_LT(on.ns->schedule_ns, off.ns->schedule_ns);
  EXPECT_GT(on.ns->schedule_ns, compute);
  for (const StepBound& bound : {off, on}) expect_near(bound.ns->ideal_ns, compute);
}

TEST(StepBound, TheIdealOfASlowLinkIsWhatItCarries) {
  plan::Config config = config_with(true);
  const Trace trace = with_durations(config, 1000, 1);
  config.run.link_gbps = 0.001;  // 8 us a byte
  config.run.link_latency_us = 5;
  const StepBound bound = bound_of(config, trace, nullptr);
  ASSERT_TRUE(bound.ns) << bound.source;
  const std::int64_t elements = bucket_layout(config).elements;
  EXPECT_NEAR(static_cast<double>(bound.ns->ideal_ns), static_cast<double>(elements / 2 * 6) * 8000, 50);
  EXPECT_GT(bound.ns->schedule_ns, bound.ns->ideal_ns);
}

// Rings copy and sum; a run without transfers multiplies whole and does neither.
class StepBoundOfATechnique : public testing::Test {
 protected:
  StepBoundOfATechnique() {
    technique_.tensor_overlap = testing_support::tensor_overlap_cases()[4].overlap;
    technique_.run.link_gbps = 1e9;  // transfers take next to nothing
    own_ = with_durations(technique_, 5000, 1);
  }
  StepBound bound(std::function<ComputeDurations()> own) const {
    const ComputeDurations compute = durations_of(no_comm_);
    return step_bound(technique_, {.no_comm = compute, .own = std::move(own), .off = nullptr});
  }
  std::int64_t expected_ideal_ns() const {
    std::int64_t ns = num_compute_slices_of_a_step(no_comm_) * 1000;
    std::set<NameId> added;
    for (std::size_t i = 0; i < own_.size(); ++i)
      if (own_.communication(i) == nullptr && num_compute_slices_of_a_step(no_comm_, own_.tag(i).purpose) == 0)
        added.insert(own_.tag(i).purpose);
    for (const NameId purpose : added) ns += num_compute_slices_of_a_step(own_, purpose) * 5000;
    return ns;
  }

  plan::Config technique_ = testing_support::small_tensor_config(2, 1);
  Trace no_comm_ = with_durations(technique_, 1000, 1);
  Trace own_;
};

TEST_F(StepBoundOfATechnique, TakesWhatItAddsFromItsOwnTraceAndSaysSo) {
  const StepBound bound = this->bound([this] { return durations_of(own_); });
  ASSERT_TRUE(bound.ns) << bound.source;
  expect_near(bound.ns->ideal_ns, expected_ideal_ns(), 200);
  EXPECT_THAT(bound.source, AllOf(HasSubstr("fc2_fprop_ring_sum"), HasSubstr("from this cell's own trace")));
}

TEST_F(StepBoundOfATechnique, HasNoneWithoutItsOwnTrace) {
  EXPECT_THAT(bound({}).source, StartsWith("no duration of "));
  EXPECT_FALSE(bound([] { return durations_of(Trace{}); }).ns);
}

// A purpose that the run without transfers has, but not here, is no technique's: something is wrong with the run.
TEST_F(StepBoundOfATechnique, TakesNothingElseFromItsOwnTrace) {
  technique_.model.num_layers = 3;
  own_ = with_durations(technique_, 5000, 1);
  EXPECT_FALSE(bound([this] { return durations_of(own_); }).ns);
}

TEST(StepBound, DoesNotAskForItsOwnTraceWithoutNeed) {
  plan::Config config = config_with(true);
  const Trace trace = with_durations(config, 1000, 1);
  const ComputeDurations compute = durations_of(trace);
  const auto refuse = []() -> ComputeDurations { throw std::logic_error("asked for"); };
  const analysis::TransfersAlone alone = analysis::transfers_alone(trace);
  const StepBound bound = step_bound(config, {.no_comm = compute, .own = refuse, .off = &alone});
  EXPECT_TRUE(bound.ns);
  EXPECT_THAT(bound.source, Not(HasSubstr("own trace")));
}

TEST(StepBound, SaysWhyThereIsNone) {
  const plan::Config config = config_with(true);
  const Trace trace = with_durations(config, 1000, 1);
  const StepBound no_rate = bound_of(config, trace, nullptr);
  EXPECT_FALSE(no_rate.ns);
  EXPECT_THAT(no_rate.source, HasSubstr("runs transfers without concurrent compute"));
  const StepBound no_compute = bound_of(config, Trace{}, &trace);
  EXPECT_FALSE(no_compute.ns);
}

}  // namespace
}  // namespace underlap::bench
