// SPDX-License-Identifier: Apache-2.0
#include "profiler/trace/trace.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <utility>

#include "profiler/trace/backend.hpp"
#include "profiler/trace/subset.hpp"
#include "tests/profiler/random_trace.hpp"

namespace underlap {
namespace {

using testing_support::everything, testing_support::random_trace;

Slice slice_on(std::uint32_t track, const Tag& tag) {
  return {.track = track, .start_ns = 1, .duration_ns = 2, .name = intern("x"), .operation = 0, .tag = tag};
}

TEST(Trace, AppendMergesEqualTracksAndGroups) {
  Trace a;
  a.add_track({0, 0, "compute"});
  a.add_group({intern("gather"), {0, 1}});
  Trace b;
  b.add_track({0, 1, "dp"});
  b.add_track({0, 0, "compute"});
  b.add_group({intern("reduce"), {0, 1}});
  b.add_group({intern("gather"), {0, 1}});
  b.add(slice_on(1, {}), {.group = 1, .sequence = 7, .transfers = {}});
  a.append(b);
  EXPECT_EQ(a.tracks.size(), 2U);
  EXPECT_EQ(a.groups.size(), 2U);
  EXPECT_EQ(a.tracks[a.track(0)].name, "compute");
  EXPECT_EQ(name_of(a.groups[a.communication(0)->group].purpose), "gather");
  EXPECT_EQ(a.communication(0)->sequence, 7U);
}

TEST(Trace, AppendToEmptyGivesTheSameTrace) {
  std::mt19937 random(1);
  const Trace original = testing_support::random_trace(random);
  Trace copy;
  copy.append(original);
  EXPECT_EQ(testing_support::everything(copy), testing_support::everything(original));
}

TEST(Trace, AppendKeepsWhereFlowsAndCountersPoint) {
  const auto trace_of = [](std::int32_t rank) {
    Trace trace;
    trace.add_track({rank, 7, "main", TrackKind::thread});
    trace.add_track({rank, 0, "compute", TrackKind::stream, 3});
    trace.add_track({rank, 0, "memory", TrackKind::counter});
    trace.add(slice_on(0, {.kind = Kind::none}));
    trace.add(slice_on(1, {}));
    trace.flows.push_back({0, 1, FlowKind::launch});
    trace.counters.push_back({2, 5, 0.5});
    return trace;
  };
  Trace both = trace_of(0);
  both.append(trace_of(1));
  ASSERT_EQ(both.flows.size(), 2U);
  EXPECT_EQ(both.flows[1], (Flow{2, 3, FlowKind::launch}));
  EXPECT_EQ(both.track_of(both.flows[1].to), (Track{1, 0, "compute", TrackKind::stream, 3}));
  ASSERT_EQ(both.counters.size(), 2U);
  EXPECT_EQ(both.tracks[both.counters[1].track], (Track{1, 0, "memory", TrackKind::counter}));
  EXPECT_FALSE(both.is_work(0));
  EXPECT_TRUE(both.is_work(1));
}

TEST(Trace, ASliceTakesTheTagThatItIsGivenAndNoOtherDoes) {
  Trace trace;
  trace.add_track({0, 0, "compute"});
  for (int i = 0; i < 3; ++i) trace.add(slice_on(0, {.layer = 4}));
  const Attribution by_name{AttributionSource::group_name, 99, intern("it is called DATA_PARALLEL_GROUP")};
  trace.set_tag(1, {.kind = Kind::communication, .mode = Mode::dp}, by_name);
  EXPECT_EQ(trace.tag(1).mode, Mode::dp);
  EXPECT_EQ(trace.attribution(1), by_name);
  for (const std::size_t other : {0U, 2U}) {
    EXPECT_EQ(trace.tag(other), (Tag{.layer = 4}));
    EXPECT_EQ(trace.attribution(other), Attribution{});
  }
}

TEST(Trace, EachSliceKeepsItsShape) {
  Trace trace;
  trace.add_track({0, 0, "compute"});
  Slice slice = slice_on(0, {});
  for (const std::uint32_t blocks : {132U, 132U, 64U, 132U}) {
    slice.shape = {.grid = {blocks, 1, 1}, .block = {256, 1, 1}, .bytes = blocks * 16};
    trace.add(slice);
  }
  for (const auto& [i, blocks] : {std::pair{0U, 132U}, {1U, 132U}, {2U, 64U}, {3U, 132U}}) {
    EXPECT_EQ(trace.shape(i).grid[0], blocks);
    EXPECT_EQ(trace.slice(i).shape.bytes, blocks * 16);
  }
}

TEST(Trace, AppendAddsUpTheImportReports) {
  Trace a;
  a.import = {.events = 2, .skipped = {{"broken", 1}}};
  Trace b;
  b.import = {.events = 3, .skipped = {{"broken", 4}, {"odd", 1}}};
  a.append(b);
  EXPECT_EQ(a.import.events, 5);
  EXPECT_EQ(a.import.num_skipped(), 6);
  EXPECT_EQ(a.import.skipped["broken"], 5);
}

TEST(Trace, EqualTagsAreStoredOnce) {
  Trace trace;
  trace.add_track({0, 0, "compute"});
  for (int i = 0; i < 3; ++i) trace.add(slice_on(0, {.layer = 4}));
  trace.add(slice_on(0, {.layer = 5}));
  EXPECT_EQ(&trace.tag(0), &trace.tag(2));
  EXPECT_NE(&trace.tag(0), &trace.tag(3));
  EXPECT_EQ(trace.tag(3).layer, 5);
}

TEST(Trace, OnlyCommunicationHasARecord) {
  Trace trace;
  trace.add_track({0, 0, "compute"});
  trace.add_group({});
  trace.add(slice_on(0, {}));
  trace.add(slice_on(0, {.kind = Kind::communication}), {.transfers = {{.bytes_on_wire = 3}, {.bytes_on_wire = 4}}});
  EXPECT_EQ(trace.communication(0), nullptr);
  ASSERT_NE(trace.communication(1), nullptr);
  EXPECT_EQ(trace.communication(1)->bytes_on_wire(), 7);
}

TEST(Name, ThreadsThatInternTheSameNamesGetTheSameIds) {
  constexpr int kNames = 500;
  std::vector<std::vector<NameId>> ids(4);
  std::vector<std::thread> threads;
  for (std::vector<NameId>& mine : ids)
    threads.emplace_back([&mine] {
      for (int i = 0; i < kNames; ++i) mine.push_back(intern("shared name " + std::to_string(i)));
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<NameId>& mine : ids) EXPECT_EQ(mine, ids[0]);
  for (int i = 0; i < kNames; ++i) EXPECT_EQ(name_of(ids[0][i]), "shared name " + std::to_string(i));
}

TEST(Name, EmptyNameHasTheFixedId) {
  EXPECT_EQ(intern(""), kNoName);
  EXPECT_EQ(name_of(kNoName), "");
}

TEST(Tag, WordsReadBackAsTheirValues) {
  for (int i = 0; i < 8; ++i) EXPECT_EQ(mode_from(to_string(static_cast<Mode>(i))), static_cast<Mode>(i));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(kind_from(to_string(static_cast<Kind>(i))), static_cast<Kind>(i));
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(direction_from(to_string(static_cast<Direction>(i))), static_cast<Direction>(i));
  EXPECT_EQ(mode_from("DP"), std::nullopt);
}

TEST(Subset, OfEveryRankIsTheTrace) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const Trace trace = random_trace(random, {.num_ranks = 3, .is_foreign = true});
    EXPECT_EQ(everything(subset(trace, {})), everything(trace));
  }
}

TEST(Subset, OfOneRankEachJoinIntoTheTrace) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    Trace ordered;  // by rank, as traces of ranks are when they are joined
    for (std::int32_t rank = 0; rank < 3; ++rank) {
      const Trace all = random_trace(random, {.num_ranks = 3});
      ordered.append(subset(all, [&](std::int32_t other) { return other == rank; }));
    }
    Trace joined;
    for (std::int32_t rank = 0; rank < 3; ++rank)
      joined.append(subset(ordered, [&](std::int32_t other) { return other == rank; }));
    EXPECT_EQ(everything(joined), everything(ordered));
  }
}

