// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/steps.hpp"

#include <gmock/gmock.h>

#include <bitset>
#include <random>

#include "profiler/analysis/intervals.hpp"
#include "profiler/analysis/steps/step_ranges.hpp"
#include "profiler/analysis/trace_summary.hpp"
#include "tests/profiler/analysis/foreign_trace.hpp"
#include "tests/profiler/slices.hpp"

namespace underlap::analysis {
namespace {

using namespace ::testing;  // NOLINT
using testing_support::ForeignTrace, testing_support::in_us;

// The device runs 30 us behind the host.
ForeignTrace profiled() {
  ForeignTrace made;
  made.kernel("before", 5, 10, 12);
  for (std::int32_t step = 0; step < 4; ++step) {
    const std::int64_t begin = 20 + step * 100;
    made.range("ProfilerStep#" + std::to_string(step + 7), begin, begin + 100);
    for (std::int64_t i = 0; i < 5; ++i) made.kernel("gemm", begin + i * 10, begin + 30 + i * 20, begin + 45 + i * 20);
  }
  return made;
}

TEST(Steps, OfTheProfilerAreWhatWasLaunchedInThem) {
  const StepList list = find_steps(profiled().trace);
  ASSERT_EQ(list.ranks.size(), 1U);
  EXPECT_EQ(list.ranks[0].source, StepSource::profiler_step);
  EXPECT_THAT(in_us(list.ranks[0].windows), ElementsAre(Window{0, 0, 7, 20, 145}, Window{0, 0, 8, 145, 245},
                                                        Window{0, 0, 9, 245, 345}, Window{0, 0, 10, 345, 445}));
  EXPECT_EQ(steps_text(list), "ProfilerStep (4)");
}

TEST(Steps, ThatAreCutOrWithoutWorkAreLeftOut) {
  ForeignTrace made = profiled();
  made.range("ProfilerStep#11", 420, 450);
  made.kernel("gemm", 421, 450, 460);
  const StepList list = find_steps(made.trace);
  EXPECT_EQ(list.ranks[0].windows.size(), 4U);
  EXPECT_EQ(steps_text(list), "ProfilerStep (4), the last one cut off and excluded");
  ForeignTrace idle = profiled();
  idle.range("ProfilerStep#11", 420, 450);
  EXPECT_EQ(steps_text(find_steps(idle.trace)), "ProfilerStep (4), 1 without work excluded");
}

TEST(Steps, OfOtherRangesAreTheOutermostThatSaySo) {
  ForeignTrace made;
  for (std::int32_t step = 0; step < 3; ++step) {
    const std::int64_t begin = step * 100;
    made.range("Iteration " + std::to_string(step), begin, begin + 100);
    made.range("Optimizer.step#Adam.step", begin + 50, begin + 60);
    made.range("step 0", begin + 10, begin + 20);
    made.kernel("gemm", begin + 1, begin + 2, begin + 90);
  }
  const StepList list = find_steps(made.trace);
  EXPECT_EQ(steps_text(list), "ranges named \"Iteration\" (2), the first one cut off and excluded");
  EXPECT_EQ(list.ranks[0].windows[1], (Window{0, 0, 2, 190'000, 290'000}));
}

TEST(Steps, WorkWithoutLaunchGoesWithTheWorkBeforeIt) {
  ForeignTrace made = profiled();
  made.kernel("child", 446, 470);
  EXPECT_EQ(find_steps(made.trace).ranks[0].windows.back().end_ns, 470'000);
}

TEST(Steps, WhereNoLaunchIsKnownStartsDecide) {
  ForeignTrace made;
  for (std::int32_t step = 0; step < 3; ++step) {
    made.range("step_" + std::to_string(step), step * 100, step * 100 + 100);
    made.kernel("gemm", step * 100 + 10, step * 100 + 80);
  }
  EXPECT_THAT(in_us(find_steps(made.trace).ranks[0].windows),
              ElementsAre(Window{0, 0, 1, 80, 180}, Window{0, 0, 2, 180, 280}));
}

// The pause before its work belongs to a step, and the first one's was not recorded.
TEST(Steps, FirstOfRangesCountsWhereWorkBeforeItWasRecordedOrThereIsNoOther) {
  ForeignTrace one;
  one.range("step_0", 0, 100);
  one.kernel("gemm", 10, 80);
  EXPECT_THAT(in_us(find_steps(one.trace).ranks[0].windows), ElementsAre(Window{0, 0, 0, 0, 80}));
  ForeignTrace made;
  made.kernel("gemm", -90, -20);
  for (std::int32_t step = 0; step < 2; ++step) {
    made.range("step_" + std::to_string(step), step * 100, step * 100 + 100);
    made.kernel("gemm", step * 100 + 10, step * 100 + 80);
  }
  EXPECT_THAT(in_us(find_steps(made.trace).ranks[0].windows),
              ElementsAre(Window{0, 0, 0, 0, 80}, Window{0, 0, 1, 80, 180}));
}

// Layers repeat within a step, so the shortest piece that repeats is not the answer to take.
std::vector<std::string> step_of_layers() {
  std::vector<std::string> names{"embed"};
  for (int layer = 0; layer < 4; ++layer) names.insert(names.end(), {"norm", "gemm", "attention", "gemm"});
  names.emplace_back("loss");
  for (int layer = 0; layer < 4; ++layer) names.insert(names.end(), {"gemm_bwd", "attention_bwd", "norm_bwd"});
  names.emplace_back("adam");
  return names;
}

ForeignTrace repeating(int repeats, std::size_t cut_first, std::size_t cut_last) {
  std::vector<std::string> all;
  for (int i = 0; i < repeats; ++i)
    for (const std::string& name : step_of_layers()) all.push_back(name);
  ForeignTrace made;
  for (std::size_t i = cut_first; i + cut_last < all.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i * 10 + i / step_of_layers().size() * 50);
    made.kernel(all[i], at, at + 8);
  }
  return made;
}

TEST(Steps, OfRepeatedKernelsAreWholeSteps) {
  const StepList list = find_steps(repeating(4, 0, 0).trace);
  EXPECT_EQ(list.ranks[0].source, StepSource::repetition);
  EXPECT_EQ(steps_text(list), "repeating kernels on the busiest stream (4)");
  const auto length = static_cast<std::int64_t>(step_of_layers().size()) * 10 + 50;
  EXPECT_EQ(in_us(list.ranks[0].windows)[2].length_ns(), length);
}

TEST(Steps, OfRepeatedKernelsLeaveOutWhatIsCutAtBothEnds) {
  const StepList list = find_steps(repeating(5, 9, 7).trace);
  EXPECT_EQ(steps_text(list), "repeating kernels on the busiest stream (3), work before and after them excluded");
}

TEST(Steps, OfRepeatedKernelsMayDifferInAFewNames) {
  ForeignTrace made;
  std::int64_t at = 0;
  for (int step = 0; step < 4; ++step, at += 50)
    for (const std::string& name : step_of_layers()) {
      made.kernel(name, at, at + 8);
      at += 10;
      if (name == "loss" && step == 2) made.kernel("extra", at, at + 1);
    }
  EXPECT_EQ(find_steps(made.trace).ranks[0].windows.size(), 4U);
}

TEST(Steps, OfOneKernelOnEachStreamAreItsRepeats) {
  ForeignTrace two, three;
  for (ForeignTrace* made : {&two, &three})
    for (std::int64_t i = 0; i < (made == &two ? 2 : 3); ++i) {
      made->kernel("gemm", i * 100, i * 100 + 60);
      made->communication("all_reduce", i * 100 + 40, i * 100 + 80);
    }
  EXPECT_FALSE(find_steps(two.trace).has_any());
  EXPECT_THAT(in_us(find_steps(three.trace).ranks[0].windows),
              ElementsAre(Window{0, 0, 0, 0, 60}, Window{0, 0, 1, 60, 160}, Window{0, 0, 2, 160, 260}));
}

TEST(Steps, ThatNothingTellsAreNotMadeUp) {
  ForeignTrace made;
  std::uint32_t random = 1;
  for (std::int64_t i = 0; i < 60; ++i) {
    random = random * 1664525 + 1013904223;
    made.kernel("kernel " + std::to_string(random >> 28), i * 10, i * 10 + 5);
  }
  const StepList list = find_steps(made.trace);
  EXPECT_FALSE(list.has_any());
  EXPECT_EQ(steps_text(list), "none found: no range marks a step, and kernels do not repeat");
  EXPECT_FALSE(find_steps(Trace{}).has_any());
}

TEST(Steps, AreSaidForEachKindOfRank) {
  ForeignTrace made = profiled();
  made.set_rank(1);
  made.kernel("gemm", 0, 10);
  EXPECT_EQ(steps_text(find_steps(made.trace)),
            "1 rank: ProfilerStep (4); 1 rank: none found: no range marks a step, and kernels do not repeat");
}

TEST(StepName, IsThatOfAWholeStep) {
  for (const char* name : {"ProfilerStep#12", "step_12", "Step 12", "iteration12", "Iteration_12", "iteration-12",
                           "train_step 12", "iter 12/100", "iteration[12,16)", "Iteration 12 - overlap", "steps12"})
    EXPECT_EQ(step_name(name).value_or(NumberedName{}).number, 12) << name;
  for (const char* name : {"step", "training_step", "TRAIN STEP"}) EXPECT_TRUE(step_name(name)) << name;
  for (const char* name : {"", "Optimizer.step#Adam.step", "stepper", "iteration_1_ga_step_2", "step12.forward",
                           "step 99999999999", "microstep 1", "ProfilerStepX", "gemm"})
    EXPECT_FALSE(step_name(name)) << name;
}

WindowList windows_of(std::vector<Mark> marks) {
  Trace trace;
  trace.marks = std::move(marks);
  return find_windows(trace);
}

TEST(Windows, LieBetweenSuccessiveMarksOfOneRankAndBlock) {
  const WindowList list = windows_of({{0, 0, 4, 10}, {1, 0, 4, 11}, {0, 0, 5, 30}, {1, 0, 5, 33}, {0, 0, 6, 50}});
  EXPECT_THAT(list.windows, ElementsAre(Window{0, 0, 5, 10, 30}, Window{0, 0, 6, 30, 50}, Window{1, 0, 5, 11, 33}));
  EXPECT_THAT(list.errors, IsEmpty());
  EXPECT_THAT(windows_of({{0, 0, 0, 10}, {0, 0, 1, 20}, {0, 1, 2, 90}, {0, 1, 3, 95}}).windows,
              ElementsAre(Window{0, 0, 1, 10, 20}, Window{0, 1, 3, 90, 95}));
}

TEST(Windows, OneMarkBoundsNone) { EXPECT_THAT(windows_of({{0, 0, 0, 10}}).windows, IsEmpty()); }

TEST(Windows, BadMarksAreReportedAndBoundNone) {
  const std::map<std::string, std::vector<Mark>> cases{
      {"repeats step 1", {{0, 0, 1, 10}, {0, 0, 1, 20}}},
      {"is out of order: it follows that of step 2", {{0, 0, 2, 10}, {0, 0, 1, 20}}},
      {"is earlier than that of step 1", {{0, 0, 1, 10}, {0, 0, 2, 9}}},
      {"a mark is missing", {{0, 0, 1, 10}, {0, 0, 3, 20}}},
  };
  for (auto [message, marks] : cases) {
    marks.insert(marks.end(), {{0, 1, 7, 100}, {0, 1, 8, 200}});
    const WindowList list = windows_of(marks);
    EXPECT_THAT(list.windows, ElementsAre(Window{0, 1, 8, 100, 200})) << message;
    EXPECT_THAT(list.errors, ElementsAre(AllOf(HasSubstr(message), HasSubstr("rank 0 block 0"))));
  }
}

TEST(Windows, SpanOfARankCoversItsSlicesAlone) {
  Trace trace;
  trace.add_track({0, 0, "a"});
  trace.add_track({1, 0, "a"});
  trace.add(testing_support::slice_of(0, -5, 10));
  trace.add(testing_support::slice_of(0, 7, 1));
  trace.add(testing_support::slice_of(1, 50, 1));
  trace.add_track({2, 0, "a"});
  const Summary summary = summarize(trace);
  EXPECT_THAT(summary.ranks[0].windows, ElementsAre(Window{0, -1, -1, -5, 8}));
  EXPECT_THAT(summary.ranks[2].windows, IsEmpty());
}

constexpr std::int64_t kMoments = 64;
using Moments = std::bitset<kMoments>;

std::vector<Interval> random_intervals(std::mt19937& random) {
  std::uniform_int_distribution<std::int64_t> moment(0, kMoments);
  std::vector<Interval> intervals(std::uniform_int_distribution<std::size_t>(0, 9)(random));
  for (Interval& i : intervals) i = {moment(random), moment(random)};  // some end before they begin
  return intervals;
}

Moments moments_of(std::span<const Interval> intervals) {
  Moments moments;
  for (const Interval& i : intervals)
    for (std::int64_t t = i.begin; t < i.end; ++t) moments.set(static_cast<std::size_t>(t));
  return moments;
}

void expect_is(const IntervalSet& set, const Moments& moments) {
  ASSERT_EQ(moments_of(set.intervals()), moments);
  ASSERT_EQ(set.length(), static_cast<std::int64_t>(moments.count()));
  for (std::size_t i = 0; i < set.intervals().size(); ++i) {
    ASSERT_LT(set.intervals()[i].begin, set.intervals()[i].end);
    if (i == 0) continue;
    ASSERT_LT(set.intervals()[i - 1].end, set.intervals()[i].begin);
  }
}

TEST(IntervalSet, AgreesWithSetsOfMoments) {
  std::mt19937 random(1);
  for (int round = 0; round < 5000; ++round) {
    const auto first = random_intervals(random);
    const auto second = random_intervals(random);
    const IntervalSet a(first);
    const IntervalSet b(second);
    const Moments x = moments_of(first);
    const Moments y = moments_of(second);
    expect_is(a, x);
    expect_is(unite(a, b), x | y);
    expect_is(intersect(a, b), x & y);
    expect_is(subtract(a, b), x & ~y);
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
}

}  // namespace

}  // namespace underlap::analysis
