// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/compute_change.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "profiler/analysis/exposure.hpp"
#include "tests/profiler/random_trace.hpp"

namespace underlap::analysis {
namespace {

using underlap::testing_support::random_trace;

ComputeTimes times_of(const Trace& trace) { return compute_times(trace, find_windows(trace).windows); }

ComputeChange change_of(const Trace& from, const Trace& to) { return compute_change(times_of(from), times_of(to)); }

// One compute slice of a step that lasts from 0 to 100.
struct Kernel {
  const char* purpose = "fc1_fprop";
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 10;
  std::int32_t bucket = -1;
  std::int32_t rank = 0;
  const char* name = "gemm";
  std::int32_t layer = 0;
  std::int32_t stream = 0;
};

Trace step_of(const std::vector<Kernel>& kernels, std::int32_t num_ranks = 1) {
  Trace trace;
  for (const Kernel& k : kernels)
    trace.add({.track = trace.add_track({k.rank, k.stream, "compute"}),
               .start_ns = k.start_ns,
               .duration_ns = k.duration_ns,
               .name = intern(k.name),
               .tag = {.purpose = intern(k.purpose), .layer = k.layer, .microbatch = 0, .bucket = k.bucket}});
  for (std::int32_t rank = 0; rank < num_ranks; ++rank) {
    trace.marks.push_back({rank, 0, 0, 0});
    trace.marks.push_back({rank, 0, 1, 100});
  }
  return trace;
}

TEST(ComputeTimes, AgreeWithTheSplitOfAnyTrace) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    const Trace trace = random_trace(random, {.num_slices = 80, .longest_ns = 90, .num_steps = 5});
    const std::vector<Window> windows = find_windows(trace).windows;
    std::int64_t busy_ns = 0;
    for (const Split& split : split_windows(trace, windows)) busy_ns += split.compute_ns();
    const ComputeTimes times = times_of(trace);
    EXPECT_EQ(times.busy_ns(), busy_ns) << "seed " << seed;
    EXPECT_EQ(times.windows(), 8);
    std::int64_t kernels_ns = 0;
    for (const auto& [purpose, ns] : times.kernels_ns_by_purpose()) kernels_ns += ns;
    EXPECT_EQ(times.kernels_ns(), kernels_ns) << "seed " << seed;
  }
}

TEST(ComputeTimes, CountAKernelWhereItEnds) {
  Trace trace = step_of({{.start_ns = -10, .duration_ns = 30}, {.start_ns = 95, .duration_ns = 20}});
  const ComputeTimes times = times_of(trace);
  ASSERT_EQ(times.places().size(), 1U);
  EXPECT_EQ(times.places().begin()->second.at({-1, -1}), (ComputeTimes::Kernels{.count = 1, .ns = 25}));
  trace.marks.push_back({0, 0, 2, 200});
  EXPECT_EQ(times_of(trace).places().begin()->second.at({-1, -1}), (ComputeTimes::Kernels{.count = 2, .ns = 40}));
}

// delta compute busy = contention + decomposition - concurrency, whatever the two traces hold.
TEST(ComputeChange, AddsUpExactlyBetweenAnyTwoTraces) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    const ComputeTimes from = times_of(random_trace(random, {.num_slices = 90, .longest_ns = 70, .num_steps = 5}));
    const ComputeTimes to = times_of(random_trace(random, {.num_slices = 60, .longest_ns = 99, .num_steps = 5}));
    const ComputeChange change = compute_change(from, to);
    EXPECT_EQ(change.from.compute_ns(), from.busy_ns()) << "seed " << seed;
    EXPECT_EQ(change.to.compute_ns(), to.busy_ns()) << "seed " << seed;
    EXPECT_EQ(to.busy_ns() - from.busy_ns(),
              change.contention_ns() + change.decomposition_ns() - change.concurrency_change_ns());
    std::int64_t contention_ns = 0, decomposition_ns = 0;
    for (const auto& [purpose, of] : change.purposes) {
      contention_ns += of.contention_ns;
      decomposition_ns += of.decomposition_ns;
    }
    EXPECT_EQ(contention_ns, change.contention_ns()) << "seed " << seed;
    EXPECT_EQ(decomposition_ns, change.decomposition_ns()) << "seed " << seed;
  }
}

