// SPDX-License-Identifier: Apache-2.0
#include "profiler/attribution/attribution.hpp"

#include <gmock/gmock.h>

#include <tuple>
#include <utility>

#include "tests/profiler/error_of.hpp"
#include "tests/profiler/slices.hpp"

namespace underlap::attribution {
namespace {

// A trace as a reader of a foreign format leaves it: one stream of one rank.
struct ForeignTrace {
  Trace trace;

  ForeignTrace() {
    trace.metadata["format"] = "kineto";
    trace.add_track({0, 7, "stream 7", TrackKind::stream, 0});
  }

  Slice slice(std::string_view name, std::int64_t duration_ns, Kind kind = Kind::compute) const {
    const std::int64_t start = trace.size() == 0 ? 0 : trace.end_ns(trace.size() - 1);
    return testing_support::foreign_slice(0, start, start + duration_ns, name, kind);
  }
  void kernel(std::string_view name, std::int64_t duration_ns, Kind kind = Kind::compute) {
    trace.add(slice(name, duration_ns, kind));
  }
  void collective(std::string_view name, std::int64_t duration_ns, std::uint32_t group) {
    trace.add(slice(name, duration_ns), {.group = group, .transfers = {}});
  }
};

TEST(Attribution, TakesKernelsOfLibrariesAndPeerCopiesForCommunication) {
  ForeignTrace f;
  f.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 10);
  f.kernel("void gemm<int>(int)", 20);
  f.kernel("Memcpy PtoP (Device -> Device)", 3, Kind::copy);
  f.kernel("Memcpy DtoD (Device -> Device)", 4, Kind::copy);
  const AttributionReport report = attribute(f.trace);
  EXPECT_EQ(f.trace.tag(0).kind, Kind::communication);
  EXPECT_EQ(name_of(f.trace.tag(0).purpose), "all_reduce");
  EXPECT_EQ(f.trace.tag(1).kind, Kind::compute);
  EXPECT_EQ(f.trace.tag(2).kind, Kind::communication);
  EXPECT_EQ(f.trace.tag(3).kind, Kind::copy);
  EXPECT_EQ(report.communications(), 2);
  EXPECT_EQ(report.communication_ns(), 13);
}

TEST(Attribution, TakesTheModeFromTheNameOfTheGroup) {
  ForeignTrace f;
  const auto tp = f.trace.add_group(
      {.ranks = {0, 1}, .name = intern("3"), .description = intern("TENSOR_MODEL_PARALLEL_GROUP"), .num_ranks = 2});
  f.collective("ncclDevKernel_AllGather_RING_LL(int)", 10, tp);
  const AttributionReport report = attribute(f.trace);
  EXPECT_EQ(f.trace.tag(0).mode, Mode::tp);
  EXPECT_EQ(f.trace.attribution(0).source, AttributionSource::group_name);
  EXPECT_GT(f.trace.attribution(0).confidence_pct, 90);
  EXPECT_NE(name_of(f.trace.attribution(0).reason).find("TENSOR_MODEL_PARALLEL_GROUP"), std::string_view::npos);
  EXPECT_EQ(report.unattributed(), 0);
}

TEST(Attribution, GivesKernelsWithoutARecordTheOnlyGroupOfTheirStream) {
  ForeignTrace f;
  const auto tp = f.trace.add_group({.ranks = {}, .name = intern("3"), .description = intern("mesh_tp")});
  const auto dp = f.trace.add_group({.ranks = {}, .name = intern("4"), .description = intern("mesh_dp")});
  f.kernel("ncclDevKernel_AllGather_RING_LL(int)", 10);
  f.collective("ncclDevKernel_AllGather_RING_LL(int)", 10, tp);
  f.kernel("Memcpy PtoP (Device -> Device)", 10, Kind::copy);
  f.trace.add_track({0, 8, "stream 8", TrackKind::stream, 0});
  for (const auto group : {tp, dp}) {
    Slice shared = f.slice("ncclDevKernel_AllGather_RING_LL(int)", 10);
    shared.track = 1;
    f.trace.add(shared, {.group = group, .transfers = {}});
  }
  Slice open = f.slice("ncclDevKernel_AllGather_RING_LL(int)", 10);
  open.track = 1;
  f.trace.add(open);
  attribute(f.trace);
  EXPECT_EQ(f.trace.tag(0).mode, Mode::none);
  EXPECT_THAT(name_of(f.trace.attribution(0).reason), ::testing::StartsWith("probably tp: "));
  EXPECT_LT(f.trace.attribution(0).confidence_pct, f.trace.attribution(1).confidence_pct);
  EXPECT_NE(f.trace.attribution(2).source, AttributionSource::group_name);
  EXPECT_NE(f.trace.attribution(5).source, AttributionSource::group_name);
}

TEST(Attribution, LeavesWithoutModeWhatNothingExplainsInARowOfItsOwn) {
  ForeignTrace f;
  const auto group = f.trace.add_group({.ranks = {}, .name = intern("12"), .description = intern("undefined")});
  f.collective("ncclDevKernel_SendRecv(int)", 10, group);
  const AttributionReport report = attribute(f.trace);
  EXPECT_EQ(f.trace.tag(0).kind, Kind::communication);
  EXPECT_EQ(f.trace.tag(0).mode, Mode::none);
  EXPECT_EQ(f.trace.attribution(0).source, AttributionSource::none);
  ASSERT_EQ(report.attributed.size(), 1U);
  EXPECT_EQ(report.unattributed(), 1);
  EXPECT_EQ(report.unattributed_ns(), 10);
}

TEST(Attribution, TakesTheModeFromALibraryThatServesOne) {
  ForeignTrace f;
  f.kernel("void deep_ep::intranode::dispatch<8, 768, 8192>(int4*)", 10);
  attribute(f.trace);
  EXPECT_EQ(f.trace.tag(0).mode, Mode::ep);
  EXPECT_EQ(f.trace.attribution(0).source, AttributionSource::kernel_name);
}

TEST(Attribution, ListsWhatLooksLikeCommunicationAndWasNotTaken) {
  ForeignTrace f;
  f.kernel("void moe::expert_dispatch<8>(int)", 10);
  f.kernel("void moe::expert_dispatch<8>(int)", 20);
  f.kernel("void dpsk::ep::cuda::get_dispatch_layout<256>(long const*)", 5);
  const AttributionReport report = attribute(f.trace);
  EXPECT_EQ(report.communications(), 0);
  ASSERT_EQ(report.not_taken.size(), 2U);
  EXPECT_EQ(report.not_taken[0].count, 2);
  EXPECT_EQ(report.not_taken[0].time_ns, 30);
  EXPECT_NE(report.not_taken[0].why, report.not_taken[1].why);
}

TEST(Attribution, LeavesOurOwnTagsAsTheyAre) {
  Trace trace;
  trace.metadata["backend"] = "sim";
  trace.add_track({0, 0, "compute"});
  Slice ours{.track = 0, .duration_ns = 5, .name = intern("ncclKernel_AllReduce_X"), .tag = {}};
  trace.add(ours);
  ours.tag = {.kind = Kind::communication, .mode = Mode::dp, .purpose = intern("grad_reduce_scatter")};
  trace.add(ours);
  const AttributionReport report = attribute(trace);
  EXPECT_EQ(trace.tag(0).kind, Kind::compute);
  EXPECT_EQ(trace.tag(1), ours.tag);
  EXPECT_EQ(trace.attribution(1).source, AttributionSource::tag);
  ASSERT_EQ(report.attributed.size(), 1U);
  EXPECT_EQ(report.attributed[0].mode, Mode::dp);
}

TEST(Attribution, LeavesCallsAndRangesAlone) {
  ForeignTrace f;
  f.trace.add_track({0, 42, "thread 42", TrackKind::thread});
  Slice call = f.slice("ncclKernel_AllReduce_RING", 5, Kind::none);
  call.track = 1;
  f.trace.add(call);
  f.kernel("ncclKernel_AllReduce_RING", 5, Kind::none);
  const AttributionReport report = attribute(f.trace);
  EXPECT_EQ(report.communications(), 0);
  EXPECT_EQ(f.trace.tag(0).kind, Kind::none);
  EXPECT_EQ(f.trace.tag(1).kind, Kind::none);
}

Slice kernel_on(std::uint32_t track, std::string_view name) {
  return testing_support::foreign_slice(track, 0, 10, name);
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
  EXPECT_EQ(name_of(trace.attribution(0).reason), "rule m:1:9");
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

std::vector<std::string> unused_rules_of(Trace& trace, const std::string& yaml) {
  return unused_rules(attribute(trace, {.mode_map = parse_mode_map(yaml, "m")}));
}

TEST(ModeMap, RulesThatMatchNothingAreNamed) {
  Trace trace;
  trace.add_track({0, 7, "stream 7"});
  trace.add(kernel_on(0, "ncclDevKernel_Generic(int)"));
  trace.add(kernel_on(0, "gemm(int)"));
  const std::string rules =
      "rules: [{kernel: 'gem', mode: dp}, {kernel: 'gemm*', mode: compute}, {stream: 7, mode: pp}]";
  EXPECT_THAT(unused_rules_of(trace, rules), testing::ElementsAre("rule m:1:9 of the mode map matches no kernel"));
  EXPECT_THAT(unused_rules(attribute(trace)), testing::IsEmpty());
}

TEST(ModeMap, OfATraceThatRecordsItsModesIsNotApplied) {
  Trace trace;
  trace.metadata["backend"] = "host";
  trace.add_track({0, 7, "dp"});
  trace.add(testing_support::slice_of(0, 0, 10, "all_reduce", testing_support::communication(Mode::dp, "x", 1)));
  EXPECT_THAT(unused_rules_of(trace, "rules: [{stream: 7, mode: pp}]"),
              testing::ElementsAre(testing::HasSubstr("the trace records the mode of its communication")));
  EXPECT_EQ(trace.tag(0).mode, Mode::dp);
}

// The built-in rules use every key.
TEST(ModeMap, ReadsBackAsItWasWritten) {
  const std::string yaml = std::string(kernel_names_text()) + R"(
  - {group: "a \"quoted\"\tname: {1}", stream: [3, 4], ranks: 0, mode: fsdp, purpose: "param: all"}
  - {kernel: "void f<int>(int*)|#g", mode: compute}
  - {stream: 5, class: communication}
)";
  const ModeMap map = parse_mode_map(yaml, "m");
  const ModeMap again = parse_mode_map(to_yaml(map), "again");
  EXPECT_EQ(to_yaml(again), to_yaml(map));
  ASSERT_EQ(again.rules.size(), map.rules.size());
  for (std::size_t i = 0; i < map.rules.size(); ++i) {
    const ModeRule &was = map.rules[i], &is = again.rules[i];
    const auto keys = [](const ModeRule& rule) {
      return std::tie(rule.group, rule.kernel, rule.streams, rule.ranks, rule.what, rule.mode, rule.purpose,
                      rule.library, rule.why, rule.source, rule.versions);
    };
    EXPECT_EQ(keys(is), keys(was)) << to_yaml(was);
  }
}

TEST(ModeMap, SaysWhereItIsWrongAndHowToMendIt) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "map.yaml:1:1: has no rules; write one"},
      {"rule: []", "map.yaml:1:1: a mode map needs rules; write"},
      {"rules: 3", "rules is \"3\", must be a list; write entries"},
      {"rules:\n- {group: a, mode: ddp}", "map.yaml:2:20: mode is \"ddp\"; must be one of: dp, tp"},
      {"rules:\n- {group: a}", "map.yaml:2:3: a rule has no mode or class; set mode to one of"},
      {"rules:\n- {mode: dp}", "a rule matches everything; add a group"},
      {"rules:\n- {kernels: a, mode: dp}", "unknown key \"kernels\" in a rule; did you mean kernel?"},
      {"rules:\n- {stream: -1, mode: dp}", "must be a whole number of 0 or more"},
      {"rules:\n- {stream: [1, x], mode: dp}", "must be a whole number of 0 or more"},
      {"rules:\n- dp", "a rule is \"dp\"; write a mapping"},
      {"rules: [{group: a, mode: dp}]\nmore: 1", "unknown key \"more\"; a mode map only has rules"},
  };
  for (const auto& [yaml, message] : cases)
    EXPECT_THAT(testing_support::error_of([&yaml = yaml] { parse_mode_map(yaml, "map.yaml"); }),
                testing::HasSubstr(message))
        << yaml;
}

}  // namespace
}  // namespace underlap::attribution
