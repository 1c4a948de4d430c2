// SPDX-License-Identifier: Apache-2.0
// Some ranks simulated for all: transfers take what the whole group needs, and begin when they would.
#include "platform/errors.hpp"
#include "tests/impl/device/sim/world.hpp"

namespace underlap::sim {
namespace {

using Interval = World::Interval;

// A transfer takes 100 ns for each member of its group.
class TimesBySize final : public TestTimes {
 public:
  TransferTime transfers(std::span<const TransferShape>, std::span<const std::int32_t> members,
                         const CommunicatorHints&) const override {
    return {.alone_ns = 100.0 * static_cast<double>(members.size())};
  }
};

Group group_of_four(std::int32_t my_index) { return {{0, 1, 2, 3}, my_index}; }

TEST(SimulatedRanks, ACollectiveTakesTheWholeGroupsTimeOnceTheSimulatedMembersAreThere) {
  World world(2);
  world.machine = std::make_unique<TimesBySize>();
  for (std::int32_t r = 0; r < 2; ++r) {
    RecordingDevice& d = world[static_cast<std::size_t>(r)];
    const Stream compute = d.create_stream("compute");
    const Communicator dp = d.declare("dp", group_of_four(2 * r));
    const Tensor x = d.allocate("x", DataType::f32, 100);
    d.launch(compute, named("late"), kernel(10.0 * (r + 1)));
    d.wait(dp.stream, d.record(compute));
    communicate(d, dp, "sum", {all_reduce_of(x)});
    d.mark(compute, 0, 0);
  }
  const auto times = world.play({.simulated = {0, 2}});
  EXPECT_EQ(times.at("0 dp sum"), (Interval{10, 420}));
  EXPECT_EQ(times.at("2 dp sum"), (Interval{20, 420}));
  EXPECT_EQ(world.trace.marks[1].rank, 2);
  EXPECT_EQ(world.trace.groups[0].ranks, (std::vector<std::int32_t>{0, 1, 2, 3}));
}

// Each sends to the rank behind it and receives from the one before it, twice.
void pass_round(RecordingDevice& d, std::int32_t rank) {
  const Stream compute = d.create_stream("compute");
  const Communicator ring = d.declare("ring", group_of_four(rank));
  const Tensor x = d.allocate("x", DataType::f32, 25);
  d.launch(compute, named("first"), kernel(40));
  d.wait(ring.stream, d.record(compute));
  for (const char* hop : {"hop 1", "hop 2"})
    communicate(d, ring, hop, {send_to((rank + 1) % 4, flat(x)), receive_from((rank + 3) % 4, flat(x))});
}

TEST(SimulatedRanks, AHopRoundARingTakesWhatItTakesWhereAllAreSimulated) {
  World all(4), one(1);
  for (std::int32_t r = 0; r < 4; ++r) pass_round(all[static_cast<std::size_t>(r)], r);
  pass_round(one[0], 0);
  const auto of_all = all.play();
  const auto of_one = one.play({.simulated = {0}});
  EXPECT_EQ(of_one.size(), 3U);
  for (const auto& [what, interval] : of_one) EXPECT_EQ(interval, of_all.at(what)) << what;
}

TEST(SimulatedRanks, AMessageWaitsForTheRankThatIsSimulatedForItsOtherEnd) {
  const auto exchange = [](RecordingDevice& d, std::int32_t rank) {
    const Communicator up = d.declare("ring", group_of_four(rank));
    const Tensor x = d.allocate("x", DataType::f32, 25);
    communicate(d, up, "send", {send_to((rank + 1) % 4, flat(x))});
  };
  World all(4), one(1);
  for (std::int32_t r = 0; r < 4; ++r) exchange(all[static_cast<std::size_t>(r)], r);
  exchange(one[0], 0);
  EXPECT_THAT([&] { all.play(); }, ThrowsMessage<MachineError>(HasSubstr("rank 0 ring: send waits for rank 1")));
  EXPECT_THAT([&] { one.play({.simulated = {0}}); },
              ThrowsMessage<MachineError>(HasSubstr("rank 0 ring: send waits for rank 1")));
}

TEST(SimulatedRanks, OfAGroupThatExchangesMessagesOneOrAllAreSimulated) {
  World world(2);
  pass_round(world[0], 0);
  pass_round(world[1], 2);
  EXPECT_THAT(
      [&] {
        world.play({.simulated = {0, 2}});
      },
      ThrowsMessage<std::invalid_argument>(HasSubstr("2 members of a group that exchanges messages are simulated")));
}

TEST(SimulatedRanks, AreAsManyAsThereArePrograms) {
  World world(2);
  EXPECT_THAT([&] { world.play({.simulated = {0}}); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("1 ranks are simulated, but 2 have programs")));
}

}  // namespace
}  // namespace underlap::sim