TEST(ComputeChange, ATraceAgainstItselfChangesNothing) {
  std::mt19937 random(3);
  const Trace trace = random_trace(random, {.num_slices = 90});
  const ComputeChange change = change_of(trace, trace);
  EXPECT_EQ(change.from, change.to);
  EXPECT_EQ(change.to.other_kernels_ns, 0);
  EXPECT_TRUE(change.purposes.empty());
}

TEST(ComputeChange, TheSameKernelLongerIsContention) {
  const ComputeChange change = change_of(step_of({{.duration_ns = 10}}), step_of({{.duration_ns = 13}}));
  EXPECT_EQ(change.contention_ns(), 3);
  EXPECT_EQ(change.decomposition_ns(), 0);
  EXPECT_EQ(change.purposes.at("fc1_fprop"), (KernelChange{.contention_ns = 3}));
}

TEST(ComputeChange, ChunksInPlaceOfTheWholeAreDecomposition) {
  const Trace whole = step_of({{.duration_ns = 10}});
  const Trace chunks = step_of({{.duration_ns = 6, .bucket = 0}, {.start_ns = 6, .duration_ns = 7, .bucket = 1}});
  EXPECT_EQ(change_of(whole, chunks).contention_ns(), 0);
  EXPECT_EQ(change_of(whole, chunks).purposes.at("fc1_fprop"), (KernelChange{.decomposition_ns = 3}));
  // Pieces that say nothing of their chunk, or of which one bears the number of the whole.
  const Trace pieces = step_of({{.duration_ns = 6}, {.start_ns = 6, .duration_ns = 7}});
  EXPECT_EQ(change_of(whole, pieces).decomposition_ns(), 3);
  EXPECT_EQ(change_of(whole, step_of({{.duration_ns = 4}, {.start_ns = 6, .duration_ns = 7, .bucket = 1}}))
                .decomposition_ns(),
            1);
}

TEST(ComputeChange, AnotherChunkIsAnotherKernel) {
  const ComputeChange change =
      change_of(step_of({{.duration_ns = 4, .bucket = 0}}), step_of({{.duration_ns = 9, .bucket = 1}}));
  EXPECT_EQ(change.contention_ns(), 0);
  EXPECT_EQ(change.decomposition_ns(), 5);
}

TEST(ComputeChange, OtherKernelsAreDecompositionByTheirPurpose) {
  const ComputeChange change =
      change_of(step_of({{.duration_ns = 10}}),
                step_of({{.duration_ns = 10}, {.purpose = "reduce", .start_ns = 20, .duration_ns = 4, .name = "add"}}));
  EXPECT_EQ(change.purposes.size(), 1U);
  EXPECT_EQ(change.purposes.at("reduce"), (KernelChange{.decomposition_ns = 4}));
}

TEST(ComputeChange, KernelsBesideEachOtherAreConcurrency) {
  const ComputeChange change =
      change_of(step_of({{.purpose = "a"}, {.purpose = "b", .start_ns = 10}}),
                step_of({{.purpose = "a", .duration_ns = 12}, {.purpose = "b", .start_ns = 4, .stream = 1}}));
  EXPECT_EQ(change.contention_ns(), 2);
  EXPECT_EQ(change.concurrency_change_ns(), 8);
  EXPECT_EQ(change.to.compute_ns() - change.from.compute_ns(), -6);
}

TEST(ComputeChange, ALayerThatAnotherRankHasIsTheSame) {
  const ComputeChange change = change_of(step_of({{.layer = 1}, {.rank = 1, .layer = 2}}, 2),
                                         step_of({{.layer = 2}, {.duration_ns = 15, .rank = 1, .layer = 1}}, 2));
  EXPECT_EQ(change.contention_ns(), 5);
  EXPECT_EQ(change.decomposition_ns(), 0);
}

TEST(ComputeChange, RefusesOtherNumbersOfWindows) {
  EXPECT_THROW(change_of(step_of({{}}, 1), step_of({{}}, 2)), std::invalid_argument);
}

}  // namespace
}  // namespace underlap::analysis
