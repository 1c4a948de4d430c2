// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/arrivals.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace underlap::analysis {
namespace {

constexpr std::int32_t kRanks = 3;

// Collectives of three ranks, as true times; what is recorded adds each rank's clock error.
class Collectives {
 public:
  explicit Collectives(std::array<std::int64_t, kRanks> clock_error) : clock_error_(clock_error) {
    for (std::int32_t rank = 0; rank < kRanks; ++rank) trace.add_track({rank, 0, "dp"});
    trace.add_group({intern("grad_reduce_scatter"), {0, 1, 2}});
  }

  void add(Collective collective, std::array<std::int64_t, kRanks> starts, std::array<std::int64_t, kRanks> ends) {
    for (std::int32_t rank = 0; rank < kRanks; ++rank) add_one(rank, collective, starts, ends);
    ++sequence_;
  }

  void add_one(std::int32_t rank, Collective collective, std::array<std::int64_t, kRanks> starts,
               std::array<std::int64_t, kRanks> ends) {
    const auto r = static_cast<std::size_t>(rank);
    trace.add({.track = static_cast<std::uint32_t>(rank),
               .start_ns = starts[r] + clock_error_[r],
               .duration_ns = ends[r] - starts[r],
               .tag = {.kind = Kind::communication, .mode = Mode::dp}},
              {.sequence = sequence_, .transfers = {{.collective = collective}}});
  }

  Trace trace;

 private:
  std::array<std::int64_t, kRanks> clock_error_;
  std::uint64_t sequence_ = 0;
};

TEST(AlignClocks, FindsTheDifferenceFromTheEndsOfCollectives) {
  Collectives c({0, 5'000'000, -7'000'000});
  c.add(Collective::all_reduce, {0, 50, 20}, {100, 101, 100});
  c.add(Collective::reduce_scatter, {200, 210, 290}, {300, 300, 302});
  c.add(Collective::all_gather, {400, 480, 410}, {500, 500, 500});
  const ClockAlignment alignment = align_clocks(c.trace);
  EXPECT_EQ(alignment.offset_ns.at(0), 0);
  EXPECT_EQ(alignment.offset_ns.at(1), 5'000'000);
  EXPECT_EQ(alignment.offset_ns.at(2), -7'000'000);
  EXPECT_EQ(alignment.residual_ns, 2);
  EXPECT_EQ(alignment.lateness_ns, std::nullopt);
  EXPECT_EQ(alignment.num_collectives, 3);
}

// A broadcast's root is done before anybody has received, and whoever sends may be done long before the receiver.
TEST(AlignClocks, LeavesOutWhatDoesNotEndTogether) {
  Collectives c({0, 0, 0});
  c.add(Collective::broadcast, {0, 0, 0}, {10, 90, 900});
  EXPECT_EQ(align_clocks(c.trace).residual_ns, std::nullopt);
}

TEST(AlignClocks, LeavesOutACollectiveOfWhichAMemberIsMissing) {
  Collectives c({0, 0, 0});
  c.add_one(0, Collective::all_reduce, {0, 0, 0}, {10, 10, 10});
  c.add_one(1, Collective::all_reduce, {0, 0, 0}, {10, 10, 10});
  EXPECT_EQ(align_clocks(c.trace).num_collectives, 0);
}

TEST(AlignClocks, MeasuresFromTheMiddleOfTwoEnds) {
  Trace trace;
  for (std::int32_t rank = 0; rank < 2; ++rank) trace.add_track({rank, 0, "dp"});
  trace.add_group({intern("grad_reduce_scatter"), {0, 1}});
  const std::array<std::array<std::int64_t, 2>, 2> ends{{{100, 110}, {300, 330}}};
  for (std::uint64_t i = 0; i < 2; ++i)
    for (std::uint32_t rank = 0; rank < 2; ++rank)
      trace.add({.track = rank, .start_ns = 0, .duration_ns = ends[i][rank], .tag = {.kind = Kind::communication}},
                {.sequence = i, .transfers = {{.collective = Collective::all_reduce}}});
  const ClockAlignment alignment = align_clocks(trace);
  EXPECT_EQ(alignment.offset_ns.at(1), 20);
  EXPECT_EQ(alignment.residual_ns, 5);
}

TEST(AlignClocks, LeavesVirtualTimeAlone) {
  Collectives c({0, 0, 0});
  c.add(Collective::all_reduce, {0, 0, 0}, {100, 140, 100});
  c.trace.metadata["backend"] = "sim";
  EXPECT_EQ(align_clocks(c.trace).offset_ns.at(1), 0);
  EXPECT_EQ(align_clocks(c.trace).residual_ns, 0);
}

TEST(AlignClocks, KeepsAClockThatAllRanksRead) {
  Collectives c({0, 0, 0});
  c.add(Collective::all_reduce, {0, 0, 0}, {100, 140, 100});
  for (std::int32_t rank = 0; rank < kRanks; ++rank)
    c.trace.clocks.push_back({rank, 1000 + rank, 9'000'000'000 + rank});
  const ClockAlignment alignment = align_clocks(c.trace);
  EXPECT_EQ(alignment.offset_ns.at(1), 0);
  EXPECT_EQ(alignment.residual_ns, 0);
  EXPECT_EQ(alignment.lateness_ns, 40);
}

TEST(AlignClocks, StopsAtTheEndsOfTheIntegers) {
  constexpr std::int64_t kFar = (std::int64_t{1} << 62) - 1;
  Collectives c({0, 0, 0});
  c.add(Collective::all_reduce, {0, 0, 0}, {-kFar, kFar, -kFar});
  const ClockAlignment alignment = align_clocks(c.trace);
  EXPECT_EQ(alignment.offset_ns.at(1), 2 * kFar);
  EXPECT_EQ(alignment.residual_ns, 0);
  c.trace.clocks = {{0, -kFar, kFar}, {1, kFar, -kFar}, {2, 0, 0}};
  EXPECT_EQ(align_clocks(c.trace).offset_ns.at(1), 2 * kFar);  // not one clock
}

TEST(FindArrivals, IsTheLatestStartOnEachRanksOwnClock) {
  Collectives c({0, 5'000'000, 0});
  c.add(Collective::all_reduce, {0, 50, 20}, {100, 100, 100});
  c.add(Collective::all_reduce, {200, 210, 290}, {300, 300, 300});
  EXPECT_EQ(find_arrivals(c.trace, align_clocks(c.trace)), 6);
  const std::vector<std::int64_t> expected{50, 5'000'050, 50, 290, 5'000'290, 290};
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(c.trace.communication(i)->last_arrival_ns, expected[i]) << i;
}

TEST(FindArrivals, KeepsWhatIsKnownAndLeavesSendsAlone) {
  Collectives c({0, 0, 0});
  c.add(Collective::all_reduce, {0, 50, 20}, {100, 100, 100});
  c.add(Collective::send, {200, 210, 290}, {300, 300, 300});
  c.trace.set_last_arrival(0, 33);
  EXPECT_EQ(find_arrivals(c.trace, align_clocks(c.trace)), 2);
  EXPECT_EQ(c.trace.communication(0)->last_arrival_ns, 33);
  EXPECT_EQ(c.trace.communication(1)->last_arrival_ns, 50);
  EXPECT_EQ(c.trace.communication(4)->last_arrival_ns, -1);
}

}  // namespace
}  // namespace underlap::analysis
