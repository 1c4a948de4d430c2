// SPDX-License-Identifier: Apache-2.0
#include "impl/device/sim/time_alone.hpp"

#include "impl/device/sim/machine.hpp"
#include "tests/impl/device/sim/hardware_files.hpp"
#include "tests/impl/device/sim/world.hpp"

namespace underlap::sim {
namespace {

constexpr std::int64_t kAloneBytes = 100'000;  // 1000 ns of a link inside a node, after a latency of 500

// One rank of eight with two compute streams and a communicator of them all. `program()` ends with a mark.
struct Bounded : testing::Test {
  void SetUp() override {
    Hardware hardware = test::round_hardware();
    hardware.node.p2p_nvlink_latency_us.value = 0.5;
    hardware.node.nvlink_gb_per_s.value = 125;
    machine = std::make_unique<CostModel>(hardware);
    main = device.create_stream("compute");
    second = device.create_stream("second");
    third = device.create_stream("third");
    tp = device.declare("tp", {.members = {0, 1, 2, 3, 4, 5, 6, 7}, .my_index = 0});
    buffer = device.allocate("buffer", DataType::u8, 2'000'000);
  }

  Transfer message(Collective kind, std::int32_t peer, std::int64_t bytes = kAloneBytes) const {
    Transfer t{.collective = kind, .input = {}, .output = {}, .peer = peer};
    (kind == Collective::send ? t.input : t.output) = flat(buffer, 0, bytes);
    return t;
  }
  CommandTime of(const std::vector<Transfer>& call) {
    device.communicate(tp, named("call"), call);
    const Program program = device.take_program();
    return TimesAlone(*machine, program).of(program.commands.back());
  }
  void gemm(Stream stream, std::int64_t tiles) {
    const Cost cost{.bytes_read = 1, .work = Work::gemm, .extent = {100 * tiles, 100, 500}};
    device.launch(stream, named("gemm"), Operation(intern("gemm"), do_nothing, cost, {}));
  }
  void join(Stream stream, Stream awaited) { device.wait(stream, device.record(awaited)); }
  StepBounds bounds() {
    device.mark(main, 0, 0);
    const Program program = device.take_program();
    return step_bounds({&program, 1}, [&](std::size_t, const ProgramCommand& command) {
      return TimesAlone(*machine, program).of(command);
    });
  }

