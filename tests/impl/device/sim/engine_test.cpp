// SPDX-License-Identifier: Apache-2.0
#include "platform/errors.hpp"
#include "tests/impl/device/sim/world.hpp"

namespace underlap::sim {
namespace {

using Interval = World::Interval;

TEST(Engine, AStreamIsFifoAndAnEventOrdersTwo) {
  World world(1);
  RecordingDevice& d = world[0];
  const Stream a = d.create_stream("a");
  const Stream b = d.create_stream("b");
  d.launch(a, named("one"), kernel(10));
  const Event after_one = d.record(a);
  d.launch(a, named("two"), kernel(20));
  d.wait(b, after_one);
  d.launch(b, named("three"), kernel(5, {.sms = 0}));
  d.mark(b, 0, 7);
  world.times.limits_.sms = 1'000'000;
  const auto times = world.play();
  EXPECT_EQ(times.at("0 a one"), (Interval{0, 10}));
  EXPECT_EQ(times.at("0 a two"), (Interval{10, 30}));
  EXPECT_EQ(world.trace.marks.size(), 1U);
  ASSERT_EQ(world.trace.flows.size(), 2U);  // the event of `one`, and the multiprocessors of `two`
  EXPECT_EQ(world.trace.flows[0].kind, FlowKind::dependency);
  EXPECT_EQ(world.trace.flows[1].kind, FlowKind::resource);
  EXPECT_EQ(world.trace.end_ns(world.trace.flows[0].from), 10);
  EXPECT_EQ(world.trace.start_ns()[world.trace.flows[0].to], times.at("0 b three").start);
  EXPECT_EQ(world.trace.marks[0].time_ns, times.at("0 b three").end);
}

TEST(Engine, RecordsWhoseMultiprocessorsAnOperationTakes) {
  World world(1);
  RecordingDevice& d = world[0];
  const Stream a = d.create_stream("a"), b = d.create_stream("b");
  const Cost all{.sms = -100};
  d.launch(a, named("first"), kernel(30, all));
  d.launch(b, named("second"), kernel(20, all));
  EXPECT_EQ(world.play().at("0 b second").start, 30);
  ASSERT_EQ(world.trace.flows.size(), 1U);
  EXPECT_EQ(world.trace.end_ns(world.trace.flows[0].from), world.trace.start_ns()[world.trace.flows[0].to]);
}

// Graham's anomaly of list scheduling (1966): the device takes what is there first. `bulk`, which nothing waits for, is
// there once `before` is over; where that is soon enough, it has the device when `urgent` comes, which all else
// follows.
TEST(Engine, AFasterKernelMayTakeTheDeviceFromAMoreUrgentOne) {
  const auto end_with = [](double before_ns) {
    World world(1);
    RecordingDevice& d = world[0];
    const Stream a = d.create_stream("a"), b = d.create_stream("b");
    const Communicator dp = d.declare("dp", world.group(0));
    const Tensor x = d.allocate("x", DataType::f32, 100);
    const Cost few{.sms = -10}, all{.sms = -100};
    d.launch(a, named("before"), kernel(before_ns, few));
    d.launch(a, named("bulk"), kernel(100, all));
    d.launch(b, named("first"), kernel(20, few));
    d.launch(b, named("urgent"), kernel(10, all));
    d.wait(dp.stream, d.record(b));
    communicate(d, dp, "sum", {all_reduce_of(x)});
    return world.play().at("0 dp sum").end;
  };
  EXPECT_EQ(end_with(30), 30 + 10 + 400) << "urgent is there at 20, and bulk behind it";
  EXPECT_EQ(end_with(10), 20 + 100 + 10 + 400) << "bulk is there at 10";
}

TEST(Engine, RefusesWhatVirtualTimeCannotCount) {
  World operation(1), transfer(1), steps(1);
  operation[0].launch(operation[0].create_stream("a"), named("long"), kernel(1e16));
  EXPECT_THAT(operation.error(), AllOf(HasSubstr("rank 0: a: long takes 1e+16 ns"), HasSubstr("run.hardware")));
  communicate(transfer[0], transfer[0].declare("dp", transfer.group(0)), "sum",
              {all_reduce_of(transfer[0].allocate("x", DataType::f32, std::int64_t{1} << 52))});
  EXPECT_THAT(transfer.error(), HasSubstr("rank 0: dp: sum takes"));
  const Stream a = steps[0].create_stream("a");
  for (int i = 0; i < 3; ++i) steps[0].launch(a, named("long"), kernel(4e15));
  EXPECT_THAT(steps.error(), AllOf(HasSubstr("the limit of simulated time"), HasSubstr("104 days")));
}

TEST(Engine, ACollectiveMovesOnceItsLastMemberIsThere) {
  World world(3);
  world.record([&](RecordingDevice& d, const Group& group) {
    const Stream compute = d.create_stream("compute");
    const Communicator dp = d.declare("dp", group);
    const Tensor x = d.allocate("x", DataType::f32, 100);
    d.launch(compute, named("late"), kernel(10.0 * (group.my_index + 1)));
    d.wait(dp.stream, d.record(compute));
    communicate(d, dp, "sum", {all_reduce_of(x)});
  });
  const auto times = world.play();
  EXPECT_EQ(times.at("0 dp sum"), (Interval{10, 430}));
  EXPECT_EQ(times.at("1 dp sum"), (Interval{20, 430}));
  EXPECT_EQ(times.at("2 dp sum"), (Interval{30, 430}));
  for (std::size_t i = 0; i < world.trace.size(); ++i)
    if (const CommunicationRecord* record = world.trace.communication(i)) {
      EXPECT_EQ(record->last_arrival_ns, 30);
    }
}

TEST(Engine, AMessageWaitsForBothSides) {
  World world(2);
  world.record([&](RecordingDevice& d, const Group& group) {
    const Communicator pp = d.declare("pp", group);
    const Tensor x = d.allocate("x", DataType::f32, 25);
    if (group.my_index == 0) d.launch(pp.stream, named("before"), kernel(40));
    communicate(d, pp, "hop", {group.my_index == 0 ? send_to(1, flat(x)) : receive_from(0, flat(x))});
  });
  const auto times = world.play();
  EXPECT_EQ(times.at("0 pp hop"), (Interval{40, 140}));
  EXPECT_EQ(times.at("1 pp hop"), (Interval{0, 140}));
}

TEST(Engine, AHostThatIsSlowerThanItsDeviceShows) {
  World world(1);
  world.times.host_ = {.launch_ns = 30, .start_ns = 5};
  RecordingDevice& d = world[0];
  const Stream a = d.create_stream("a");
  d.launch(a, named("one"), kernel(10));
  d.launch(a, named("two"), kernel(10));
  d.launch(a, named("long"), kernel(100));
  d.launch(a, named("next"), kernel(10));
  const auto times = world.play();
  EXPECT_EQ(times.at("0 a one"), (Interval{35, 45}));
  EXPECT_EQ(times.at("0 a two"), (Interval{65, 75})) << "the device waits for the host";
  EXPECT_EQ(times.at("0 a next"), (Interval{195, 205})) << "under a long kernel the host runs ahead";
}

TEST(Engine, TheHostStopsWhereItSynchronizesAndWhereItsLaunchQueueIsFull) {
  for (const bool is_bounded : {false, true}) {
    World world(1);
    world.times.host_ = {.launch_ns = 1, .queue_depth = is_bounded ? 2 : 1000};
    RecordingDevice& d = world[0];
    const Stream a = d.create_stream("a");
    const Stream b = d.create_stream("b");
    d.launch(a, named("long"), kernel(1000, {.sms = -1}));
    const Event end = d.record(a);
    for (int i = 0; i < 3; ++i) d.launch(a, named("queued"), kernel(10, {.sms = -1}));
    d.launch(b, named("other"), kernel(10, {.sms = -1}));
    d.synchronize(end);
    d.launch(b, named("after"), kernel(10, {.sms = -1}));
    const auto times = world.play();
    EXPECT_EQ(times.at("0 b other").start, is_bounded ? 1012 : 5);
    EXPECT_EQ(times.at("0 b after").start, is_bounded ? 1022 : 1002);
  }
}

// Run ahead, the host's own work costs nothing; behind a synchronization the device waits for it.
TEST(Engine, TheFrameworksHostIsSeenWhereItStoodStill) {
  const auto play = [](const HostCosts& host, bool synchronizes) {
    World world(1);
    world.times.host_ = host;
    RecordingDevice& d = world[0];
    const Stream a = d.create_stream("a");
    d.launch(a, named("long"), kernel(1000));
    if (synchronizes) {
      d.synchronize();
      d.host_work(HostWork::synchronize);
    }
    d.host_work(HostWork::pass);
    d.launch(a, named("pass"), kernel(1000));
    return world.play().at("0 a pass").start;
  };
  const HostCosts host{.pass_ns = 70, .synchronize_ns = 5};
  EXPECT_EQ(play(host, false), 1000);
  EXPECT_EQ(play(host, true), 1075);
  EXPECT_EQ(play({}, true), 1000);
}

TEST(Engine, TheHostWaitsForANumberThatItReadsWhereThatIsDescribed) {
  const auto play = [](const HostCosts& host) {
    World world(1);
    world.times.host_ = host;
    RecordingDevice& d = world[0];
    const Stream a = d.create_stream("a"), b = d.create_stream("b");
    d.launch(a, named("norm"), kernel(500, {.sms = -1}));
    d.host_work(HostWork::synchronize, d.record(a));
    d.host_work(HostWork::iteration);
    d.launch(b, named("next"), kernel(10, {.sms = -1}));
    return world.play().at("0 b next").start;
  };
  EXPECT_EQ(play({}), 0);
  EXPECT_EQ(play({.iteration_ns = 40}), 40);
  EXPECT_EQ(play({.iteration_ns = 40, .synchronize_ns = 5, .synchronizes = true}), 545);
}

TEST(Engine, AHostThatIsGivenMoreAfterAPlayGoesOnFromItsEnd) {
  World world(1);
  world.times.host_ = {.launch_ns = 30};
  RecordingDevice& d = world[0];
  const Stream a = d.create_stream("a");
  Engine engine(world.times, {}, {[&d]() -> std::optional<Program> {
                  if (d.program().commands.empty()) return std::nullopt;
                  return d.take_program();
                }});
  d.launch(a, named("first"), kernel(1000));
  engine.play();
  EXPECT_EQ(engine.take_trace().end_ns(0), 1030);
  d.synchronize();
  d.launch(a, named("second"), kernel(10));
  engine.play();
  const Trace second = engine.take_trace();
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second.tracks.at(second.track(0)).name, "a");
  EXPECT_EQ(second.start_ns()[0], 1060) << "it was not known before 1030, and its launch costs 30";
}

// A resident transfer that holds some multiprocessors, beside a kernel on another stream.
World::Times beside_transfers(World& world, int sms, const Operation& operation, Priority priority = Priority::normal,
                              std::size_t copy_first_ns = 0) {
  world.record([&](RecordingDevice& d, const Group& group) {
    const Stream compute = d.create_stream("compute");
    const Communicator dp = d.declare("dp", group, {.sms = sms, .priority = priority});
    const Tensor x = d.allocate("x", DataType::f32, 250);
    const std::vector<std::byte> bytes(copy_first_ns);
    d.upload(dp.stream, named("before"), flat(d.allocate("y", DataType::u8, 500), 0, 500), bytes);
    communicate(d, dp, "sum", {all_reduce_of(x)});
    d.launch(compute, named("tiny"), kernel(1, {.sms = -1}));
    d.launch(compute, named("kernel"), operation);
  });
  return world.play();
}

TEST(Multiprocessors, AGemmBesideATransferNeedsMoreWaves) {
  World world(2);
  const auto times = beside_transfers(world, 24, waves(2000, 200));
  EXPECT_EQ(times.at("0 dp sum"), (Interval{0, 1000}));
  // Two waves of 100 alone. Beside it 76 fit, until the transfer is over at 1000: a wave of 76 from 1 to 1001, then 100
  // at once, then the last 24.
  EXPECT_EQ(times.at("0 compute kernel"), (Interval{1, 3001}));
}

TEST(Multiprocessors, WhatAKernelNeedsBeforeItsFirstWaveIsNotStretched) {
  World world(2);
  world.times.fixed_ns_ = 300;
  const auto times = beside_transfers(world, 50, waves(2300, 200));
  // 300 before the first wave, then waves of 50, 100 and 50 tiles of 1000 each: the transfer is over at 1000.
  EXPECT_EQ(times.at("0 compute kernel"), (Interval{1, 3301}));
}

TEST(Multiprocessors, APersistentKernelThatWantsAllWaitsBehindATransferUnlessAMarginIsLeft) {
  World all(2);
  EXPECT_EQ(beside_transfers(all, 16, kernel(500, {.sms = -100})).at("0 compute kernel"), (Interval{1000, 1500}));
  World margin(2);
  EXPECT_EQ(beside_transfers(margin, 16, kernel(500, {.sms = -84})).at("0 compute kernel"), (Interval{1, 501}));
}

TEST(Multiprocessors, ATransferOfNormalPriorityWaitsForTheTailOfARunningGemmOneOfHighPriorityForTheNextWave) {
  World normal(2);
  const auto late = beside_transfers(normal, 20, waves(3000, 250), Priority::normal, 500);
  EXPECT_EQ(late.at("0 dp sum").start, 2001) << "the third wave holds 50";
  EXPECT_EQ(late.at("0 compute kernel"), (Interval{1, 3001}));
  World high(2);
  const auto soon = beside_transfers(high, 20, waves(3000, 250), Priority::high, 500);
  EXPECT_EQ(soon.at("0 dp sum").start, 1001);
  EXPECT_EQ(soon.at("0 compute kernel"), (Interval{1, 3001})) << "100, 80, then the 70 that are left";
}

TEST(Multiprocessors, AKernelThatWaitsKeepsWhatIsFreeFromYoungerOnesButNotFromTransfersThatNeedNone) {
  World world(1);
  RecordingDevice& d = world[0];
  const auto launch = [&d](const char* name, int sms) {
    d.launch(d.create_stream(name), named("it"), kernel(100, {.sms = -sms}));
  };
  launch("runs", 60);
  launch("waits", 60);
  launch("would fit", 10);
  const Communicator dp = d.declare("dp", world.group(0), {.sms = 0});
  communicate(d, dp, "it", {all_reduce_of(d.allocate("x", DataType::f32, 5))});
  const auto times = world.play();
  EXPECT_EQ(times.at("0 waits it"), (Interval{100, 200}));
  EXPECT_EQ(times.at("0 would fit it"), (Interval{100, 200}));
  EXPECT_EQ(times.at("0 dp it"), (Interval{0, 20}));
}

// A wave that ends half a nanosecond from now, give or take a rounding: asking for the present would go on for ever.
TEST(Multiprocessors, TheEndOfAWaveIsNeverAskedForAtThePresent) {
  for (int half = 1; half < 3000; ++half) {
    SharedDevice device({.sms = 100, .hbm_bytes_per_ns = 1000});
    const double alone_ns = (half + 0.5) * 0.4 * 11 / 3;  // 11 waves of which 3 end there, at 0.4 of full speed
    device.add_kernel({.kind = KernelTime::Kind::waves,
                       .alone_ns = alone_ns,
                       .tiles = 1100,
                       .sms = 100,
                       .hbm_bytes = alone_ns * 1250},
                      Priority::normal);
    device.begin_flow(0, {.hbm = 1000});
    SharedDevice::Changes changes;
    device.advance(0, changes);
    device.add_transfers(60, Priority::high);
    for (int i = 0; i < 3; ++i) device.advance(half, changes);
    ASSERT_GT(device.next_event_ns(), half);
  }
}

TEST(Bandwidth, TwoThatFillTheMemoryShareItAndALightOneKeepsWhatItWants) {
  World world(1);
  RecordingDevice& d = world[0];
  const Stream a = d.create_stream("a");
  const Stream b = d.create_stream("b");
  d.launch(a, named("heavy"), kernel(100, {.bytes_read = 100'000, .sms = -10}));
  d.launch(b, named("light"), kernel(100, {.bytes_read = 20'000, .sms = -10}));
  const auto times = world.play();
  EXPECT_EQ(times.at("0 b light"), (Interval{0, 100}));
  EXPECT_EQ(times.at("0 a heavy"), (Interval{0, 120})) << "100 ns at 800 of 1000 bytes, the rest alone";
}

TEST(Bandwidth, TwoTransfersShareALink) {
  World world(2);
  world.record([&](RecordingDevice& d, const Group& group) {
    for (const char* purpose : {"one", "two"}) {
      const Communicator c = d.declare(purpose, group);
      const Tensor x = d.allocate("x", DataType::f32, purpose[0] == 'o' ? 25 : 50);
      communicate(d, c, "sum", {all_reduce_of(x)});
    }
  });
  const auto times = world.play();
  EXPECT_EQ(times.at("0 one sum"), (Interval{0, 200}));
  EXPECT_EQ(times.at("1 two sum"), (Interval{0, 300}));
}

TEST(Bandwidth, CopiesBeyondTheEnginesQueueUp) {
  World world(1);
  RecordingDevice& d = world[0];
  const std::vector<std::byte> bytes(100);
  for (const char* name : {"a", "b", "c"}) {
    const Stream s = d.create_stream(name);
    d.upload(s, named("copy"), flat(d.allocate("x", DataType::u8, 100)), bytes);
  }
  const auto times = world.play();
  EXPECT_EQ(times.at("0 b copy"), (Interval{0, 100}));
  EXPECT_EQ(times.at("0 c copy"), (Interval{100, 200}));
}

// Two transfers in turn beside compute, as a gradient reduction enqueues them: the second comes up while the first
// runs.
World::Times reductions_beside_compute(std::int32_t connections) {
  World world(2);
  world.record([&](RecordingDevice& d, const Group& group) {
    const Stream compute = d.create_stream("compute");
    const Communicator dp = d.declare("dp", group);
    const Tensor x = d.allocate("x", DataType::f32, 25);
    const auto step = [&](const char* backward, const char* reduce) {
      d.launch(compute, named(backward), kernel(50, {.sms = -10}));
      d.wait(dp.stream, d.record(compute));
      communicate(d, dp, reduce, {all_reduce_of(x)});
    };
    step("backward 0", "reduce 0");
    step("backward 1", "reduce 1");
    step("backward 2", "reduce 2");
  });
  return world.play({.connections = connections});
}

TEST(HardwareQueues, OneConnectionSerializesWhatEightDoNot) {
  const auto eight = reductions_beside_compute(8);
  EXPECT_EQ(eight.at("0 compute backward 2"), (Interval{100, 150}));
  EXPECT_EQ(eight.at("0 dp reduce 2"), (Interval{250, 350}));
  const auto one = reductions_beside_compute(1);
  EXPECT_EQ(one.at("0 compute backward 2"), (Interval{150, 200}))
      << "reduce 1 stands before it in the queue until reduce 0 is over";
}

TEST(Deadlock, EndsAtOnceAndNamesWhoWaitsForWhom) {
  World world(2);
  world.record([&](RecordingDevice& d, const Group& group) {
    const Stream compute = d.create_stream("compute");
    const Communicator dp = d.declare("dp", group);
    const Communicator tp = d.declare("tp", group);
    const Tensor x = d.allocate("x", DataType::f32, 25);
    const Transfer t = all_reduce_of(x);
    const Communicator& first = group.my_index == 0 ? dp : tp;
    const Communicator& second = group.my_index == 0 ? tp : dp;
    d.communicate(first, {.mode = Mode::dp, .purpose = intern("grad_all_reduce"), .bucket = 2, .step = 1}, {&t, 1});
    d.wait(second.stream, d.record(first.stream));
    communicate(d, second, "other", {t});
    d.wait(compute, d.record(second.stream));
  });
  EXPECT_THAT(world.error(),
              AllOf(HasSubstr("deadlock"), HasSubstr("rank 0 dp: grad_all_reduce bucket 2 step 1 waits for rank 1"),
                    HasSubstr("rank 1 tp: grad_all_reduce bucket 2 step 1 waits for rank 0"),
                    HasSubstr("rank 1 dp: wait for tp")));
}

TEST(Deadlock, MembersOfOneCollectiveThatMeanDifferentThingsAreNamed) {
  World world(2);
  world.record([&](RecordingDevice& d, const Group& group) {
    const Communicator dp = d.declare("dp", group);
    communicate(d, dp, "sum", {all_reduce_of(d.allocate("x", DataType::f32, 25 + group.my_index))});
  });
  EXPECT_THAT(world.error(), AllOf(HasSubstr("rank 0 dp: sum: all_reduce of 100 bytes of f32"),
                                   HasSubstr("rank 1 dp: sum: all_reduce of 104 bytes of f32")));
}

TEST(Deadlock, OfACallOnlyTheMessagesThatAreNotOverAreNamed) {
  World world(3);
  world.record([&](RecordingDevice& d, const Group& group) {
    if (group.my_index == 2) return;  // who has nothing to say
    const Communicator pp = d.declare("pp", group);
    const View x = flat(d.allocate("x", DataType::f32, 25));
    if (group.my_index == 0)
      communicate(d, pp, "hop", {send_to(1, x), send_to(2, x)});
    else
      communicate(d, pp, "hop", {receive_from(0, x)});
  });
  EXPECT_THAT(world.error(), AllOf(HasSubstr("after 100 ns"), HasSubstr("rank 0 pp: hop waits for rank 2"),
                                   Not(HasSubstr("waits for SMs"))));
}

// A command may stand where one that is long over stood in memory: how many lie between decides it.
TEST(Deadlock, WhatIsOverIsNotTakenForWhatStandsInItsPlace) {
  for (int num_between = 0; num_between < 60; ++num_between) {
    World world(2);
    RecordingDevice& d = world[0];
    const Communicator dp = d.declare("dp", world.group(0));
    const Stream other = d.create_stream("other");
    d.launch(dp.stream, named("short"), kernel(1, {.sms = -1}));
    d.launch(other, named("long"), kernel(5, {.sms = -1}));
    for (int i = 0; i < num_between; ++i) d.synchronize(), d.mark(dp.stream, 0, i);
    d.synchronize();
    communicate(d, dp, "sum", {all_reduce_of(d.allocate("x", DataType::f32, 25))});
    EXPECT_THAT(world.error(), HasSubstr("rank 0 dp: sum waits for rank 1")) << num_between;
  }
}

TEST(Jitter, StretchesByTheSeedAndIsTheSameEachTime) {
  const auto end = [](std::uint64_t seed) {
    World world(1);
    RecordingDevice& d = world[0];
    const Stream a = d.create_stream("a");
    d.launch(a, named("one"), kernel(1'000'000));
    return world.play({.jitter = 0.5, .seed = seed}).at("0 a one").end;
  };
  EXPECT_EQ(end(1), end(1));
  EXPECT_NE(end(1), end(2));
  EXPECT_GE(end(1), 1'000'000);
  EXPECT_LE(end(1), 1'500'000);
}

}  // namespace
}  // namespace underlap::sim
