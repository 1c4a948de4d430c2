// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "impl/device/sim/sim_device.hpp"
#include "tests/impl/device/sim/world.hpp"

namespace underlap::sim {
namespace {

using Values = std::vector<float>;

constexpr std::int32_t kRanks = 3;
// Not the order of the ranks: what depends on the place in the group shows.
const std::vector<std::int32_t> kMembers{2, 0, 1};

// Ranks with memory and one communicator.
struct NumericWorld {
  explicit NumericWorld(std::int32_t size = kRanks) : memory(static_cast<std::size_t>(size)), world(size) {
    for (std::int32_t r = 0; r < size; ++r) world.devices[r] = std::make_unique<SimDevice>(r, &memory);
  }
  RecordingDevice& operator[](std::int32_t rank) { return world[static_cast<std::size_t>(rank)]; }
  void play() { world.play({.memory = &memory}); }

  Values read(std::int32_t rank, const View& view) const {
    Values values(static_cast<std::size_t>(view.elements()));
    memory.download(rank, view, std::as_writable_bytes(std::span(values)));
    return values;
  }

  VirtualMemory memory;
  World world;
};

void fill(RecordingDevice& d, Stream stream, const Tensor& t, const Values& values) {
  d.upload(stream, named("fill"), flat(t), std::as_bytes(std::span(values)));
}

// What the member at `place` of the group brings: small whole numbers, so that sums are exact.
Values brought(std::int32_t place, std::int64_t elements) {
  Values values;
  for (std::int64_t i = 0; i < elements; ++i) values.push_back(static_cast<float>(100 * (place + 1) + i));
  return values;
}

// Plays one collective: `input` and `output` are places in one tensor of `elements`, which begins as brought() says.
// Returns what then stands in the output of each member.
std::vector<Values> collective(Collective c, std::int64_t elements, auto input, auto output, std::int32_t root = -1,
                               ReduceOp op = ReduceOp::sum) {
  NumericWorld world;
  std::vector<View> outputs;
  for (std::int32_t place = 0; place < kRanks; ++place) {
    RecordingDevice& d = world[kMembers[static_cast<std::size_t>(place)]];
    const Communicator dp = d.declare("dp", {kMembers, place});
    const Tensor t = d.allocate("t", DataType::f32, elements);
    fill(d, dp.stream, t, brought(place, elements));
    outputs.push_back(output(t, place));
    communicate(d, dp, "it",
                {{.collective = c, .input = input(t, place), .output = outputs.back(), .op = op, .peer = root}});
  }
  world.play();
  std::vector<Values> result;
  for (std::size_t place = 0; place < outputs.size(); ++place)
    result.push_back(world.read(kMembers[place], outputs[place]));
  return result;
}

float value(std::int32_t place, std::int64_t i) { return brought(place, i + 1).back(); }

float sum(std::int64_t i) { return value(0, i) + value(1, i) + value(2, i); }

/// All of a tensor, and four elements of each place.
View all(const Tensor& t, std::int32_t) { return flat(t); }
View piece(const Tensor& t, std::int32_t place) { return flat(t, 4 * place, 4); }

TEST(CollectiveValues, AllGatherInPlace) {
  for (const Values& got : collective(Collective::all_gather, 12, piece, all))
    for (std::int32_t i = 0; i < 12; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)], value(i / 4, i));
}

TEST(CollectiveValues, ReduceScatterInPlace) {
  const auto got = collective(Collective::reduce_scatter, 12, all, piece);
  for (std::int32_t i = 0; i < 12; ++i)
    EXPECT_EQ(got[static_cast<std::size_t>(i / 4)][static_cast<std::size_t>(i % 4)], sum(i));
}

TEST(CollectiveValues, AllReduceInPlace) {
  for (const Values& got : collective(Collective::all_reduce, 5, all, all))
    for (std::int32_t i = 0; i < 5; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)], sum(i));
}

TEST(CollectiveValues, AllReduceOfTheLargest) {
  for (const Values& got : collective(Collective::all_reduce, 5, all, all, -1, ReduceOp::max))
    EXPECT_EQ(got, brought(2, 5));
}

TEST(CollectiveValues, AllToAll) {
  const auto first = [](const Tensor& t, std::int32_t) { return flat(t, 0, 6); };
  const auto second = [](const Tensor& t, std::int32_t) { return flat(t, 6, 6); };
  const auto got = collective(Collective::all_to_all, 12, first, second);
  for (std::int32_t me = 0; me < kRanks; ++me)
    for (std::int32_t i = 0; i < 6; ++i)
      EXPECT_EQ(got[static_cast<std::size_t>(me)][static_cast<std::size_t>(i)], value(i / 2, 2 * me + i % 2));
}

TEST(CollectiveValues, BroadcastFromAPlaceInTheGroup) {
  const auto first = [](const Tensor& t, std::int32_t) { return flat(t, 0, 3); };
  const auto second = [](const Tensor& t, std::int32_t) { return flat(t, 3, 3); };
  for (const Values& got : collective(Collective::broadcast, 6, first, second, 1)) EXPECT_EQ(got, brought(1, 3));
}

