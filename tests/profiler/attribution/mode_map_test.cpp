// SPDX-License-Identifier: Apache-2.0
#include "profiler/attribution/mode_map.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "profiler/attribution/attribution.hpp"

namespace underlap::attribution {
namespace {

Slice kernel_on(std::uint32_t track, std::string_view name) {
  Slice slice{.track = track, .start_ns = 0, .duration_ns = 10, .name = intern(name), .tag = {}};
  slice.attribution = {AttributionSource::none, 0, kNoName};
  return slice;
}

TEST(ModeMap, GoesBeforeWhatTheGroupIsCalled) {
  Trace trace;
  trace.add_track({0, 7, "stream 7"});
  trace.add_group({.ranks = {}, .name = intern("5"), .description = intern("DATA_PARALLEL_GROUP")});
  trace.add(kernel_on(0, "ncclDevKernel_AllGather_RING_LL(int)"), {.group = 0, .transfers = {}});
  attribute(trace,
            {.mode_map = parse_mode_map("rules: [{group: 'DATA_*', mode: fsdp, purpose: param_all_gather}]", "m")});
  EXPECT_EQ(trace.tag(0).mode, Mode::fsdp);
  EXPECT_EQ(name_of(trace.tag(0).purpose), "param_all_gather");
  EXPECT_EQ(trace.attribution(0).source, AttributionSource::mode_map);
  EXPECT_EQ(trace.attribution(0).confidence_pct, 100);
  EXPECT_EQ(name_of(trace.attribution(0).reason), "m:1:9 says so");
}

TEST(ModeMap, TakesAndSettlesKernelsByNameStreamAndRank) {
  Trace trace;
  trace.add_track({0, 7, "stream 7"});
  trace.add_track({1, 8, "stream 8"});
  trace.add(kernel_on(0, "void my::expert_dispatch<int>(int)"));
  trace.add(kernel_on(1, "void my::expert_dispatch<int>(int)"));
  trace.add(kernel_on(1, "ncclDevKernel_Generic(int)"));
  trace.add(kernel_on(0, "ncclDevKernel_Generic(int)"));
  const AttributionReport report = attribute(trace, {.mode_map = parse_mode_map(R"(
rules:
  - {kernel: "my::expert_*", ranks: [0], mode: ep}
  - {kernel: "my::expert_*", mode: compute}
  - {stream: 8, mode: pp}
)",
                                                                                "m")});
  EXPECT_EQ(trace.tag(0).kind, Kind::communication);
  EXPECT_EQ(trace.tag(0).mode, Mode::ep);
  EXPECT_EQ(trace.tag(1).kind, Kind::compute);
  EXPECT_EQ(trace.tag(2).mode, Mode::pp);
  EXPECT_EQ(trace.tag(3).mode, Mode::none);
  EXPECT_THAT(report.not_taken, testing::IsEmpty());
}

TEST(ModeMap, SaysWhereItIsWrongAndHowToMendIt) {
  struct Case {
    std::string yaml;
    std::string message;
  };
  const Case cases[] = {
      {"", "map.yaml:1:1: holds no rules; write one"},
      {"rule: []", "map.yaml:1:1: a mode map has no rules; write"},
      {"rules: 3", "rules is \"3\", must be a list; write one"},
      {"rules:\n- {group: a, mode: ddp}", "map.yaml:2:20: mode is \"ddp\"; it takes one of: dp, tp"},
      {"rules:\n- {group: a}", "map.yaml:2:3: a rule has no mode; give it one of"},
      {"rules:\n- {mode: dp}", "a rule fits everything; give it a group"},
      {"rules:\n- {kernels: a, mode: dp}", "unknown key \"kernels\" in a rule; did you mean kernel?"},
      {"rules:\n- {stream: -1, mode: dp}", "must be a whole number of 0 or more"},
      {"rules:\n- {stream: [1, x], mode: dp}", "must be a whole number of 0 or more"},
      {"rules:\n- dp", "a rule is \"dp\"; write a mapping"},
      {"rules: [{group: a, mode: dp}]\nmore: 1", "unknown key \"more\"; a mode map has rules alone"},
  };
  for (const Case& c : cases) {
    try {
      parse_mode_map(c.yaml, "map.yaml");
      ADD_FAILURE() << c.yaml;
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(c.message)) << c.yaml;
    }
  }
}

}  // namespace
}  // namespace underlap::attribution
