// SPDX-License-Identifier: Apache-2.0
// What must hold of every program, on random ones.
#include <gtest/gtest.h>

#include <random>

#include "tests/impl/device/sim/world.hpp"

namespace underlap::sim {
namespace {

// One operation of a rank, as it was enqueued.
struct Made {
  std::uint32_t stream = 0;
  double alone_ns = 0;
  int sms = 0;                       // held from start to end; 0: others may take them
  std::vector<std::size_t> awaited;  // operations that must be over before
};

struct RandomPrograms {
  std::vector<std::vector<Made>> made;         // by rank, by operation
  std::vector<std::vector<Program>> programs;  // by rank, in pieces
};

constexpr int kNumOperations = 60;
constexpr double kFixedNs = 3;

// The same kind of thing everywhere, and all calls in one order: nothing can deadlock. `piece`: operations of a piece.
class Maker {
 public:
  Maker(std::uint32_t seed, int piece) : random_(seed), piece_(piece) {}

  RandomPrograms make() {
    const std::int32_t size = up_to(3);
    std::vector<std::uint32_t> calls;  // communicators of all ranks, in turn
    for (int i = 0; i < kNumOperations; ++i) calls.push_back(up_to(3) == 1 ? up_to(2) : 0);
    for (std::int32_t r = 0; r < size; ++r) add_rank(size, r, calls);
    return std::move(result_);
  }

 private:
  int up_to(int n) { return std::uniform_int_distribution(1, n)(random_); }