TEST(Subset, LosesTheFlowsOfSlicesThatAreNotWanted) {
  Trace trace;
  for (std::int32_t rank = 0; rank < 2; ++rank)
    for (std::int64_t i = 0; i < 2; ++i)
      trace.add({.track = trace.add_track({rank, 0, "compute"}), .start_ns = i * 10, .duration_ns = 5, .tag = {}});
  trace.flows = {{0, 1}, {0, 2}, {2, 3}};
  const Trace part = subset(trace, [](std::int32_t rank) { return rank == 1; });
  EXPECT_EQ(part.size(), 2U);
  EXPECT_EQ(part.flows, (std::vector<Flow>{{0, 1}}));
  EXPECT_EQ(part.tracks.size(), 1U);
}

TEST(Backend, IsFoundByItsNameAndMeasuresUnlessItsTimeIsVirtual) {
  for (const Backend backend : {Backend::host, Backend::cuda, Backend::sim})
    EXPECT_EQ(backend_from(to_string(backend)), backend);
  EXPECT_EQ(to_string(Backend::sim), "sim");
  EXPECT_EQ(backend_from("gpu"), std::nullopt);
  EXPECT_TRUE(traits_of(Backend::host).measures_time);
  EXPECT_TRUE(traits_of(Backend::cuda).measures_time);
  EXPECT_FALSE(traits_of(Backend::sim).measures_time);
}

}  // namespace
}  // namespace underlap
