// SPDX-License-Identifier: Apache-2.0
#include "profiler/trace/trace.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/profiler/random_trace.hpp"

namespace underlap {
namespace {

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

}  // namespace
}  // namespace underlap
