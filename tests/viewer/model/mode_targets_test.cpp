// SPDX-License-Identifier: Apache-2.0
#include "viewer/model/mode_targets.hpp"

#include <gmock/gmock.h>

#include "profiler/analysis/matching/communication_matching.hpp"
#include "profiler/attribution/attribution.hpp"
#include "tests/viewer/small_traces.hpp"

namespace underlap::viewer {
namespace {

using namespace testing_support;  // NOLINT
using attribution::ModeMap, attribution::ModeRule;

Trace attributed(const ModeMap& map = {}) {
  Trace trace = foreign_trace();
  attribution::attribute(trace, {.mode_map = map});
  return trace;
}

std::vector<std::string> texts_of(const Trace& trace, std::uint32_t slice) {
  std::vector<std::string> texts;
  for (const ModeTarget& target : mode_targets_of(trace, slice)) texts.push_back(target.text);
  return texts;
}

TEST(ModeTargets, AreKernelStreamAndGroupOfASlice) {
  const Trace trace = attributed();
  EXPECT_THAT(texts_of(trace, 0), testing::ElementsAre("kernel gemm"));
  EXPECT_THAT(texts_of(trace, 1), testing::ElementsAre("kernel ncclDevKernel_AllReduce_Sum_f32_RING_LL", "stream 20",
                                                       "process group blue"));
  EXPECT_THAT(texts_of(trace, 2),
              testing::ElementsAre("kernel ncclDevKernel_AllGather_RING_LL",
                                   "kernel ncclDevKernel_AllGather_RING_LL on stream 7", "process group red"));
  EXPECT_TRUE(takes_modes(trace));
  EXPECT_FALSE(takes_modes(two_ranks(0)));
}

TEST(ModeTargets, AssumedGroupIsNone) {
  Trace trace = attributed();
  trace.groups[trace.communication(1)->group].description = analysis::assumed_group_description();
  EXPECT_THAT(texts_of(trace, 1), testing::Not(testing::Contains(testing::HasSubstr("group"))));
}

TEST(ModeTargets, RuleOfEachTargetAppliesToItsSlice) {
  const Trace before = attributed();
  for (const std::uint32_t slice : {0U, 1U, 2U})
    for (const ModeTarget& target : mode_targets_of(before, slice)) {
      ModeRule rule = target.rule;
      attribution::set_mode(rule, "pp");
      const Trace now = attributed({.rules = {rule}});
      for (std::uint32_t other = 0; other < now.size(); ++other)
        EXPECT_EQ(now.tag(other).mode == Mode::pp, other == slice) << target.text << ", slice " << other;
    }
}

TEST(ModeTargets, AssigningAgainReplacesTheRuleAndGoesFirst) {
  ModeMap map;
  ModeRule group{.group = "blue"}, kernel = kernel_target("void gemm<float>(float*)").rule;
  for (ModeRule* rule : {&group, &kernel}) {
    attribution::set_mode(*rule, "dp");
    assign(map, *rule);
  }
  attribution::set_mode(group, "tp");
  assign(map, group);
  ASSERT_EQ(map.rules.size(), 2U);
  EXPECT_EQ(to_yaml(map.rules[0]), "{group: \"blue\", mode: tp}");
  EXPECT_EQ(to_yaml(map.rules[1]), "{kernel: \"gemm\", mode: dp}");
}

}  // namespace
}  // namespace underlap::viewer
