// SPDX-License-Identifier: Apache-2.0
// What each data-parallel technique must leave exposed, to the nanosecond.
#include <gmock/gmock.h>

#include <set>

#include "impl/plan/config.hpp"
#include "profiler/analysis/exposure.hpp"
#include "tests/impl/dp/virtual_schedule.hpp"

namespace underlap::dp {
namespace {

constexpr std::int64_t kBuckets = 4;

ScheduleCase overlapping(bool grads, bool params) {
  ScheduleCase c{.forward_ns = 100, .backward_ns = 200, .optimizer_ns = 30, .config = {}};
  c.config.ddp.average_in_collective = true;
  c.config.ddp.overlap_grad_reduce = grads;
  c.config.ddp.overlap_param_gather = params;
  return c;
}

analysis::Split split_of(const ScheduleCase& c) {
  const Trace trace = VirtualSchedule(c).play();
  return analysis::split_window(trace, analysis::find_windows(trace).windows.at(0));
}

class GradReduceLaw : public testing::TestWithParam<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(Durations, GradReduceLaw, testing::Values(1, 50, 199, 200, 201, 250, 1000));

TEST_P(GradReduceLaw, ExposesTheLastBucketAndTheExcessOverTheBackwardBesideIt) {
  ScheduleCase c = overlapping(true, false);
  c.reduce_ns = GetParam();
  const std::int64_t excess = std::max<std::int64_t>(0, c.reduce_ns - c.backward_ns);
  EXPECT_EQ(split_of(c).exposed_ns(), c.reduce_ns + (kBuckets - 1) * excess);
}

TEST_P(GradReduceLaw, WithoutOverlapExposesAllOfIt) {
  ScheduleCase c = overlapping(false, false);
  c.reduce_ns = GetParam();
  EXPECT_EQ(split_of(c).exposed_ns(), kBuckets * c.reduce_ns);
}

// What a bucket takes is then both, since they are never under way for two buckets at once.
TEST_P(GradReduceLaw, SeveralInstancesExposeAnAllReduceBehindEachReduceScatter) {
  for (const bool overlaps : {true, false}) {
    ScheduleCase c = overlapping(overlaps, false);
    c.config.ddp.num_distributed_optimizer_instances = 2;
    c.reduce_ns = GetParam();
    c.across_ns = 70;
    const std::int64_t both = c.reduce_ns + c.across_ns;
    const std::int64_t excess = overlaps ? std::max<std::int64_t>(0, both - c.backward_ns) : both;
    EXPECT_EQ(split_of(c).exposed_ns(), both + (kBuckets - 1) * excess);
  }
}

class ParamGatherLaw : public testing::TestWithParam<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(Durations, ParamGatherLaw, testing::Values(1, 50, 99, 100, 101, 130, 1000));

TEST_P(ParamGatherLaw, AtDepthOneExposesTheFirstBucketAndTheExcessOverTheForwardBeforeIt) {
  ScheduleCase c = overlapping(false, true);
  c.gather_ns = GetParam();
  const std::int64_t excess = std::max<std::int64_t>(0, c.gather_ns - c.forward_ns);
  EXPECT_EQ(split_of(c).exposed_ns(), c.gather_ns + (kBuckets - 1) * excess);
}

// At depth d a gather may begin once compute has come to the bucket d before it, and gathers run one after another:
// these two are all that the dependencies force.
std::int64_t forced_exposure(const std::vector<std::int64_t>& gathers, const std::vector<std::int64_t>& forwards,
                             std::size_t depth) {
  std::vector<std::int64_t> touched(gathers.size());
  std::int64_t gathered = 0;
  std::int64_t compute = 0;
  for (std::size_t i = 0; i < gathers.size(); ++i) {
    const std::int64_t sent = i == 0 ? 0 : touched[i > depth ? i - depth : 0];
    gathered = std::max(gathered, sent) + gathers[i];
    touched[i] = std::max(compute, gathered);
    compute = touched[i] + forwards[i];
  }
  std::int64_t sum = 0;
  for (const std::int64_t f : forwards) sum += f;
  return compute - sum;
}

TEST(ParamGatherLaws, AtAnyDepthExposesWhatTheDependenciesForceAndNoMore) {
  for (const std::vector<std::int64_t>& sizes :
       {std::vector<std::int64_t>{1, 1, 1, 1}, {1, 1, 4, 1}, {1, 4, 1, 1}, {2, 1, 1, 6, 1, 3}}) {
    for (const std::int64_t gather_ns : {30, 99, 100, 170}) {
      std::vector<std::int64_t> gathers;
      std::vector<std::int64_t> forwards;
      for (const std::int64_t size : sizes) {
        gathers.push_back(size * gather_ns);
        forwards.push_back(size * 100);
      }
      std::int64_t shallower = -1;
      for (const std::int32_t depth : {1, 2, 3}) {
        ScheduleCase c = overlapping(false, true);
        c.sizes = sizes;
        c.gather_ns = gather_ns;
        c.config.extensions.param_gather_prefetch = depth;
        const std::int64_t exposed = split_of(c).exposed_ns();
        EXPECT_EQ(exposed, forced_exposure(gathers, forwards, static_cast<std::size_t>(depth)));
        if (depth > 1) {
          EXPECT_LE(exposed, shallower) << "looking further ahead never costs";
        }
        shallower = exposed;
      }
    }
  }
}

// An order that results need is proved by the checker; one that throttles must show in time, in one of the cases.
void expect_that_every_pace_shows(const std::vector<ScheduleCase>& cases) {
  std::set<std::size_t> shown;
  std::set<std::size_t> all;
  for (const ScheduleCase& c : cases) {
    const VirtualSchedule schedule(c);
    const std::vector<std::int64_t> as_it_is = schedule.play().start_ns();
    const std::vector<ProgramCommand> commands = schedule.record(0).commands;
    for (std::size_t i = 0; i < commands.size(); ++i) {
      if (commands[i].type != ProgramCommand::Type::throttle) continue;
      all.insert(i);
      const auto let_go = [i](Program& program) { program.commands[i].awaited_position = 0; };
      if (schedule.play(let_go).start_ns() != as_it_is) shown.insert(i);
    }
  }
  EXPECT_EQ(shown, all);
  EXPECT_FALSE(all.empty());
}

TEST(ParamGatherLaws, EveryPaceHoldsSomethingBack) {
  for (const std::int32_t depth : {1, 2}) {
    SCOPED_TRACE(depth);
    std::vector<ScheduleCase> cases;
    for (const std::int64_t gather_ns : {10, 70}) {
      ScheduleCase& c = cases.emplace_back(overlapping(false, true));
      c.sizes = {1, 1, 4, 1, 2};
      c.gather_ns = gather_ns;
      c.zero_ns = 9;
      c.config.extensions.param_gather_prefetch = depth;
    }
    expect_that_every_pace_shows(cases);
  }
}

TEST(GradReduceLaws, EveryPaceBehindAnotherInstanceHoldsSomethingBack) {
  ScheduleCase c = overlapping(true, false);
  c.reduce_ns = 150;
  c.across_ns = 100;
  c.config.ddp.num_distributed_optimizer_instances = 2;
  expect_that_every_pace_shows({c});
}

TEST(GradReduceLaws, OneConnectionHoldsUpTheBackwardPassBehindALongReduceEightDoNot) {
  ScheduleCase c = overlapping(true, false);
  c.reduce_ns = 250;
  c.connections = 8;
  const analysis::Split eight = split_of(c);
  c.connections = 1;
  const analysis::Split one = split_of(c);
  EXPECT_EQ(eight.window_ns, one.window_ns) << "the link was busy all the time already";
  EXPECT_GT(one.window_ns - one.compute_ns(), 0);
  c.reduce_ns = 150;  // shorter than the backward pass beside it: nothing stands behind it
  c.connections = 8;
  const analysis::Split short_eight = split_of(c);
  c.connections = 1;
  EXPECT_EQ(split_of(c), short_eight);
}

}  // namespace
}  // namespace underlap::dp
