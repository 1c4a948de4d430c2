// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/where_time_went.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/profiler/report/sample_results.hpp"

namespace underlap::report {
namespace {

class WhereTimeWent : public testing::Test {
 protected:
  CellResult off = steady("off", {}, split_of(600, 0, 400, 0));
  CellResult on = steady("on", {}, split_of(300, 350, 50, 0));
};

TEST_F(WhereTimeWent, PartsSumToTheWindowsDifferenceToTheNanosecond) {
  off = steady("off", {}, split_of(600, 0, 400, 5));
  on = steady("on", {}, split_of(300, 350, 50, 7));
  // Odd figures whose means are no whole nanoseconds.
  on.samples[0].ranks[0].idle_ns += 1;
  on.samples[0].ranks[0].window_ns += 1;
  on.samples[3].ranks[1].compute_only_ns += 7;
  on.samples[3].ranks[1].window_ns += 7;
  const auto change = where_time_went(off, on);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->to.compute_ns - change->from.compute_ns, 50'001);
  EXPECT_EQ(change->to.exposed_ns - change->from.exposed_ns, -350'000);
  EXPECT_EQ(change->to.idle_ns - change->from.idle_ns, 2'000);
  EXPECT_EQ(change->window_delta_ns(), 50'001 - 350'000 + 2'000);
}

TEST_F(WhereTimeWent, ComparesOnlyBlocksThatBothRecorded) {
  for (StepSample& sample : off.samples)
    if (sample.block == 1) sample.ranks = {split_of(1, 0, 0, 0)};
  for (StepSample& sample : on.samples)
    if (sample.block == 1) sample.ranks.clear();
  EXPECT_EQ(where_time_went(off, on)->from.compute_ns, 600'000);
  for (StepSample& sample : on.samples) sample.ranks.clear();
  EXPECT_FALSE(where_time_went(off, on));
}

// Sums over windows of two steady cells: compute 600 -> 650 microseconds in each.
ComputeSinceOff compute_of_windows(std::int64_t n) {
  ComputeSinceOff compute{.off_cell = "off", .windows = n, .change = {}};
  compute.change.from = {.same_kernels_ns = n * 500'000, .other_kernels_ns = n * 100'000, .concurrency_ns = 0};
  compute.change.to = {.same_kernels_ns = n * 520'000, .other_kernels_ns = n * 160'000, .concurrency_ns = n * 30'000};
  return compute;
}

TEST_F(WhereTimeWent, ComputeIsContentionAndDecompositionLessConcurrency) {
  EXPECT_FALSE(where_time_went(off, on)->compute);
  on.compute_since_off = compute_of_windows(12);
  const auto change = where_time_went(off, on);
  ASSERT_TRUE(change->compute);
  EXPECT_EQ(change->compute->contention_ns, 20'000);
  EXPECT_EQ(change->compute->decomposition_ns, 60'000);
  EXPECT_EQ(change->compute->concurrency_ns, 30'000);
  EXPECT_EQ(change->compute_delta_ns(), 50'000);
}

TEST_F(WhereTimeWent, AddsUpWhereMeansAreNoWholeNanoseconds) {
  std::mt19937 random(1);
  for (int i = 0; i < 50; ++i) {
    on.compute_since_off = compute_of_windows(12);
    analysis::ComputeParts& to = on.compute_since_off->change.to;
    for (std::int64_t* part : {&to.same_kernels_ns, &to.other_kernels_ns, &to.concurrency_ns})
      *part += static_cast<std::int64_t>(random() % 100);
    const auto change = where_time_went(off, on);
    EXPECT_EQ(change->compute_delta_ns(),
              change->compute->contention_ns + change->compute->decomposition_ns - change->compute->concurrency_ns);
  }
}

TEST_F(WhereTimeWent, DoesNotExplainOtherWindowsThanThoseOfTheCells) {
  on.compute_since_off = compute_of_windows(12);
  on.compute_since_off->off_cell = "another";
  EXPECT_FALSE(where_time_went(off, on)->compute);
  on.compute_since_off->off_cell = "off";
  on.compute_since_off->windows = 10;
  EXPECT_FALSE(where_time_went(off, on)->compute);
}

TEST_F(WhereTimeWent, LeavesAStepThatStoodStillOutOfBothCells) {
  // In the same step the other cell is in no hurry either: to pair steps, both leave it out.
  on.samples[3] =
      step_of(on.samples[3].block, on.samples[3].step, {split_of(9000, 350, 50, 0), split_of(300, 350, 8750, 0)});
  off.samples[3].ranks[0] = split_of(900, 0, 400, 0);
  on.compute_since_off = compute_of_windows(10);
  const auto change = where_time_went(off, on);
  EXPECT_EQ(change->from.exposed_ns, 400'000);
  EXPECT_EQ(change->to.exposed_ns, 50'000);
  EXPECT_EQ(change->compute_delta_ns(), 50'000);
  ASSERT_TRUE(change->compute) << "its sums are of the ten windows that are left";
  EXPECT_EQ(change->window_delta_ns(), 50'000 - 350'000);
  on.compute_since_off = compute_of_windows(12);
  EXPECT_FALSE(where_time_went(off, on)->compute) << "its sums hold what stood still";
}

// A window of 700 us, 650 of them compute; its kernels take 660, alone they would take 640; the bound is 655.
CellResult bounded() {
  CellResult cell = steady("on", {}, split_of(300, 350, 45, 5));
  cell.bound_ns = 655'000;
  cell.bound_kernel_ns = {{"fc1", 400'000}, {"fc2", 240'000}};
  cell.kernel_ns = {{"fc1", 12 * 430'000}, {"fc2", 12 * 225'000}, {"sum", 12 * 5'000}};
  return cell;
}

TEST(ExcessOverBound, IsTheSumOfItsParts) {
  const auto excess = excess_over_bound(bounded());
  ASSERT_TRUE(excess);
  EXPECT_EQ(excess->excess_ns(), 45'000);
  EXPECT_EQ(excess->longer_ns(), 20'000);
  EXPECT_EQ(excess->concurrency_ns(), 10'000);
  EXPECT_EQ(excess->forced_ns(), 15'000);
  EXPECT_EQ(excess->parts.exposed_ns, 45'000);
  EXPECT_EQ(excess->excess_ns(), excess->longer_ns() - excess->concurrency_ns() + excess->parts.exposed_ns +
                                     excess->parts.copy_only_ns + excess->parts.idle_ns - excess->forced_ns());
}

TEST(ExcessOverBound, LeavesAStepThatStoodStillOut) {
  CellResult cell = bounded();
  cell.samples[2] = step_of(1, cell.samples[2].step, {split_of(9000, 350, 45, 5), split_of(300, 350, 8745, 5)});
  for (auto& [purpose, ns] : cell.kernel_ns) ns = ns / 12 * 10;
  cell.kernel_windows = 10;
  EXPECT_EQ(excess_over_bound(cell)->excess_ns(), 45'000);
  EXPECT_EQ(excess_over_bound(cell)->longer_ns(), 20'000);
}

TEST(ExcessOverBound, OfResultsOfBeforeHasAllWindowsThatItsKernelsHave) {
  CellResult cell = bounded();
  cell.samples[2] = step_of(1, cell.samples[2].step, {split_of(1500, 350, 45, 5), split_of(300, 350, 1245, 5)});
  EXPECT_EQ(excess_over_bound(cell)->longer_ns(), 20'000);
  EXPECT_EQ(excess_over_bound(cell)->excess_ns(), 45'000 + 2 * 1'200'000 / 12);
}

TEST(ExcessOverBound, NamesTheLargestPartsFirst) {
  std::vector<std::string> names;
  const auto excess = excess_over_bound(bounded());
  for (const NamedTime& name : excess->names) names.push_back(name.name + " " + std::to_string(name.ns));
  EXPECT_EQ(names, (std::vector<std::string>{"exposed grad_reduce_scatter 45000", "longer fc1 30000", "idle 5000",
                                             "longer sum 5000"}));
}

TEST(ExcessOverBound, IsAbsentWithoutBoundKernelsOrRecorder) {
  for (int missing = 0; missing < 4; ++missing) {
    CellResult cell = bounded();
    if (missing == 0) cell.bound_ns.reset();
    if (missing == 1) cell.bound_kernel_ns.clear();
    if (missing == 2) cell.kernel_ns.clear();
    for (StepSample& sample : cell.samples)
      if (missing == 3) sample.ranks.clear();
    EXPECT_FALSE(excess_over_bound(cell)) << missing;
  }
}

}  // namespace
}  // namespace underlap::report
