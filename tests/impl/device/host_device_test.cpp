// SPDX-License-Identifier: Apache-2.0
#include "impl/device/host/host_device.hpp"

#include <numeric>

#include "kernels/bf16.hpp"
#include "platform/errors.hpp"
#include "tests/impl/device/device_behaviors.hpp"
#include "tests/impl/device/ranks.hpp"

namespace underlap::host {
namespace {

using namespace testing_support;  // NOLINT
using namespace std::chrono_literals;

void slow_fill(const Arguments& a) {
  std::this_thread::sleep_for(30ms);
  std::fill_n(a[0].as<float>(), a[0].cols, 7.0F);
}
void write_behind_the_end(const Arguments& a) { a[0].as<float>()[a[0].cols] = 1; }
void write_an_input(const Arguments& a) { a[0].as<float>()[0] = 1; }
void throw_something(const Arguments&) { throw std::runtime_error("the kernel met a bad shape"); }

template <class Program>
void run_one(Program program) {
  Ranks(1).run([&](HostDevice& device, const Group&) { program(device); });
}

TEST(HostDevice, RunsAStreamInOrder) { run_one(expect_a_stream_in_order); }

TEST(HostDevice, AnEventOrdersTwoStreams) {
  run_one([](HostDevice& device) { expect_an_event_to_order_two_streams(device, slow_fill); });
}

TEST(HostDevice, RecordsADependencyForEachWait) {
  run_one([](HostDevice& device) {
    const Stream producer = device.create_stream("producer");
    const Stream consumer = device.create_stream("consumer");
    const Tensor x = device.allocate("x", DataType::f32, 4);
    const Tensor y = device.allocate("y", DataType::f32, 4);
    device.begin();
    device.recorder().reserve(8);
    device.launch(producer, {}, add_one_to(flat(x)));
    device.launch(producer, {}, operation_of(slow_fill, {{flat(x), Access::out}}));
    device.wait(consumer, device.record(producer));
    device.launch(consumer, {}, copy_of(flat(x), flat(y)));
    device.synchronize();
    const Trace trace = device.recorder().drain().trace;
    EXPECT_THAT(trace.flows, ElementsAre(Flow{1, 2, FlowKind::dependency}));
    EXPECT_GE(trace.start_ns()[2], trace.end_ns(1));
  });
}

TEST(HostDevice, SynchronizeOnAnEventWaitsForWhatCameBeforeItAlone) {
  run_one([](HostDevice& device) {
    const auto [stream, x] = begin_with_stream(device, 1);
    device.launch(stream, {}, operation_of(slow_fill, {{flat(x), Access::out}}));
    device.synchronize(device.record(stream));
    EXPECT_THAT(read(device, x), ElementsAre(7.0F));
    device.synchronize();
  });
}

TEST(HostDevice, RefusesOverlappingUsesAndViewsOutsideTheirTensor) { run_one(expect_wrong_uses_to_be_refused); }

TEST(HostDevice, GuardedViewsCatchUndeclaredWrites) {
  for (const CpuImplementation form : {write_behind_the_end, write_an_input}) {
    const std::string error = Ranks(1, {.guard_views = true}).run_and_catch([&](HostDevice& device, const Group&) {
      const auto [stream, x] = begin_with_stream(device, 8);
      const Access access = form == write_an_input ? Access::in : Access::inout;
      device.launch(stream, {}, operation_of(form, {{flat(x, 0, 4), access}}));
      device.synchronize();
    });
    EXPECT_THAT(error, AllOf(HasSubstr("test operation"), HasSubstr("outside what it declared")));
  }
}

class Collectives : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(GroupSizes, Collectives, testing::Values(1, 2, 3, 4));

TEST_P(Collectives, MoveEveryPiece) { Ranks(GetParam()).run(expect_every_piece_of_every_collective_to_move); }

TEST_P(Collectives, MoveFp8ByteForByteAndRefuseItsSums) {
  Ranks(GetParam()).run([](HostDevice& device, const Group& group) {
    const Communicator dp = device.declare("dp", group);
    const Tensor x = device.allocate("x", DataType::f8e5m2, 3 * std::ssize(group.members));
    device.begin();
    expect_fp8_to_move_byte_for_byte(device, dp, group, x);
    const View mine = flat(x, 3 * group.my_index, 3);
    EXPECT_THAT(
        [&] {
          communicate(device, dp, {{.collective = Collective::reduce_scatter, .input = flat(x), .output = mine}});
        },
        ThrowsMessage<std::invalid_argument>(HasSubstr("f8e5m2 is not summed")));
    EXPECT_THROW(communicate(device, dp, {all_reduce_of(mine)}), std::invalid_argument);
  });
}

TEST_P(Collectives, ReduceScatterInPlaceSumsInRankOrder) {
  const int n = GetParam();
  Ranks(n).run([n](HostDevice& device, const Group& group) {
    const auto [dp, x] = begin_with_communicator(device, group, "dp", 5 * n);
    std::vector<float> values(static_cast<std::size_t>(5 * n));
    std::iota(values.begin(), values.end(), 100.0F * static_cast<float>(group.my_index));
    fill(device, dp.stream, x, values);
    communicate(
        device, dp,
        {{.collective = Collective::reduce_scatter, .input = flat(x), .output = flat(x, 5 * group.my_index, 5)}});
    device.synchronize();
    const float ranks_sum = 100.0F * static_cast<float>(n * (n - 1) / 2);
    for (int i = 0; i < 5; ++i) {
      const int at = 5 * group.my_index + i;
      EXPECT_EQ(read(device, x)[static_cast<std::size_t>(at)], ranks_sum + static_cast<float>(n * at));
    }
  });
}

TEST(HostDevice, BytesOnTheWireAreWhatTheGroupSizeImplies) {
  Ranks(4).run([](HostDevice& device, const Group& group) {
    const Communicator dp = device.declare("dp", group);
    const Tensor x = device.allocate("x", DataType::bf16, 400);
    device.begin();
    const Transfer transfer{
        .collective = Collective::reduce_scatter, .input = flat(x), .output = flat(x, 100 * group.my_index, 100)};
    device.recorder().reserve(10);
    communicate(device, dp, {transfer});
    device.synchronize();
    const Trace trace = device.recorder().drain().trace;
    ASSERT_EQ(trace.size(), 1U);
    EXPECT_EQ(trace.communication(0)->bytes_on_wire(), 600);
    EXPECT_EQ(bytes_on_wire(transfer, 4), 600);
    EXPECT_EQ(trace.communication(0)->transfers[0].bytes, 800);
  });
}

TEST(HostDevice, AllMembersAgreeOnTheLastArrivalAndItIsTheLatePeers) {
  Ranks ranks(2);
  std::array<std::int64_t, 2> last_arrival{};
  std::int64_t late_rank_was_busy_until = 0;
  ranks.run([&](HostDevice& device, const Group& group) {
    const auto me = static_cast<std::size_t>(group.my_index);
    const auto [dp, x] = begin_with_communicator(device, group, "dp", 64);
    device.recorder().reserve(10);
    if (me == 1) device.launch(dp.stream, {}, operation_of(slow_fill, {{flat(x), Access::out}}));
    all_reduce(device, dp, x);
    device.synchronize();
    const Trace trace = device.recorder().drain().trace;
    last_arrival[me] = trace.communication(trace.size() - 1)->last_arrival_ns;
    if (me == 1) late_rank_was_busy_until = trace.end_ns(0);
  });
  EXPECT_EQ(last_arrival[0], last_arrival[1]);
  EXPECT_GE(last_arrival[0], late_rank_was_busy_until);
}

TEST(HostDevice, APacedTransferTakesTheTimeOfItsLinkOnTheVirtualLedger) {
  TokenBucket bucket(8.0);  // one byte a nanosecond
  const TimePoint start{1s};
  EXPECT_EQ(bucket.take(1000, start), start + 1000ns);
  EXPECT_EQ(bucket.take(500, start), start + 1500ns) << "a transfer beside the first shares the rate";
  EXPECT_EQ(bucket.take(100, start + 5000ns), start + 5100ns) << "an idle link starts at the arrival";
}

TEST(HostDevice, RefusesATransferThatItsLinkCannotCarryBeforeTheDeadline) {
  Ranks ranks(2, {.link = {.gbit_per_s = 1e-6}}, 2s);
  const std::string error = ranks.run_and_catch([](HostDevice& device, const Group& group) {
    const auto [dp, x] = begin_with_communicator(device, group, "dp", 1 << 20);
    const Transfer t = all_reduce_of(flat(x));
    device.communicate(dp, {.purpose = intern("sum")}, {&t, 1});
    device.synchronize();
  });
  EXPECT_THAT(error, AllOf(HasSubstr("sum (all_reduce) of 4.2 MB would take 3.36e+04 s"),
                           HasSubstr("run.link_gbps 1e-06"), HasSubstr("run.peer_timeout_s 2")));
}

TEST(Link, StopsPacingWhereAllIsGivenUp) {
  Link link({.gbit_per_s = 1e-6, .latency = 24h});
  int asked = 0;
  link.pace(1 << 30, 1 << 30, std::chrono::steady_clock::now() - 1h, [&] { return ++asked > 1; });
  EXPECT_EQ(asked, 2);
}

TEST(Link, SaysHowLongATransferTakes) {
  EXPECT_DOUBLE_EQ(Link({.gbit_per_s = 8, .latency = 500ms}).seconds_for(2'000'000'000), 2.5);
  EXPECT_DOUBLE_EQ(Link({.gbit_per_s = 0, .latency = 500ms}).seconds_for(2'000'000'000), 0.5);
}

TEST(HostDevice, ARankThatThrowsIsNamedFirstAndTakesItsPeersDown) {
  Ranks ranks(3, {}, 20s);
  const auto started = std::chrono::steady_clock::now();
  const std::string error = ranks.run_and_catch([](HostDevice& device, const Group& group) {
    const auto [dp, x] = begin_with_communicator(device, group, "dp", 64);
    if (group.my_index == 2) device.launch(dp.stream, {}, operation_of(throw_something, {{flat(x), Access::inout}}));
    all_reduce(device, dp, x);
    device.synchronize();
  });
  EXPECT_THAT(error, AllOf(HasSubstr("rank 2"), HasSubstr("the kernel met a bad shape")));
  EXPECT_LT(std::chrono::steady_clock::now() - started, 20s) << "the peers did not run into their own deadline";
}

TEST(HostDevice, APeerThatNeverComesIsNamedAtTheDeadline) {
  const std::string error = Ranks(2, {}, 5000ms).run_and_catch([](HostDevice& device, const Group& group) {
    const auto [dp, x] = begin_with_communicator(device, group, "grad_reduce", 64);
    if (group.my_index == 1) return device.synchronize();
    const Transfer transfer = all_reduce_of(flat(x));
    for (int i = 0; i < 3; ++i)
      device.communicate(dp, {.kind = Kind::communication, .purpose = intern("grad_all_reduce")}, {&transfer, 1});
    device.synchronize();
  });
  EXPECT_THAT(error, AllOf(HasSubstr("rank 0"), HasSubstr("grad_all_reduce"), HasSubstr("sequence 0"),
                           HasSubstr("with rank 1"), HasSubstr("5000 ms")));
}

TEST(HostDevice, AnEventOnAFailedDeviceThrowsInsteadOfPassing) {
  const std::string error = Ranks(1).run_and_catch([](HostDevice& device, const Group&) {
    const auto [stream, x] = begin_with_stream(device, 4);
    const std::array<float, 4> zeros{};
    device.upload(stream, {}, flat(x), std::as_bytes(std::span(zeros)));
    device.launch(stream, {}, operation_of(throw_something, {{flat(x), Access::inout}}));
    const Event after = device.record(stream);
    EXPECT_ANY_THROW(device.synchronize(after));
    device.launch(stream, {}, add_one_to(flat(x)));
    EXPECT_ANY_THROW(device.synchronize());
    EXPECT_THAT(read(device, x), Each(0.0F)) << "what follows a failure is passed over";
  });
  EXPECT_THAT(error, HasSubstr("the kernel met a bad shape"));
}

TEST(HostDevice, ARankThatFailsBeforeItConnectsReleasesThoseWhoWaitForIt) {
  Ranks ranks(3, {}, 60s);
  const auto started = std::chrono::steady_clock::now();
  const std::string error = ranks.run_and_catch([](HostDevice& device, const Group& group) {
    device.declare("dp", group);
    if (group.my_index == 1) throw std::invalid_argument("no data file");
    device.begin();
  });
  EXPECT_EQ(error, "rank 1: no data file");
  EXPECT_LT(std::chrono::steady_clock::now() - started, 60s) << "nobody ran into a deadline";
}

TEST(HostDevice, AMemberThatDoesNotConnectIsNamed) {
  const std::string error = Ranks(3, {}, 200ms).run_and_catch([](HostDevice& device, const Group& group) {
    device.declare("grad_reduce", group);
    if (group.my_index != 2) device.begin();
  });
  EXPECT_THAT(error, AllOf(HasSubstr("grad_reduce"), HasSubstr("waited 200 ms for rank 2")));
}

TEST(HostDevice, RefusesToBeBuiltUpOnceItHasBegun) {
  Ranks(1).run([](HostDevice& device, const Group& group) {
    device.begin();
    EXPECT_THROW(device.create_stream("late"), std::logic_error);
    EXPECT_THROW(device.allocate("late", DataType::f32, 1), std::logic_error);
    EXPECT_THROW(device.declare("late", group), std::logic_error);
  });
}

TEST(HostDevice, ARankThatFailsAtAnyMomentIsNamedAndNothingHangs) {
  for (int round = 0; round < 24; ++round) {
    const int failing_rank = round % 3;
    const std::string error = Ranks(3, {}, 60s).run_and_catch([&](HostDevice& device, const Group& group) {
      const Stream compute = device.create_stream("compute");
      const auto [dp, x] = begin_with_communicator(device, group, "dp", 30'000);
      for (int i = 0; i < 12; ++i) {
        if (group.my_index == failing_rank && i == round / 2)
          device.launch(round % 2 == 0 ? compute : dp.stream, {},
                        operation_of(throw_something, {{flat(x), Access::inout}}));
        device.wait(dp.stream, device.record(compute));
        all_reduce(device, dp, x);
        device.wait(compute, device.record(dp.stream));
      }
      device.synchronize();
    });
    EXPECT_EQ(error, "rank " + std::to_string(failing_rank) + ": the kernel met a bad shape") << round;
  }
}

TEST(HostDevice, CountsSlicesThatFindNoSlot) {
  run_one([](HostDevice& device) {
    const auto [stream, x] = begin_with_stream(device, 3);
    device.recorder().reserve(2);
    for (int i = 0; i < 5; ++i) device.launch(stream, {}, add_one_to(flat(x)));
    device.synchronize();
    const Recorder::Drained drained = device.recorder().drain();
    EXPECT_EQ(drained.trace.size(), 2U);
    EXPECT_EQ(drained.num_dropped, 3);
  });
}

}  // namespace
}  // namespace underlap::host
