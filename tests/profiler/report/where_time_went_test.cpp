// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/where_time_went.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <random>

#include "platform/json.hpp"
#include "platform/table.hpp"
#include "profiler/report/observed.hpp"
#include "tests/profiler/report/sample_results.hpp"
#include "tests/profiler/report/step_of_a_rank.hpp"

namespace underlap::report {
namespace {

using namespace ::testing;  // NOLINT

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

// Knobs that nobody planned, held against synthetic traces.
std::vector<OverlapKnob> two_knobs() {
  const auto knob = [](const char* name, const char* purpose) {
    return OverlapKnob{.name = name,
                       .requested = "null",
                       .effective = "true",
                       .is_asked_for = true,
                       .is_on = true,
                       .gate = {},
                       .group_size = 2,
                       .is_its_own = [id = intern(purpose)](const Tag& tag) { return tag.purpose == id; }};
  };
  return {knob("comm_overlap.overlap_grad_reduce", "grad_reduce_scatter"),
          knob("comm_overlap.overlap_param_gather", "param_all_gather")};
}

std::vector<ObservedKnob> observed(StepOfARank& step, const TracedRun& run = {}) {
  return observe(two_knobs(), run, step.trace(), analysis::summarize(step.trace()));
}

TEST(ObservedKnobs, AreJudgedByTheOperationsThatTheySayAreTheirs) {
  StepOfARank step;
  step.comm(0, 100, "grad_reduce_scatter").compute(0, 100).comm(100, 200, "param_all_gather").compute(200, 300);
  const std::vector<ObservedKnob> knobs = observed(step);
  ASSERT_EQ(knobs.size(), 2U);
  EXPECT_EQ(knobs[0].status, ObservedStatus::observed);
  EXPECT_EQ(knobs[1].status, ObservedStatus::not_observed);
}

TEST(ObservedKnobs, OfARunWithoutTransfersSaySo) {
  StepOfARank step;
  step.compute(0, 100);
  EXPECT_EQ(observed(step, {.has_transfers = false})[0].reason, "run.no_comm removed its transfers");
}

TEST(ObservedKnobs, JsonAddsTheKnobsToTheAnalysis) {
  StepOfARank step;
  step.comm(0, 100, "grad_reduce_scatter").compute(0, 90).compute(100, 200);
  const std::string analysis = analysis::analysis_json(step.trace(), analysis::summarize(step.trace()));
  const auto json = parse_json(with_observed(analysis, "off", observed(step)));
  EXPECT_EQ(json["schema"], "underlap.analysis/1");
  EXPECT_EQ(json["cell"], "off");
  ASSERT_EQ(json["observed"].size(), 2U);
  const nlohmann::ordered_json& grads = json["observed"][0];
  EXPECT_EQ(grads["knob"], "comm_overlap.overlap_grad_reduce");
  EXPECT_EQ(grads["requested"], nullptr);
  EXPECT_EQ(grads["effective"], true);
  EXPECT_EQ(grads["observed_pct"], 90);
  EXPECT_EQ(grads["comm_us"], 100);
  EXPECT_EQ(grads["hidden_us"], 90);
  EXPECT_EQ(grads["hidden_transfer_us"], nullptr);
  EXPECT_EQ(grads["status"], "observed");
  EXPECT_EQ(grads["cause"], "outlasted_compute");
  EXPECT_EQ(json["observed"][1]["cause"], nullptr);
}

TEST(ObservedKnobs, TheTableHasAColumnForEachStation) {
  StepOfARank step;
  step.comm(0, 100, "grad_reduce_scatter").compute(100, 200);
  const std::string table = render(observed_table(observed(step)), {.width = 200});
  EXPECT_THAT(table, AllOf(HasSubstr("requested"), HasSubstr("effective"), HasSubstr("not observed, 0.0 %")));
}

TEST(ObservedKnobs, TheTableIsAsWideAsItMustBeWhereNothingLimitsIt) {
  StepOfARank step;
  step.comm(0, 100, "grad_reduce_scatter").compute(100, 200);
  const std::vector<ObservedKnob> knobs = observed(step);
  EXPECT_THAT(render(observed_table(knobs), {.width = std::numeric_limits<int>::max()}), HasSubstr(knobs[0].reason));
}

}  // namespace

}  // namespace underlap::report
