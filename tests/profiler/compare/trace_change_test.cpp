// SPDX-License-Identifier: Apache-2.0
#include "profiler/compare/trace_change.hpp"

#include <gmock/gmock.h>

#include <random>

#include "profiler/compare/order_matching.hpp"
#include "tests/profiler/compare/steps.hpp"

namespace underlap::compare {
namespace {

using namespace ::testing;  // NOLINT

void expect_sums(const TraceChange& change) {
  const std::int64_t delta = change.to.window_ns - change.from.window_ns;
  const std::int64_t parts = change.compute.contention_ns() + change.compute.decomposition_ns() -
                             change.compute.concurrency_change_ns() + change.to.exposed_ns() -
                             change.from.exposed_ns() + change.to.copy_only_ns - change.from.copy_only_ns +
                             change.to.idle_ns - change.from.idle_ns;
  EXPECT_EQ(parts, delta);
  std::int64_t operations = 0;
  for (const OperationChange& operation : change.operations) operations += operation.step_delta_ns();
  EXPECT_EQ(operations, delta);
  std::int64_t net = 0;
  for (const NetOperation& operation : change.net) net += operation.step_delta_ns();
  EXPECT_EQ(net, delta);
}

const OperationChange& operation(const TraceChange& change, const std::string& name, Match match = Match::both) {
  for (const OperationChange& one : change.operations)
    if (one.name == name && one.match == match) return one;
  throw std::out_of_range("no " + name);
}

TEST(TraceChange, NamesTheOperationThatTookLonger) {
  const std::vector<Work> before{{"fc1", 0, 400, Kind::compute, 0, 3}, {"fc2", 400, 700}};
  const std::vector<Work> after{{"fc1", 0, 450, Kind::compute, 0, 5}, {"fc2", 450, 750}};
  const TraceChange change = change_of(Steps().add(0, 3, before), Steps().add(0, 3, after));
  expect_sums(change);
  EXPECT_EQ(change.windows, 3);
  EXPECT_TRUE(change.is_matched_by_tags);
  EXPECT_THAT(change.left_out, IsEmpty());
  EXPECT_EQ(operation(change, "idle").step_delta_ns(), -150);
  // Another layer is another operation.
  EXPECT_EQ(operation(change, "fc1", Match::removed).from_step_ns, 1200);
  EXPECT_EQ(operation(change, "fc1", Match::added).to_step_ns, 1350);
  EXPECT_EQ(operation(change, "fc1", Match::added).first_layer, 5);
  EXPECT_EQ(operation(change, "fc2").step_delta_ns(), 0);
  EXPECT_EQ(operation(change, "fc2").from_count, 3);
}

TEST(TraceChange, GivesEveryInstantToOneOperation) {
  // fc2 begins under fc1 and takes over; the transfer is exposed behind both, and the copy behind it.
  const std::vector<Work> work{{"fc1", 0, 500},
                               {"fc2", 300, 400, Kind::compute, 1},
                               {"reduce", 200, 700, Kind::communication, 2},
                               {"offload", 600, 800, Kind::copy, 3}};
  const TraceChange change = change_of(Steps().add(0, 1, {}), Steps().add(0, 1, work));
  expect_sums(change);
  EXPECT_EQ(operation(change, "fc1", Match::added).to_step_ns, 400);
  EXPECT_EQ(operation(change, "fc2", Match::added).to_step_ns, 100);
  EXPECT_EQ(operation(change, "reduce", Match::added).to_step_ns, 200);
  EXPECT_EQ(operation(change, "reduce", Match::added).to_busy_ns, 500);
  EXPECT_EQ(operation(change, "reduce", Match::added).mode, "dp");
  EXPECT_EQ(operation(change, "reduce", Match::added).stream, "s2");
  EXPECT_EQ(operation(change, "offload", Match::added).to_step_ns, 100);
  EXPECT_EQ(operation(change, "idle").to_step_ns, 200);
  EXPECT_EQ(operation(change, "idle").from_step_ns, 1000);
}

TEST(TraceChange, MatchesByNameShapeAndOrderWithoutTags) {
  const std::vector<Work> before{{"gemm", 0, 100, Kind::compute, 0, -1, -1, 8},
                                 {"gemm", 100, 150, Kind::compute, 0, -1, -1, 4},
                                 {"relu", 150, 200}};
  const std::vector<Work> after{{"gemm", 0, 100, Kind::compute, 0, -1, -1, 8},
                                {"cast", 100, 130},
                                {"gemm", 130, 180, Kind::compute, 0, -1, -1, 2},
                                {"relu", 180, 260}};
  const TraceChange change = change_of(Steps().add(0, 2, before, false), Steps().add(0, 2, after, false));
  expect_sums(change);
  EXPECT_FALSE(change.is_matched_by_tags);
  EXPECT_EQ(operation(change, "gemm").from_count, 2);  // the one of 8 blocks, in both steps
  EXPECT_EQ(operation(change, "gemm", Match::removed).from_count, 2);
  EXPECT_EQ(operation(change, "gemm", Match::added).to_count, 2);
  EXPECT_EQ(operation(change, "cast", Match::added).to_step_ns, 60);
  EXPECT_EQ(operation(change, "relu").step_delta_ns(), 60);
}

const NetOperation& net(const TraceChange& change, const std::string& name) {
  for (const NetOperation& one : change.net)
    if (one.name == name) return one;
  throw std::out_of_range("no " + name);
}

TEST(TraceChange, TellsOperationsOnBalance) {
  std::vector<Work> before, after;
  for (std::int32_t bucket = 0; bucket < 4; ++bucket)
    before.push_back({"reduce", 200 * bucket, 200 * bucket + 150, Kind::communication, 1, -1, bucket});
  for (std::int32_t bucket = 2; bucket < 8; ++bucket)
    after.push_back({"reduce", 100 * bucket, 100 * bucket + 90, Kind::communication, 1, -1, bucket});
  for (std::vector<Work>* work : {&before, &after}) work->push_back({"fc1", 900, 950});
  after.push_back({"cast", 950, 960});
  const TraceChange change = change_of(Steps().add(0, 2, before), Steps().add(0, 2, after));
  expect_sums(change);
  const NetOperation& reduce = net(change, "reduce");
  EXPECT_EQ(reduce.match, Match::both);
  EXPECT_EQ(reduce.step_delta_ns(), 2 * (6 * 90 - 4 * 150));
  EXPECT_EQ(reduce.from_count, 8);
  EXPECT_EQ(reduce.to_count, 12);
  EXPECT_EQ(reduce.added, 8);
  EXPECT_EQ(reduce.removed, 4);
  EXPECT_EQ(net(change, "cast").match, Match::added);
  EXPECT_EQ(operation(change, "reduce", Match::removed).from_step_ns, 600);
}

std::int64_t unmatched(const TraceChange& change) {
  std::int64_t count = 0;
  for (const OperationChange& one : change.operations)
    if (one.match != Match::both) count += one.from_count + one.to_count;
  return count;
}

// Four GEMMs, under which four reductions run that begin `later` by so much; on streams of these numbers.
std::vector<Work> overlapped(std::int64_t later, std::int32_t compute = 0, std::int32_t communication = 1) {
  std::vector<Work> work;
  for (std::int64_t i = 0; i < 4; ++i) {
    work.push_back({"gemm" + std::to_string(i), 200 * i, 200 * i + 150, Kind::compute, compute});
    const std::int64_t start = 200 * i + 100 + later;
    work.push_back({"reduce", start, start + 50, Kind::communication, communication});
    work.push_back({"offload", start, start + 20, Kind::copy, 5});
  }
  return work;
}

TEST(TraceChange, KeepsMatchesWhereCommunicationOverlapsOtherCompute) {
  for (const std::int64_t later : {0, 70, 130, 200}) {
    const TraceChange change =
        change_of(Steps().add(0, 3, overlapped(0), false), Steps().add(0, 3, overlapped(later), false));
    expect_sums(change);
    EXPECT_EQ(unmatched(change), 0) << later;
    EXPECT_EQ(operation(change, "reduce").from_count, 12);
  }
}

TEST(TraceChange, PairsStreamsByWhatTheyHoldAndNotByTheirNumbers) {
  const TraceChange change =
      change_of(Steps().add(0, 2, overlapped(0, 0, 1), false), Steps().add(0, 2, overlapped(50, 1, 0), false));
  EXPECT_EQ(unmatched(change), 0);
  EXPECT_EQ(operation(change, "gemm1").stream, "s1");
  EXPECT_EQ(operation(change, "reduce").stream, "s0");
}

TEST(TraceChange, NamesWhatWasRemovedByTheCandidatesStream) {
  std::vector<Work> before = overlapped(0, 3, 4);
  before.push_back({"cast", 950, 960, Kind::compute, 3});
  const TraceChange change = change_of(Steps().add(0, 2, before, false), Steps().add(0, 2, overlapped(0), false));
  EXPECT_EQ(unmatched(change), 2);
  EXPECT_EQ(operation(change, "cast", Match::removed).stream, "s0");
}

TEST(TraceChange, MatchesWhatMovedBehindTheEndOfItsStep) {
  const std::vector<Work> work{{"gemm", 0, 500}};
  const auto reduce = [](std::int64_t start) { return Work{"reduce", start, start + 100, Kind::communication, 1}; };
  const TraceChange change = change_of(Steps().add(0, 3, work, false).add_once(0, reduce(850)),
                                       Steps().add(0, 3, work, false).add_once(0, reduce(1050)));
  expect_sums(change);
  EXPECT_EQ(operation(change, "reduce").from_count, 1);
  EXPECT_EQ(operation(change, "reduce").to_count, 1);
  EXPECT_EQ(unmatched(change), 0);
}

TEST(TraceChange, ComparesAsManyStepsAndRanksAsBothHave) {
  const std::vector<Work> work{{"fc1", 0, 500}};
  const TraceChange change =
      change_of(Steps().add(0, 3, work).add(1, 3, work), Steps().add(1, 5, work).add(2, 5, work));
  expect_sums(change);
  EXPECT_EQ(change.windows, 3);
  EXPECT_THAT(
      change.left_out,
      ElementsAre(HasSubstr("2 of 5 steps of rank 1 of the candidate have no counterpart: 4 of block 0, 5 of block 0"),
                  HasSubstr("1 of 2 ranks of the baseline"), HasSubstr("1 of 2 ranks of the candidate")));
  const TraceChange others = change_of(Steps().add(0, 3, work), Steps().add(7, 3, work));
  EXPECT_THAT(others.left_out, ElementsAre("rank 0 of the baseline is compared with rank 7 of the candidate"));
  EXPECT_THROW(change_of(Steps().add(0, 3, work), Steps()), std::invalid_argument);
}

TEST(TraceChange, HoldsStepsOfOneBlockAndNumberAgainstEachOther) {
  // The second step of block 0 was lost; what follows must not move up.
  Trace from, to;
  for (Trace* trace : {&from, &to})
    for (std::int32_t block = 0; block < 2; ++block) {
      const std::int32_t steps = trace == &to && block == 0 ? 1 : 2;
      for (std::int32_t step = 0; step <= steps; ++step)
        trace->marks.push_back({.rank = 0,
                                .block = block,
                                .step = 10 * block + step,
                                .time_ns = 10'000 * block + 100 * (block + 1) * step});
      const std::uint32_t track = trace->add_track({.rank = 0, .stream = 0, .name = "s"});
      trace->add(testing_support::slice_of(track, 10'000 * block, 50, "fc1"));
    }
  const analysis::Summary of_from = analysis::summarize(from), of_to = analysis::summarize(to);
  const TraceChange change = compare_traces({from, of_from}, {to, of_to});
  expect_sums(change);
  EXPECT_EQ(change.windows, 3);
  EXPECT_EQ(change.to.window_ns, change.from.window_ns);
  EXPECT_THAT(change.left_out, ElementsAre("1 of 4 steps of rank 0 of the baseline has no counterpart: 2 of block 0"));
  for (Mark& mark : to.marks) mark.step += 100;
  const analysis::Summary renumbered = analysis::summarize(to);
  EXPECT_THAT(compare_traces({from, of_from}, {to, renumbered}).left_out,
              ElementsAre(HasSubstr("no step of rank 0 has the same block and number"),
                          HasSubstr("the last 1 of 4 steps of rank 0 of the baseline")));
}

Steps random_steps(std::mt19937& random, bool has_tags) {
  Steps steps;
  const auto some = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<unsigned>(most));
  };
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    std::vector<Work> work;
    for (int i = 0; i < 40; ++i) {
      const std::int64_t start = some(1000);
      work.push_back({"op" + std::to_string(some(6)), start, start + some(200), static_cast<Kind>(some(3)),
                      static_cast<std::int32_t>(some(3)), static_cast<std::int32_t>(some(4)) - 1, -1,
                      static_cast<std::uint32_t>(some(2))});
    }
    steps.add(rank, 3, work, has_tags, 1000 + some(50));
  }
  return steps;
}

TEST(TraceChange, SumsToTheNanosecondOnAnyTraces) {
  std::mt19937 random(7);
  for (int round = 0; round < 100; ++round)
    expect_sums(change_of(random_steps(random, round % 2 == 0), random_steps(random, round % 2 == 0)));
}

using Sequence = std::vector<std::uint32_t>;

// By the table of all prefixes.
std::size_t longest(const Sequence& a, const Sequence& b) {
  std::vector<std::vector<std::size_t>> table(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < b.size(); ++j)
      table[i + 1][j + 1] = a[i] == b[j] ? table[i][j] + 1 : std::max(table[i][j + 1], table[i + 1][j]);
  return table[a.size()][b.size()];
}

void expect_is_common(const Sequence& a, const Sequence& b,
                      const std::vector<std::pair<std::size_t, std::size_t>>& pairs) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    ASSERT_LT(pairs[i].first, a.size());
    ASSERT_LT(pairs[i].second, b.size());
    EXPECT_EQ(a[pairs[i].first], b[pairs[i].second]);
    if (i == 0) continue;
    EXPECT_LT(pairs[i - 1].first, pairs[i].first);
    EXPECT_LT(pairs[i - 1].second, pairs[i].second);
  }
}

TEST(CommonSubsequence, IsALongestOne) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    Sequence a(random() % 30), b(random() % 30);
    const std::uint32_t letters = 1 + random() % 5;
    for (Sequence* sequence : {&a, &b})
      for (std::uint32_t& symbol : *sequence) symbol = random() % letters;
    const auto pairs = common_subsequence(a, b);
    expect_is_common(a, b, pairs);
    ASSERT_EQ(pairs.size(), longest(a, b)) << "round " << round;
  }
}

TEST(CommonSubsequence, FindsALongStepWithFewChanges) {
  Sequence a(1'000'000);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<std::uint32_t>(i * i % 97);
  Sequence b = a;
  b.erase(b.begin() + 500'000, b.begin() + 500'010);
  b.insert(b.begin() + 20, 12345);
  EXPECT_EQ(common_subsequence(a, b).size(), a.size() - 10);
}

TEST(CommonSubsequence, EndsOnSequencesThatHaveLittleInCommon) {
  std::mt19937 random(1);
  Sequence a(100'000), b(100'000);
  for (std::uint32_t& symbol : a) symbol = random() % 1000;
  for (std::uint32_t& symbol : b) symbol = 500 + random() % 1000;
  const auto pairs = common_subsequence(a, b);
  expect_is_common(a, b, pairs);
  EXPECT_GT(pairs.size(), 1000U);
}

}  // namespace
}  // namespace underlap::compare