  Operation random_kernel(Made& made) {
    const auto ns = made.alone_ns = (up_to(20) - 1) * 7 + 0.125 * (up_to(8) - 1);
    const Cost cost{.bytes_read = up_to(3) == 1 ? up_to(100'000) : 0};
    if (up_to(3) == 1) {
      made.sms = up_to(50);
      return kernel(ns, {.bytes_read = cost.bytes_read, .sms = -made.sms});
    }
    if (up_to(2) == 1) return kernel(ns, cost);
    const int tiles = up_to(700);
    const int sms = up_to(100);
    const int num_waves = (tiles + sms - 1) / sms;
    made.alone_ns = kFixedNs + num_waves * (10 * up_to(20) + 0.125 * up_to(7));
    return kernel(made.alone_ns, {.bytes_read = cost.bytes_read, .bytes_written = tiles, .sms = sms});
  }

  void add_rank(std::int32_t size, std::int32_t rank, const std::vector<std::uint32_t>& calls) {
    RecordingDevice d;
    std::vector<Made>& made = result_.made.emplace_back();
    std::vector<Program>& programs = result_.programs.emplace_back();
    const Group group = testing_support::group_of(size, rank);
    const std::vector<Stream> streams{d.create_stream("a"), d.create_stream("b", Priority::high)};
    const std::vector<Communicator> communicators{d.declare("c", group, {.sms = 10}),
                                                  d.declare("d", group, {.sms = 5, .priority = Priority::high})};
    const Tensor x = d.allocate("x", DataType::f32, 1000);
    std::vector<std::vector<std::size_t>> on_stream(4);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const bool is_call = calls[i] > 0;
      const Stream stream =
          is_call ? communicators[calls[i] - 1].stream : streams[static_cast<std::size_t>(up_to(2) - 1)];
      Made one{.stream = stream.id, .awaited = {}};
      if (up_to(2) == 1) {
        const auto other = static_cast<std::uint32_t>(up_to(4) - 1);
        d.wait(stream, d.record({other}));
        one.awaited = on_stream[other];
      }
      const Tag tag{.bucket = static_cast<std::int32_t>(i), .step = 0};
      if (is_call) {
        const View view = flat(x, 0, static_cast<std::int64_t>(10 + i));
        const Transfer t = all_reduce_of(view);
        one.alone_ns = static_cast<double>(view.bytes());
        one.sms = calls[i] == 1 ? 10 : 5;
        d.communicate(communicators[calls[i] - 1], tag, {&t, 1});
      } else {
        d.launch(stream, tag, random_kernel(one));
      }
      on_stream[stream.id].push_back(i);
      made.push_back(one);
      if (up_to(20) == 1) d.synchronize(d.record({static_cast<std::uint32_t>(up_to(4) - 1)}));
      if (up_to(20) == 1) d.mark(stream, 0, static_cast<std::int32_t>(i));
      if (static_cast<int>(i) % piece_ == piece_ - 1) programs.push_back(d.take_program());
    }
    programs.push_back(d.take_program());
  }

  std::mt19937 random_;
  int piece_;
  RandomPrograms result_;
};

struct Simulated {
  std::vector<std::vector<std::vector<World::Interval>>> times;  // by rank, by operation: each time that it ran
  std::vector<Mark> marks;
  std::int64_t end_ns = 0;
};

Simulated play(RandomPrograms random, std::uint32_t seed) {
  TestTimes times;
  times.host_ = {.launch_ns = seed % 5,
                 .communicate_ns = seed % 7,
                 .event_ns = seed % 2,
                 .start_ns = seed % 3,
                 .queue_depth = 1 + seed % 9};
  times.fixed_ns_ = seed % 4 == 0 ? kFixedNs : 0;
  std::vector<RankQueues::Source> sources;
  for (auto& programs : random.programs)
    sources.emplace_back([&programs, next = std::size_t{0}]() mutable -> std::optional<Program> {
      if (next == programs.size()) return std::nullopt;
      return std::move(programs[next++]);
    });
  Engine engine(times,
                {.connections = static_cast<std::int32_t>(seed % 4), .jitter = seed % 3 == 0 ? 0.3 : 0.0, .seed = seed},
                std::move(sources));
  engine.play();
  const Trace trace = engine.take_trace();
  Simulated simulated{.times = {}, .marks = trace.marks, .end_ns = engine.now_ns()};
  simulated.times.assign(random.made.size(), std::vector<std::vector<World::Interval>>(kNumOperations));
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const auto rank = static_cast<std::size_t>(trace.tracks[trace.track(i)].rank);
    simulated.times[rank][static_cast<std::size_t>(trace.tag(i).bucket)].push_back(
        {trace.start_ns()[i], trace.end_ns(i)});
  }
  return simulated;
}

void expect_order(const std::vector<Made>& made, const std::vector<std::vector<World::Interval>>& times) {
  std::vector<std::int64_t> end_of_stream(4, 0);
  for (std::size_t i = 0; i < made.size(); ++i) {
    ASSERT_EQ(times[i].size(), 1U) << "operation " << i << " runs exactly once";
    const World::Interval time = times[i][0];
    EXPECT_GE(time.start, end_of_stream[made[i].stream]) << "streams are FIFO";
    for (const std::size_t before : made[i].awaited) EXPECT_GE(time.start, times[before][0].end);
    // Up to half a nanosecond is rounded off wherever waves are placed anew.
    EXPECT_GE(static_cast<double>(time.end - time.start), 0.95 * made[i].alone_ns - 1) << "none is faster than alone";
    end_of_stream[made[i].stream] = time.end;
  }
}

// At each start, what is held for good: never more than the device has.
void expect_room(const std::vector<Made>& made, const std::vector<std::vector<World::Interval>>& times) {
  for (const auto& at : times) {
    int held = 0;
    for (std::size_t i = 0; i < made.size(); ++i)
      if (times[i][0].start <= at[0].start && at[0].start < times[i][0].end) held += made[i].sms;
    EXPECT_LE(held, 100);
  }
}

TEST(RandomPrograms, RunOnceInOrderWithinTheDevice) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const RandomPrograms random = Maker(seed, 1000).make();
    const Simulated simulated = play(random, seed);
    for (std::size_t r = 0; r < random.made.size(); ++r) {
      expect_order(random.made[r], simulated.times[r]);
      expect_room(random.made[r], simulated.times[r]);
      for (std::size_t i = 0; i < random.made[r].size(); ++i)
        if (random.made[r][i].stream >= 2) {
          EXPECT_EQ(simulated.times[r][i][0].end, simulated.times[0][i][0].end) << "members end together";
        }
    }
    if (HasFailure()) return;
  }
}

TEST(RandomPrograms, TakeTheSameTimesEachTimeAndInPiecesOfAnySize) {
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    const Simulated whole = play(Maker(seed, 1000).make(), seed);
    for (const int piece : {1000, 7, 1}) {
      const Simulated again = play(Maker(seed, piece).make(), seed);
      EXPECT_EQ(again.times, whole.times);
      EXPECT_EQ(again.marks, whole.marks);
      EXPECT_EQ(again.end_ns, whole.end_ns);
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace underlap::sim
