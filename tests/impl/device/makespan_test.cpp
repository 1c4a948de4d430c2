// SPDX-License-Identifier: Apache-2.0
// Bounds of small programs whose every duration is given: by the name of an operation, or the elements of a transfer.
#include "impl/device/makespan.hpp"

#include <stdexcept>

#include "impl/device/recording_device.hpp"
#include "tests/impl/device/device_testing.hpp"
#include "tests/testing.hpp"

namespace underlap {
namespace {

// A rank with a compute stream, whose operations take as long as their cost says.
class Rank {
 public:
  explicit Rank(std::int32_t rank = 0, std::int32_t num_ranks = 2) : num_ranks_(num_ranks), rank_(rank) {
    compute = device.create_stream("compute");
    buffer_ = device.allocate("buffer", DataType::bf16, 1 << 20);
  }

  Communicator declare(const std::string& purpose) {
    return device.declare(purpose, testing_support::group_of(num_ranks_, rank_));
  }
  /// Two transfers that nothing orders, and compute behind both.
  void run_both(const std::string& purpose, Transfer first, const std::string& other, Transfer second,
                std::int64_t compute_ns) {
    const Communicator a = declare(purpose), b = declare(other);
    transfer(a, {first});
    transfer(b, {second});
    wait(compute, a.stream);
    wait(compute, b.stream);
    if (compute_ns > 0) compute_for(compute_ns);
  }
  void run(Stream stream, std::int64_t ns) { run(stream, ns, ns); }
  /// With `device_ns` of it needed of the whole device.
  void run(Stream stream, std::int64_t ns, std::int64_t device_ns) {
    static const NameId kName = intern("work");
    device.launch(stream, {.kind = Kind::compute, .purpose = kName},
                  Operation(kName, nullptr, Cost{.bytes_read = ns, .bytes_written = device_ns}, {}));
  }
  void compute_for(std::int64_t ns) { run(compute, ns); }
  /// Takes `ns`: a byte a nanosecond.
  void all_reduce(const Communicator& c, std::int64_t ns) { transfer(c, {part(Collective::all_reduce, ns)}); }
  void send(const Communicator& c, std::int32_t to, std::int64_t ns) { transfer(c, {part(Collective::send, ns, to)}); }
  void receive(const Communicator& c, std::int32_t from, std::int64_t ns) {
    transfer(c, {part(Collective::receive, ns, from)});
  }
  void transfer(const Communicator& c, const std::vector<Transfer>& transfers) {
    device.communicate(c, {.kind = Kind::communication, .purpose = intern("exchange")}, transfers);
  }
  Transfer part(Collective collective, std::int64_t ns, std::int32_t peer = -1) const {
    const View view = flat(buffer_, 0, ns / 2);
    Transfer t;
    t.collective = collective;
    t.peer = peer;
    if (collective != Collective::receive) t.input = view;
    if (collective != Collective::send) t.output = view;
    return t;
  }
  void wait(Stream stream, Stream awaited) { device.wait(stream, device.record(awaited)); }
  Program program() {
    device.mark(compute, 0, 0);
    return device.take_program();
  }

  RecordingDevice device{Detail::costs};
  Stream compute;