  RecordingDevice device;
  std::unique_ptr<TimeModel> machine;
  Stream main, second, third;
  Communicator tp;
  Tensor buffer;
};

TEST_F(Bounded, AHopTakesItsTimeOnceAndFillsEachDirectionAtTheLineRate) {
  const CommandTime hop = of({message(Collective::send, 1), message(Collective::receive, 7)});
  EXPECT_EQ(hop.alone_ns, 1500);
  EXPECT_EQ(hop.links[0].send_ns, 800);
  EXPECT_EQ(hop.links[0].receive_ns, 800);
  EXPECT_EQ(hop.device_ns, 0);
}

TEST_F(Bounded, AMessageFillsOneDirectionOnly) {
  const CommandTime send = of({message(Collective::send, 1)});
  EXPECT_EQ(send.links[0].send_ns, 800);
  EXPECT_EQ(send.links[0].receive_ns, 0);
  const CommandTime receive = of({message(Collective::receive, 3)});
  EXPECT_EQ(receive.links[0].send_ns, 0);
  EXPECT_EQ(receive.links[0].receive_ns, 800);
}

TEST_F(Bounded, MessagesOfOneCallMoveAtOnceUntilTheLinkIsFull) {
  const CommandTime uneven = of({message(Collective::send, 1), message(Collective::receive, 7, kAloneBytes / 2)});
  EXPECT_EQ(uneven.alone_ns, 1500);
  EXPECT_EQ(uneven.links[0].receive_ns, 400);
  std::vector<Transfer> all;
  for (std::int32_t peer = 1; peer < 8; ++peer) all.push_back(message(Collective::send, peer));
  EXPECT_EQ(of(all).alone_ns, 7 * 800) << "one alone would take 1500";
}

TEST_F(Bounded, ATransferThatIsMeasuredFasterThanTheLineFillsItNoLongerThanItTakes) {
  Hardware hardware = test::round_hardware();
  hardware.node.nvlink_gb_per_s.value = 50;  // at which the bytes on the wire would take 1750 ns
  machine = std::make_unique<CostModel>(hardware);
  const Transfer gather{.collective = Collective::all_gather,
                        .input = flat(buffer, 0, kAloneBytes / 8),
                        .output = flat(buffer, 0, kAloneBytes)};
  const CommandTime time = of({gather});
  EXPECT_EQ(time.alone_ns, 875);
  EXPECT_EQ(time.links[0].send_ns, 875);
}

TEST_F(Bounded, SendsOnOneCommunicatorAndReceivesOnAnotherDoNotDisturbEachOther) {
  const Communicator back = device.declare("back", {.members = {0, 1, 2, 3, 4, 5, 6, 7}, .my_index = 0});
  for (int i = 0; i < 10; ++i) {
    communicate(device, tp, "out", {message(Collective::send, 1)});
    communicate(device, back, "in", {message(Collective::receive, 7)});
  }
  join(main, tp.stream);
  join(main, back.stream);
  const StepBounds b = bounds();
  EXPECT_EQ(b.schedule_ns, 10 * 1500);
  EXPECT_EQ(b.ideal_ns, 10 * 800);
}

TEST_F(Bounded, ThreeStreamsOfGemmsAreOneDevice) {
  join(second, main);
  join(third, main);
  for (const Stream stream : {main, second, third}) gemm(stream, 140);  // alone two waves of 10 us each
  join(main, second);
  join(main, third);
  const StepBounds b = bounds();
  EXPECT_EQ(b.ideal_ns, 42'000);
  EXPECT_EQ(b.schedule_ns, 42'000) << "not the 20,000 of one, nor the 60,000 of one after the other";
}

// Four GEMMs of 10 us on two streams in turn, each but the first waiting for the hop that brings its rows.
TEST_F(Bounded, ARingIsItsGemmsWhereHopsAreShorterElseItsHopsAndTheLastGemm) {
  const auto ring = [&](std::int64_t bytes) {
    const std::vector<Transfer> hop{message(Collective::send, 1, bytes), message(Collective::receive, 7, bytes)};
    join(tp.stream, main);
    join(second, main);
    for (int i = 0; i < 4; ++i) {
      const Stream stream = i % 2 == 0 ? main : second;
      if (i > 0) join(stream, tp.stream);
      if (i < 3) device.communicate(tp, named("hop"), hop);
      gemm(stream, 100);
    }
    join(main, second);
    return bounds();
  };
  EXPECT_EQ(ring(kAloneBytes).schedule_ns, 40'000) << "hops of 1500";
  EXPECT_EQ(ring(kAloneBytes).ideal_ns, 40'000);
  EXPECT_EQ(ring(2'000'000).schedule_ns, 3 * 20'500 + 10'000);
  EXPECT_EQ(ring(2'000'000).ideal_ns, 3 * 16'000) << "what the link carries, without latency";
}

// No engine is faster than the bound of what it plays, whatever shares the machine.
TEST(TimeAlone, IsNeverAboveWhatTheEnginePlays) {
  for (const std::int32_t n : {2, 4, 8})
    for (const std::int64_t kilobytes : {1, 100, 3000})
      for (const bool copy_engine : {false, true}) {
        World world(n);
        Hardware hardware = test::round_hardware();
        hardware.node.p2p_nvlink_latency_us.value = 0.5;
        hardware.node.p2p_sms.value = 8;
        hardware.gpu.kernel_overhead_us.value = 1;
        world.machine = std::make_unique<CostModel>(hardware);
        std::vector<Program> programs;
        for (std::int32_t r = 0; r < n; ++r) {
          RecordingDevice& d = world[static_cast<std::size_t>(r)];
          const std::vector<Stream> streams{d.create_stream("a"), d.create_stream("b"), d.create_stream("c")};
          const Communicator tp = d.declare("tp", world.group(r), {.copy_engine = copy_engine});
          const Tensor x = d.allocate("x", DataType::u8, 2 * kilobytes * 1000);
          const View mine = flat(x, 0, kilobytes * 1000), other = flat(x, kilobytes * 1000, kilobytes * 1000);
          const std::vector<Transfer> hop{send_to((r + 1) % n, mine), receive_from((r + n - 1) % n, other)};
          for (std::int32_t i = 0; i < n; ++i) {
            const Stream stream = streams[static_cast<std::size_t>(i % 3)];
            if (i > 0) d.wait(stream, d.record(tp.stream));
            if (i + 1 < n) d.communicate(tp, named("hop"), hop);
            const Cost cost{.bytes_read = 500'000, .work = Work::gemm, .extent = {700, 1900, 500}};
            d.launch(stream, named("gemm"), Operation(intern("gemm"), do_nothing, cost, {}));
          }
          for (const Stream s : {streams[1], streams[2]}) d.wait(streams[0], d.record(s));
          d.mark(streams[0], 0, 0);
          programs.push_back(d.program());
        }
        const StepBounds b = step_bounds(programs, [&](std::size_t p, const ProgramCommand& command) {
          return TimesAlone(*world.machine, programs[p]).of(command);
        });
        world.play();
        EXPECT_LE(b.ideal_ns, b.schedule_ns);
        EXPECT_LE(b.schedule_ns, world.trace.marks.at(0).time_ns) << n << " ranks, " << kilobytes << " kB";
      }
}

}  // namespace
}  // namespace underlap::sim