TEST(CollectiveValues, MessagesInAllDirectionsInOneCallMeetInTheirOrder) {
  NumericWorld world;
  std::vector<View> outputs;
  for (std::int32_t place = 0; place < kRanks; ++place) {
    RecordingDevice& d = world[kMembers[static_cast<std::size_t>(place)]];
    const Communicator ring = d.declare("ring", {kMembers, place});
    const Tensor in = d.allocate("in", DataType::f32, 6);
    const Tensor out = d.allocate("out", DataType::f32, 8);
    fill(d, ring.stream, in, brought(place, 6));
    const std::int32_t next = (place + 1) % kRanks;
    const std::int32_t before = (place + 2) % kRanks;
    communicate(d, ring, "hops",
                {send_to(next, flat(in, 0, 2)), send_to(next, flat(in, 2, 2)), send_to(before, flat(in, 4, 2)),
                 receive_from(before, flat(out, 0, 2)), receive_from(before, flat(out, 2, 2)),
                 receive_from(next, flat(out, 4, 2))});
    outputs.push_back(flat(out));
  }
  world.play();
  for (std::int32_t place = 0; place < kRanks; ++place) {
    const Values got = world.read(kMembers[static_cast<std::size_t>(place)], outputs[static_cast<std::size_t>(place)]);
    for (std::int32_t i = 0; i < 6; ++i)
      EXPECT_EQ(got[static_cast<std::size_t>(i)], value((place + (i < 4 ? 2 : 1)) % kRanks, i));
    EXPECT_TRUE(std::isnan(got[6])) << "nothing came here";
  }
  EXPECT_EQ(world.memory.num_conflicts(), 0);
}

TEST(VirtualMemory, TransfersAndUploadsWhoseSizesDoNotFitAreRefused) {
  NumericWorld world;
  RecordingDevice& d = world[0];
  const Communicator dp = d.declare("dp", {{0, 1, 2}, 0});
  const Tensor t = d.allocate("t", DataType::f32, 12);
  const Transfer too_small{.collective = Collective::all_gather, .input = flat(t, 0, 4), .output = flat(t, 0, 8)};
  EXPECT_THROW(d.communicate(dp, named("it"), {&too_small, 1}), std::invalid_argument);
  EXPECT_THROW(d.communicate(dp, named("it"), {}), std::invalid_argument);
  const std::vector<std::byte> bytes(100);
  EXPECT_THROW(d.upload(dp.stream, named("it"), flat(t), bytes), std::invalid_argument);
}

// Taint ---------------------------------------------------------------------------------------------------------------

void add_one(const Arguments& a) {
  for (std::int64_t i = 0; i < a[0].cols; ++i) a[1].as<float>()[i] = a[0].as<float>()[i] + 1;
}

Operation plus_one(const View& in, const View& out) {
  return Operation(intern("plus_one"), add_one, {.flops = 100, .sms = -1}, {{in, Access::in}, {out, Access::out}});
}

bool all_nan(const Values& values) {
  for (const float v : values)
    if (!std::isnan(v)) return false;
  return true;
}

TEST(Taint, TwoConflictingUsesInFlightPublishNaNBothAndOrderedOnesDoNot) {
  for (const bool is_ordered : {false, true}) {
    NumericWorld world(1);
    RecordingDevice& d = world[0];
    const Stream a = d.create_stream("a");
    const Stream b = d.create_stream("b");
    const Tensor x = d.allocate("x", DataType::f32, 4);
    const Tensor y = d.allocate("y", DataType::f32, 4);
    const Tensor z = d.allocate("z", DataType::f32, 4);
    fill(d, a, x, {1, 2, 3, 4});
    fill(d, a, y, {5, 6, 7, 8});
    d.wait(b, d.record(a));
    d.launch(a, named("writes"), plus_one(flat(x), flat(y)));
    if (is_ordered) d.wait(b, d.record(a));
    d.launch(b, named("reads"), plus_one(flat(y), flat(z)));
    world.play();
    EXPECT_EQ(world.memory.num_conflicts(), is_ordered ? 0 : 2);
    EXPECT_EQ(all_nan(world.read(0, flat(y))), !is_ordered);
    EXPECT_EQ(all_nan(world.read(0, flat(z))), !is_ordered);
    if (is_ordered) {
      EXPECT_EQ(world.read(0, flat(z)), (Values{3, 4, 5, 6}));
    }
  }
}

// A buffer is filled again while it is being sent: what the peer publishes must show it too.
TEST(Taint, OfWhatIsSentReachesThoseWhoReceiveIt) {
  for (const bool is_message : {true, false}) {
    for (const bool is_ordered : {false, true}) {
      NumericWorld world(2);
      std::vector<View> outputs;
      for (std::int32_t r = 0; r < 2; ++r) {
        RecordingDevice& d = world[r];
        const Stream compute = d.create_stream("compute");
        const Communicator c = d.declare("c", {{0, 1}, r});
        const Tensor x = d.allocate("x", DataType::f32, 4);
        const Tensor y = d.allocate("y", DataType::f32, 4);
        const Tensor out = d.allocate("out", DataType::f32, 4);
        fill(d, c.stream, x, {1, 2, 3, 4});
        fill(d, c.stream, y, {1, 2, 3, 4});
        d.wait(compute, d.record(c.stream));
        Transfer t{.collective = Collective::all_reduce, .input = flat(x), .output = flat(out)};
        if (is_message && r == 0) t = send_to(1, flat(x));
        if (is_message && r == 1) t = receive_from(0, flat(out));
        communicate(d, c, "it", {t});
        if (is_ordered) d.wait(compute, d.record(c.stream));
        if (r == 0) d.launch(compute, named("refill"), plus_one(flat(y), flat(x)));
        outputs.push_back(flat(out));
      }
      world.play();
      EXPECT_EQ(all_nan(world.read(1, outputs[1])), !is_ordered);
      EXPECT_EQ(world.memory.num_conflicts(), is_ordered ? 0 : 2);
    }
  }
}

}  // namespace
}  // namespace underlap::sim
