// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/arrivals.hpp"

#include <gtest/gtest.h>

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
}

// A broadcast's root is done before anybody has received, and whoever sends may be done long before the receiver.
TEST(AlignClocks, LeavesOutWhatDoesNotEndTogether) {
  Collectives c({0, 0, 0});
  c.add(Collective::broadcast, {0, 0, 0}, {10, 90, 900});
  EXPECT_EQ(align_clocks(c.trace).residual_ns, std::nullopt);
}

TEST(AlignClocks, UsesACollectiveWithAMissingMember) {
  Collectives c({0, 0, 0});
  c.add_one(0, Collective::all_reduce, {0, 0, 0}, {10, 10, 10});
  c.add_one(1, Collective::all_reduce, {0, 0, 0}, {10, 10, 10});
  EXPECT_EQ(align_clocks(c.trace).pairs.at({0, 1}).count, 1);  // the others end together
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

TEST(AlignClocks, GivesAnIntervalForEachPair) {
  Collectives c({0, 0, 0});
  c.add(Collective::all_reduce, {0, 0, 0}, {200, 200, 200});
  c.add(Collective::all_reduce, {300, 315, 300}, {400, 420, 401});
  c.add(Collective::all_reduce, {500, 500, 500}, {600, 600, 599});
  const ClockAlignment alignment = align_clocks(c.trace);
  EXPECT_EQ(alignment.pairs.at({0, 1}).low_ns, 0);
  EXPECT_EQ(alignment.pairs.at({0, 1}).high_ns, 20);
  EXPECT_EQ(alignment.uncertainty_ns(1, 0), 20);
  EXPECT_EQ(alignment.uncertainty_ns(0, 2), 2);
}

TEST(AlignClocks, DoesNotKnowAnOffsetFromOneCollective) {
  Collectives c({0, 40'000, 7});
  c.add(Collective::all_reduce, {0, 0, 0}, {100, 140, 100});
  const ClockAlignment alignment = align_clocks(c.trace);
  EXPECT_EQ(alignment.uncertainty_ns(0, 2), 7);  // the clocks agree as read
  EXPECT_FALSE(alignment.pairs.at({0, 1}).is_known());
  EXPECT_EQ(alignment.uncertainty_ns(0, 1), std::nullopt);
  EXPECT_EQ(alignment.residual_ns, std::nullopt);
}

// Rank 1's clock gains 100 ns in each millisecond.
TEST(AlignClocks, FindsTheDriftOfAClock) {
  Collectives c({0, 0, 0});
  for (std::int64_t i = 0; i < 20; ++i) {
    const std::int64_t end = 1'000'000 * (i + 1);
    c.add(Collective::all_reduce, {end - 1000, end - 1000, end - 1000}, {end, end + 100 * i + i % 3, end});
  }
  const ClockOffset offset = align_clocks(c.trace).pairs.at({0, 1});
  ASSERT_TRUE(offset.drift);
  EXPECT_LT(offset.drift->low_ppm, 100);
  EXPECT_GT(offset.drift->high_ppm, 100);
  EXPECT_LT(offset.drift->high_ppm - offset.drift->low_ppm, 1);
  EXPECT_EQ(offset.width_ns(), 1901);
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
  EXPECT_EQ(alignment.residual_ns, std::nullopt);  // one collective fits any offset
  c.trace.clocks = {{0, -kFar, kFar}, {1, kFar, -kFar}, {2, 0, 0}};
  EXPECT_EQ(align_clocks(c.trace).offset_ns.at(1), 2 * kFar);  // not one clock
}

TEST(FindArrivals, IsTheLatestStartOnEachRanksOwnClock) {
  Collectives c({0, 5'000'000, 0});
  c.add(Collective::all_reduce, {0, 50, 20}, {100, 100, 100});
  c.add(Collective::all_reduce, {200, 210, 290}, {300, 300, 300});
  find_arrivals(c.trace, align_clocks(c.trace));
  const std::vector<std::int64_t> expected{50, 5'000'050, 50, 290, 5'000'290, 290};
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(c.trace.communication(i)->last_arrival_ns, expected[i]) << i;
}

TEST(FindArrivals, KeepsWhatIsKnownAndLeavesSendsAlone) {
  Collectives c({0, 0, 0});
  c.trace.metadata["backend"] = "sim";
  c.add(Collective::all_reduce, {0, 50, 20}, {100, 100, 100});
  c.add(Collective::send, {200, 210, 290}, {300, 300, 300});
  c.trace.set_last_arrival(0, 33);
  find_arrivals(c.trace, align_clocks(c.trace));
  EXPECT_EQ(c.trace.communication(0)->last_arrival_ns, 33);
  EXPECT_EQ(c.trace.communication(1)->last_arrival_ns, 50);
  EXPECT_EQ(c.trace.communication(4)->last_arrival_ns, -1);
}

}  // namespace
}  // namespace underlap::analysis