 private:
  std::int32_t num_ranks_;
  std::int32_t rank_;
  Tensor buffer_;
};

std::int64_t received(const Program& program, const ProgramCommand& command) {
  std::int64_t bytes = 0;
  for (const Transfer& t : program.transfers(command)) bytes += t.collective == Collective::send ? 0 : message_bytes(t);
  return bytes;
}
std::int64_t sent(const Program& program, const ProgramCommand& command) {
  std::int64_t bytes = 0;
  for (const Transfer& t : program.transfers(command))
    bytes += t.collective == Collective::receive ? 0 : message_bytes(t);
  return bytes;
}

StepBounds bounds_of(const std::vector<Program>& programs, std::int64_t latency_ns = 0) {
  return step_bounds(programs, [&](std::size_t p, const ProgramCommand& c) -> CommandTime {
    if (c.type != ProgramCommand::Type::communicate)
      return {.alone_ns = programs[p].cost(c).bytes_read, .device_ns = programs[p].cost(c).bytes_written};
    const std::int64_t out = sent(programs[p], c);
    const std::int64_t in = received(programs[p], c);
    const bool over_network = programs[p].communicators[c.communicator].purpose == "network";
    CommandTime time{.alone_ns = std::max(out, in) + latency_ns};
    time.links[over_network ? 1 : 0] = {.send_ns = out, .receive_ns = in};
    return time;
  });
}

TEST(ScheduleBound, TwoTransfersShareALinkInOneDirectionAlone) {
  Rank same, latent, directions, links;
  same.run_both("a", same.part(Collective::all_reduce, 10), "b", same.part(Collective::all_reduce, 10), 100);
  EXPECT_EQ(bounds_of({same.program()}).schedule_ns, 120) << "10 + 100 is the longest path";
  latent.run_both("a", latent.part(Collective::all_reduce, 10), "b", latent.part(Collective::all_reduce, 10), 0);
  EXPECT_EQ(bounds_of({latent.program()}, 100).schedule_ns, 110) << "latency does not fill the link";
  directions.run_both("out", directions.part(Collective::send, 10, 1), "in",
                      directions.part(Collective::receive, 10, 1), 0);
  EXPECT_EQ(bounds_of({directions.program()}).schedule_ns, 10);
  links.run_both("node", links.part(Collective::all_reduce, 10), "network", links.part(Collective::all_reduce, 16), 0);
  const StepBounds bounds = bounds_of({links.program()});
  EXPECT_EQ(bounds.schedule_ns, 16);
  EXPECT_EQ(bounds.ideal_ns, 16);
}

TEST(ScheduleBound, StaysBelowALinkThatServesTheUrgentFirst) {
  Rank rank;
  const Communicator bulk = rank.declare("bulk");
  const Communicator urgent = rank.declare("urgent");
  rank.all_reduce(bulk, 1000);
  rank.compute_for(10);
  rank.wait(urgent.stream, rank.compute);
  rank.all_reduce(urgent, 10);
  rank.wait(rank.compute, urgent.stream);
  rank.compute_for(2000);
  rank.wait(rank.compute, bulk.stream);
  EXPECT_EQ(bounds_of({rank.program()}).schedule_ns, 2020) << "in the order of readiness it would be 3010";
}

TEST(ScheduleBound, TwoComputeStreamsShareTheDevice) {
  Rank rank;
  const Stream second = rank.device.create_stream("second");
  rank.compute_for(10);
  rank.run(second, 10);
  rank.wait(rank.compute, second);
  EXPECT_EQ(bounds_of({rank.program()}).schedule_ns, 20);
}

TEST(ScheduleBound, EachForkIsServedBetweenItsEnds) {
  Rank rank;
  const Stream second = rank.device.create_stream("second");
  for (int i = 0; i < 2; ++i) {
    rank.run(rank.compute, 100, 50);
    rank.wait(second, rank.compute);
    rank.run(second, 60);
    rank.compute_for(60);
    rank.wait(rank.compute, second);
  }
  EXPECT_EQ(bounds_of({rank.program()}).schedule_ns, 440)
      << "380 where the first fork counts as its longest branch, 340 where what is before a fork may run beside it";
}

TEST(ScheduleBound, PacesCountAsWaits) {
  Rank rank;
  const Communicator a = rank.declare("a");
  rank.compute_for(7);
  rank.device.throttle(a.stream, rank.device.record(rank.compute));
  rank.all_reduce(a, 10);
  rank.wait(rank.compute, a.stream);
  EXPECT_EQ(bounds_of({rank.program()}).schedule_ns, 17);
}

// As behind a batched exchange: no stream waits, because the host did.
TEST(ScheduleBound, WhatTheHostWaitsForHoldsUpAllThatItEnqueuesLater) {
  const auto rank = [](bool waits_for_all) {
    Rank r;
    const Communicator a = r.declare("a");
    r.compute_for(7);
    const Event computed = r.device.record(r.compute);
    r.all_reduce(a, 10);
    waits_for_all ? r.device.synchronize() : r.device.synchronize(computed);
    r.compute_for(20);
    return r.program();
  };
  EXPECT_EQ(bounds_of({rank(true)}).schedule_ns, 30) << "ten of the transfer, then twenty";
  EXPECT_EQ(bounds_of({rank(false)}).schedule_ns, 27);
}

TEST(ScheduleBound, WhatNoMarkWaitsForIsTheNextSteps) {
  Rank rank;
  const Communicator a = rank.declare("a");
  rank.compute_for(7);
  rank.all_reduce(a, 1000);
  const StepBounds bounds = bounds_of({rank.program()});
  EXPECT_EQ(bounds.schedule_ns, 7);
  EXPECT_EQ(bounds.ideal_ns, 7);
}

// Computes, reduces with the other rank, computes.
Program compute_and_reduce(std::int32_t rank, std::int64_t before, std::int64_t after) {
  Rank r(rank);
  const Communicator c = r.declare("dp");
  r.compute_for(before);
  r.wait(c.stream, r.compute);
  r.all_reduce(c, 10);
  r.wait(r.compute, c.stream);
  r.compute_for(after);
  return r.program();
}

// Of steps that follow one another: what a rank is late in one step it is early in the next.
TEST(ScheduleBound, RanksThatBeginApartCountFromTheirOwnStarts) {
  EXPECT_EQ(bounds_of({compute_and_reduce(0, 5, 100), compute_and_reduce(1, 50, 1)}).schedule_ns, 115);
  EXPECT_EQ(bounds_of({compute_and_reduce(0, 5, 100)}).schedule_ns, 115) << "alone, the peer is where this rank is";
}

TEST(ScheduleBound, TransfersThatAwaitTheSamePeerFollowOneAnother) {
  const auto reduce_twice = [](std::int32_t rank, std::int64_t before) {
    Rank r(rank);
    const std::vector<Communicator> both{r.declare("a"), r.declare("b")};
    r.compute_for(before);
    for (const Communicator& c : both) r.wait(c.stream, r.compute);
    for (const Communicator& c : both) r.all_reduce(c, 10);
    for (const Communicator& c : both) r.wait(r.compute, c.stream);
    r.compute_for(50 - before);
    return r.program();
  };
  EXPECT_EQ(bounds_of({reduce_twice(0, 1), reduce_twice(1, 50)}).schedule_ns, 50 + 10 + 10);
}

TEST(ScheduleBound, AReceiveWaitsForItsSendAndASendForItsReceive) {
  const auto stage = [](std::int32_t rank, std::int64_t before, std::int64_t after) {
    Rank r(rank);
    const Communicator c = r.declare("forward");
    r.compute_for(before);
    r.wait(c.stream, r.compute);
    rank == 0 ? r.send(c, 1, 10) : r.receive(c, 0, 10);
    r.wait(r.compute, c.stream);
    r.compute_for(after);
    return r.program();
  };
  // There and back: the answer cannot come before the question.
  const auto asks = [](std::int64_t before, std::int64_t after) {
    Rank r(0);
    const Communicator there = r.declare("there"), back = r.declare("back");
    r.compute_for(before);
    r.wait(there.stream, r.compute);
    r.send(there, 1, 10);
    r.receive(back, 1, 10);
    r.wait(r.compute, back.stream);
    r.compute_for(after);
    return r.program();
  };
  const auto answers = [](std::int64_t ns) {
    Rank r(1);
    const Communicator there = r.declare("there"), back = r.declare("back");
    r.receive(there, 0, 10);
    r.wait(r.compute, there.stream);
    r.compute_for(ns);
    r.wait(back.stream, r.compute);
    r.send(back, 0, 10);
    return r.program();
  };
  EXPECT_EQ(bounds_of({asks(50, 7), answers(30)}).schedule_ns, 50 + 10 + 30 + 10 + 7);
  EXPECT_EQ(bounds_of({stage(0, 50, 0), stage(1, 1, 30)}).schedule_ns, 60) << "one way: each from its own start";
  EXPECT_EQ(bounds_of({stage(1, 1, 30)}).schedule_ns, 41);
}

// A pipeline of `stages` in one direction: microbatch m of a stage follows that of the stage before it.
Program pipeline_stage(std::int32_t rank, std::int32_t stages, std::int32_t microbatches) {
  Rank r(rank, stages);
  const Communicator in = r.declare("even");
  const Communicator out = r.declare("odd");
  const Communicator& receives = rank % 2 == 1 ? in : out;
  const Communicator& sends = rank % 2 == 1 ? out : in;
  for (std::int32_t m = 0; m < microbatches; ++m) {
    if (rank > 0) {
      r.receive(receives, rank - 1, 4);
      r.wait(r.compute, receives.stream);
    }
    r.compute_for(100);
    r.wait(sends.stream, r.compute);
    if (rank + 1 < stages) r.send(sends, rank + 1, 4);
  }
  return r.program();
}

TEST(ScheduleBound, APipelineInOneDirectionIsFilledByTheStepBefore) {
  std::vector<Program> programs;
  for (std::int32_t rank = 0; rank < 4; ++rank) programs.push_back(pipeline_stage(rank, 4, 6));
  const StepBounds bounds = bounds_of(programs);
  EXPECT_EQ(bounds.schedule_ns, 600 + 4) << "its first microbatch's transfer, then six passes";
  EXPECT_EQ(bounds.ideal_ns, 600);
}

TEST(ScheduleBound, ARingHopNeedsBothNeighbors) {
  const auto hop = [](std::int32_t rank, std::int64_t before) {
    Rank r(rank, 3);
    const Communicator c = r.declare("ring");
    r.compute_for(before);
    r.wait(c.stream, r.compute);
    r.transfer(c, {r.part(Collective::send, 10, (rank + 1) % 3), r.part(Collective::receive, 10, (rank + 2) % 3)});
    r.wait(r.compute, c.stream);
    return r.program();
  };
  EXPECT_EQ(bounds_of({hop(0, 1), hop(1, 2), hop(2, 30)}).schedule_ns, 40);
}

TEST(IdealBound, IsTheBusiestRankOrLink) {
  EXPECT_EQ(bounds_of({compute_and_reduce(0, 5, 100), compute_and_reduce(1, 50, 1)}).ideal_ns, 105);
  Rank rank;
  const Communicator a = rank.declare("a");
  const Communicator b = rank.declare("b");
  for (const Communicator& c : {a, b, a}) rank.all_reduce(c, 10);
  rank.compute_for(20);
  for (const Communicator& c : {a, b}) rank.wait(rank.compute, c.stream);
  EXPECT_EQ(bounds_of({rank.program()}, 1000).ideal_ns, 30) << "without latency";
}

TEST(StepBounds, RefusesProgramsThatDoNotFit) {
  const auto expect_refused = [](const std::vector<Program>& programs, const char* why) {
    EXPECT_THAT([&] { bounds_of(programs); }, ThrowsMessage<std::invalid_argument>(HasSubstr(why)));
  };
  Rank alone(1);
  const Communicator c = alone.declare("dp");
  alone.wait(alone.compute, c.stream);
  expect_refused({compute_and_reduce(0, 1, 1), alone.program()}, "exchange of rank 0 has no matching call");
  expect_refused({compute_and_reduce(0, 1, 1), compute_and_reduce(0, 1, 1)}, "rank 0 has two programs");
  RecordingDevice unmarked;
  unmarked.create_stream("compute");
  expect_refused({unmarked.take_program()}, "without a mark");
  const auto sends_first = [](std::int32_t rank) {
    Rank r(rank);
    const Communicator pp = r.declare("pp");
    r.send(pp, 1 - rank, 10);
    r.receive(pp, 1 - rank, 10);
    return r.program();
  };
  expect_refused({sends_first(0), sends_first(1)}, "in a cycle");
}

}  // namespace
}  // namespace underlap
