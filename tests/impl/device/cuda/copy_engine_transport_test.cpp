// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/peer_copies/copy_engine_transport.hpp"

#include "platform/errors.hpp"
#include "tests/impl/device/cuda/cuda_ranks.hpp"
#include "tests/testing.hpp"

namespace underlap::cuda {
namespace {

using cuda_host::Machine;
using cuda_host::NcclDouble;
using namespace testing_support;  // NOLINT
using testing_support::fill;
using namespace std::chrono_literals;

constexpr CommunicatorHints kCopyEngine{.copy_engine = true, .priority = Priority::high};

void fill(Device& device, Stream stream, const View& view, float value) {
  const std::vector<float> values(static_cast<std::size_t>(view.elements()), value);
  device.upload(stream, {.kind = Kind::copy}, view, std::as_bytes(std::span(values)));
}

/// Ranks that poll nothing by themselves but the watchdog's thread, quickly.
CudaRanks ranks_of(std::int32_t size, std::uint64_t seed = 1, std::chrono::milliseconds timeout = 30s) {
  return CudaRanks(size, {.peers_map_tensors = true}, {.peer_timeout = timeout, .poll_interval = 5ms}, seed);
}

/// By ranks and hardware queues; 0: one for each stream.
class CopyEngines : public testing::TestWithParam<std::tuple<int, int>> {
 protected:
  template <class Program>
  static void run(std::uint64_t seed, Program program) {
    CudaRanks ranks = ranks_of(size(), seed);
    Machine::instance().connections = std::get<1>(GetParam());
    ranks.run(program);
  }
  static int size() { return std::get<0>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(GroupsAndConnections, CopyEngines,
                         testing::Combine(testing::Values(2, 3, 4), testing::Values(0, 1, 8)), [](const auto& test) {
                           return std::to_string(std::get<0>(test.param)) + "RanksConnections" +
                                  std::to_string(std::get<1>(test.param));
                         });

// Every rank's number goes once round the ring, several times over, and each buffer is read late by another stream.
TEST_P(CopyEngines, PassNumbersRoundARingThroughBuffersThatAreUsedAgain) {
  const int n = size();
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    run(seed, [n](CudaDevice& device, const Group& group) {
      constexpr int kRounds = 3;
      const Stream compute = device.create_stream("compute");
      const Communicator ring = device.declare("ring", group, kCopyEngine);
      const Tensor slots = device.allocate("slots", DataType::f32, std::int64_t{5} * n);
      const Tensor seen = device.allocate("seen", DataType::f32, std::int64_t{5} * n * kRounds);
      device.begin();
      const std::int32_t me = group.my_index;
      const auto slot = [&](int i) { return flat(slots, std::int64_t{5} * ((i % n + n) % n), 5); };
      for (int round = 0; round < kRounds; ++round) {
        fill(device, compute, slot(me), static_cast<float>(100 * round + me));
        device.wait(ring.stream, device.record(compute));
        for (int i = 0; i + 1 < n; ++i)
          communicate(device, ring,
                      {receive_from((me - 1 + n) % n, slot(me - i - 1)), send_to((me + 1) % n, slot(me - i))});
        device.wait(compute, device.record(ring.stream));
        const View all = flat(seen, std::int64_t{5} * n * round, std::int64_t{5} * n);
        device.launch(compute, {}, operation_of(copy, {{flat(slots), Access::in}, {all, Access::out}}));
      }
      device.synchronize();
      const std::vector<float> values = read(device, flat(seen));
      for (int round = 0; round < kRounds; ++round)
        for (int i = 0; i < 5 * n; ++i)
          EXPECT_EQ(values[static_cast<std::size_t>(5 * n * round + i)], static_cast<float>(100 * round + i / 5));
    });
  EXPECT_EQ(Machine::instance().num_freed_while_open, 0);
}

// The peer is not told that the old contents are still wanted: only its flag says so.
TEST_P(CopyEngines, NeverWriteToABufferBeforeItsRankHasComeToTheReceive) {
  const int n = size();
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    run(seed, [n](CudaDevice& device, const Group& group) {
      const Stream compute = device.create_stream("compute");
      const Communicator ring = device.declare("ring", group, kCopyEngine);
      const Tensor own = device.allocate("own", DataType::f32, 8);
      const Tensor buffer = device.allocate("buffer", DataType::f32, 8);
      const Tensor kept = device.allocate("kept", DataType::f32, 8);
      device.begin();
      const std::int32_t me = group.my_index;
      fill(device, ring.stream, flat(own), 100 + static_cast<float>(me));
      fill(device, compute, flat(buffer), -1);
      for (int i = 0; i < 20 * me; ++i)
        device.launch(compute, {}, operation_of(add_one, {{flat(buffer), Access::inout}}));
      device.launch(compute, {}, operation_of(copy, {{flat(buffer), Access::in}, {flat(kept), Access::out}}));
      device.wait(ring.stream, device.record(compute));
      communicate(device, ring, {send_to((me + 1) % n, flat(own)), receive_from((me - 1 + n) % n, flat(buffer))});
      device.synchronize();
      EXPECT_THAT(read(device, flat(kept)), Each(static_cast<float>(20 * me - 1)));
      EXPECT_THAT(read(device, flat(buffer)), Each(static_cast<float>(100 + (me - 1 + n) % n)));
    });
}

TEST_P(CopyEngines, ExchangeBetweenAllPairsInOneGroupAndSendTwiceToOnePeer) {
  const int n = size();
  for (std::uint64_t seed = 0; seed < 5; ++seed)
    run(seed, [n](CudaDevice& device, const Group& group) {
      const Communicator all = device.declare("all", group, kCopyEngine);
      const Tensor out = device.allocate("out", DataType::f32, std::int64_t{6} * n);
      const Tensor in = device.allocate("in", DataType::f32, std::int64_t{6} * n);
      device.begin();
      const std::int32_t me = group.my_index;
      std::vector<Transfer> transfers;
      for (std::int32_t peer = 0; peer < n; ++peer) {
        if (peer == me) continue;
        fill(device, all.stream, flat(out, std::int64_t{6} * peer, 3), static_cast<float>(10 * me + peer));
        fill(device, all.stream, flat(out, std::int64_t{6} * peer + 3, 3), static_cast<float>(1000 + 10 * me + peer));
        for (const std::int64_t half : {0, 3}) {
          transfers.push_back(send_to(peer, flat(out, 6 * peer + half, 3)));
          transfers.push_back(receive_from(peer, flat(in, 6 * peer + half, 3)));
        }
      }
      device.communicate(all, {.kind = Kind::communication}, transfers);
      device.synchronize();
      for (std::int32_t peer = 0; peer < n; ++peer) {
        if (peer == me) continue;
        EXPECT_THAT(read(device, flat(in, std::int64_t{6} * peer, 3)), Each(static_cast<float>(10 * peer + me)));
        EXPECT_THAT(read(device, flat(in, std::int64_t{6} * peer + 3, 3)),
                    Each(static_cast<float>(1000 + 10 * peer + me)));
      }
    });
}

TEST(CopyEngineTransport, CarriesWhatAsksForItAndLeavesTheRestToNccl) {
  ranks_of(2).run([](CudaDevice& device, const Group& group) {
    const Communicator ring = device.declare("ring", group, kCopyEngine);
    const Communicator dp = device.declare("dp", group);
    const Tensor x = device.allocate("x", DataType::f32, 4);
    const Tensor y = device.allocate("y", DataType::f32, 4);
    device.begin();
    fill(device, ring.stream, flat(x), 1 + static_cast<float>(group.my_index));
    communicate(device, ring, {send_to(1 - group.my_index, flat(x)), receive_from(1 - group.my_index, flat(y))});
    device.wait(dp.stream, device.record(ring.stream));
    all_reduce(device, dp, y);
    device.synchronize();
    EXPECT_THAT(read(device, flat(y)), Each(3));
    EXPECT_THROW(all_reduce(device, ring, y), std::invalid_argument);
    device.synchronize();
  });
  EXPECT_EQ(NcclDouble::instance().num_aborted_and_destroyed(), std::pair(0, 2)) << "the other communicator";
  EXPECT_EQ(Machine::instance().num_freed_while_open, 0);
}

TEST(CopyEngineTransport, APeerThatNeverSendsPoisonsTheRankAndEndsAllWithTheReason) {
  CudaRanks ranks = ranks_of(3, 1, 1500ms);
  const std::vector<std::string> errors = ranks.run_each([&](CudaDevice& device, const Group& group) {
    const auto [ring, x] = begin_with_communicator(device, group, "tp_ring", 8, kCopyEngine);
    const std::int32_t me = group.my_index;
    fill(device, ring.stream, flat(x), 1);
    const auto hop = [&] {
      communicate(device, ring, {send_to((me + 1) % 3, flat(x, 0, 4)), receive_from((me + 2) % 3, flat(x, 4, 4))});
    };
    hop();
    device.synchronize();
    if (me == 1) {
      // It is ready to receive and has nothing to send.
      communicate(device, ring, {receive_from(0, flat(x, 4, 4))});
    } else if (me == 0) {
      hop();
    } else {
      communicate(device, ring, {send_to(0, flat(x, 0, 4)), receive_from(1, flat(x, 4, 4))});
    }
    if (me == 2) {
      EXPECT_THROW(device.synchronize(device.record(ring.stream)), MachineError)
          << "an event behind it passes, and lies";
    }
    device.synchronize();
    // Those who wait for nobody are told too.
    while (!ranks.control().failure()) std::this_thread::sleep_for(1ms);
    for (;;) {
      device.record(ring.stream);
      std::this_thread::sleep_for(1ms);
    }
  });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("rank 2: receive of communicator tp_ring (ranks 0, 1, 2), sequence 1"),
                                 HasSubstr("waited 1500 ms for rank 1 to send"))));
}

TEST(CopyEngineTransport, AnAbortLeavesItToItsCallerToSayWhy) {
  ThreadControlPlane control(1s);
  NcclDouble::instance().reset();
  NcclTransport nccl(NcclDouble::api(), control, {.poll_interval = 0ms});
  CopyEngineTransport copy_engines(nccl, control, {.poll_interval = 1ms});
  copy_engines.abort();
  EXPECT_THROW(copy_engines.rethrow_failure(), MachineError);
  std::this_thread::sleep_for(50ms);  // many looks of the watchdog
  EXPECT_EQ(control.failure(), std::nullopt);
}

TEST(CopyEngineTransport, APeerThatIsNeverReadyIsNamedByWhoSendsToIt) {
  CudaRanks ranks = ranks_of(2, 1, 300ms);
  const std::vector<std::string> errors = ranks.run_each([&](CudaDevice& device, const Group& group) {
    const Stream compute = device.create_stream("compute");
    const auto [ring, x] = begin_with_communicator(device, group, "tp_ring", 8, kCopyEngine);
    if (group.my_index == 0) {
      communicate(device, ring, {send_to(1, flat(x, 0, 4))});
      try {
        device.synchronize();
      } catch (const MachineError&) {
        Machine::instance().wake();
        throw;
      }
    }
    // A gate that nobody opens stands before the receive, though the host has enqueued it.
    Machine::instance().enqueue(device.handle(compute),
                                {.ready = [&] { return ranks.control().failure().has_value(); }, .run = [] {}});
    device.wait(ring.stream, device.record(compute));
    communicate(device, ring, {receive_from(0, flat(x, 4, 4))});
    device.synchronize();
  });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("rank 0: send of communicator tp_ring (ranks 0, 1), sequence 0"),
                                 HasSubstr("waited 300 ms for rank 1 to be ready"))));
}

TEST(CopyEngineTransport, WhatAPoisonedRankSendsPoisonsWhoReceivesIt) {
  // No watchdog looks: the flags alone carry it.
  CudaRanks ranks(3, {.peers_map_tensors = true}, {.peer_timeout = 300ms, .poll_interval = 0ms});
  std::array<std::atomic<bool>, 3> used{};
  std::atomic<bool> has_given_up = false;
  const std::vector<std::string> errors = ranks.run_each([&](CudaDevice& device, const Group& group) {
    const Communicator line = device.declare("line", group, kCopyEngine);
    device.declare("dp", group);
    const Tensor x = device.allocate("x", DataType::f32, 4);
    device.begin();
    // 0 -> 1 -> 2, and 0 never sends.
    const std::int32_t me = group.my_index;
    fill(device, line.stream, flat(x), 1);
    if (me == 0) {
      while (!ranks.control().failure()) std::this_thread::sleep_for(1ms);
      return;
    }
    if (me == 2)  // whose wait begins last, so that no deadline of its own ends it
      Machine::instance().enqueue(device.handle(line.stream),
                                  {.ready = [&] { return has_given_up.load(); }, .run = [] {}});
    communicate(device, line, {receive_from(me - 1, flat(x))});
    if (me == 1) communicate(device, line, {send_to(2, flat(x))});
    try {
      device.synchronize();
    } catch (const MachineError&) {
      EXPECT_GE(NcclDouble::instance().num_aborted_and_destroyed().first, me) << "those of NCCL end too";
      has_given_up = true;
      Machine::instance().wake();
      throw;
    }
    used[static_cast<std::size_t>(me)] = true;
  });
  EXPECT_FALSE(used[1]);
  EXPECT_FALSE(used[2]);
  EXPECT_THAT(errors[1], HasSubstr("rank 1: receive of communicator line (ranks 0, 1, 2), sequence 0"));
  EXPECT_EQ(errors[2], errors[1]) << "which says why";
}

TEST(CopyEngineTransport, APeerWhoseHostEnqueuesNoReceiveIsNamed) {
  CudaRanks ranks = ranks_of(2, 1, 300ms);
  const std::vector<std::string> errors = ranks.run_each([&](CudaDevice& device, const Group& group) {
    const auto [ring, x] = begin_with_communicator(device, group, "tp_ring", 8, kCopyEngine);
    if (group.my_index == 0) communicate(device, ring, {send_to(1, flat(x, 0, 4))});
    while (!ranks.control().failure()) std::this_thread::sleep_for(1ms);
  });
  EXPECT_THAT(errors[0], AllOf(HasSubstr("send of communicator tp_ring (ranks 0, 1), sequence 0"),
                               HasSubstr("for the host of rank 1")));
}

TEST(CopyEngineTransport, RefusesAReceiveOfAnotherSize) {
  const std::vector<std::string> errors = ranks_of(2).run_each([&](CudaDevice& device, const Group& group) {
    const auto [ring, x] = begin_with_communicator(device, group, "ring", 8, kCopyEngine);
    communicate(device, ring,
                {send_to(1 - group.my_index, flat(x, 0, 4)),
                 receive_from(1 - group.my_index, flat(x, 4, group.my_index == 0 ? 4 : 3))});
    device.synchronize();
  });
  EXPECT_THAT(errors, Contains(AllOf(HasSubstr("has 16 bytes"), HasSubstr("rank 1 receives 12"))));
}

TEST(CopyEngineTransport, LeavesGroupsAcrossNodesToNcclAndSaysSo) {
  CudaRanks ranks = ranks_of(2);
  ranks.node_of = [](std::int32_t rank) { return "node " + std::to_string(rank); };
  ranks.run([](CudaDevice& device, const Group& group) {
    const auto [ring, x] = begin_with_communicator(device, group, "ring", 8, kCopyEngine);
    fill(device, ring.stream, flat(x, 0, 4), 1 + static_cast<float>(group.my_index));
    communicate(device, ring,
                {send_to(1 - group.my_index, flat(x, 0, 4)), receive_from(1 - group.my_index, flat(x, 4, 4))});
    device.synchronize();
    EXPECT_THAT(read(device, flat(x, 4, 4)), Each(static_cast<float>(2 - group.my_index)));
  });
  EXPECT_THAT(NcclDouble::instance().calls("Send"), Not(IsEmpty()));
}

TEST(CopyEngineTransport, SaysWhoseMemoryCannotBeMapped) {
  CudaRanks ranks = ranks_of(2);
  Machine::instance().refuses_peer_access = true;
  const std::vector<std::string> errors = ranks.run_each([&](CudaDevice& device, const Group& group) {
    device.declare("tp_ring", group, kCopyEngine);
    device.begin();
  });
  EXPECT_THAT(errors, Contains(AllOf(HasSubstr("communicator tp_ring: memory of rank"),
                                     HasSubstr("cudaErrorPeerAccessUnsupported"), HasSubstr("tp_ring_transport"))));
}

TEST(CopyEngineTransport, TwoDevicesInTurnMapTheirOwnMemory) {
  CudaRanks ranks = ranks_of(2);
  for (int cell = 0; cell < 2; ++cell)
    ranks.run([&](CudaDevice& device, const Group& group) {
      // Larger than the block of small tensors.
      const auto [ring, x] = begin_with_communicator(device, group, "ring", std::int64_t{5} << 20, kCopyEngine);
      const View own = flat(x, (std::int64_t{5} << 20) - 4, 4);
      fill(device, ring.stream, own, 1 + static_cast<float>(group.my_index));
      communicate(device, ring, {send_to(1 - group.my_index, own), receive_from(1 - group.my_index, flat(x, 0, 4))});
      device.synchronize();
      EXPECT_THAT(read(device, flat(x, 0, 4)), Each(static_cast<float>(2 - group.my_index)));
    });
  EXPECT_EQ(Machine::instance().num_freed_while_open, 0);
}

/// Which operation each item of a stream is enqueued for, by thread, as CUPTI would see it.
class Owners final : public Tracer {
 public:
  Owners() = default;
  /// From here on; behind CudaRanks, which reset the machine.
  void watch() {
    Machine::instance().watch = [this]() -> std::function<void(std::int64_t, std::int64_t)> {
      const std::lock_guard lock(mutex_);
      ++num_items_[open_[std::this_thread::get_id()]];
      return {};
    };
  }
  ~Owners() override { Machine::instance().watch = {}; }
  Owners(const Owners&) = delete;
  Owners& operator=(const Owners&) = delete;

  void add_stream(std::uint32_t, std::string_view) override {}
  void add_group(std::uint32_t, const GroupRecord&) override {}
  void push(const EnqueuedOperation& operation) override {
    const std::lock_guard lock(mutex_);
    open_[std::this_thread::get_id()] = operation.tag.purpose;
    if (operation.communication) records.push_back(*operation.communication);
  }
  void pop() noexcept override {
    const std::lock_guard lock(mutex_);
    open_.erase(std::this_thread::get_id());
  }
  int num_items(NameId purpose) {
    const std::lock_guard lock(mutex_);
    return num_items_[purpose];
  }

  std::vector<CommunicationRecord> records;

 private:
  std::mutex mutex_;
  std::map<std::thread::id, NameId> open_;
  std::map<NameId, int> num_items_;
};

TEST(CopyEngineTransport, AllThatAHopEnqueuesIsTheHopsAndItsRecordListsBothSides) {
  const NameId hop = intern("ring_hop");
  Owners owners;
  CudaRanks ranks(2, {.peers_map_tensors = true, .tracer = &owners});
  owners.watch();
  ranks.run([&](CudaDevice& device, const Group& group) {
    const auto [ring, x] = begin_with_communicator(device, group, "ring", 8, kCopyEngine);
    const std::array transfers{send_to(1 - group.my_index, flat(x, 0, 4)),
                               receive_from(1 - group.my_index, flat(x, 4, 4))};
    device.communicate(ring, {.kind = Kind::communication, .purpose = hop}, transfers);
    device.synchronize();
  });
  EXPECT_EQ(owners.num_items(hop), 2 * 3) << "for each rank: flags and the wait for the buffer, a copy, flags and the "
                                             "wait for the data";
  ASSERT_THAT(owners.records, SizeIs(2));
  for (const CommunicationRecord& record : owners.records) {
    ASSERT_THAT(record.transfers, SizeIs(2));
    EXPECT_EQ(record.transfers[0].collective, Collective::send);
    EXPECT_EQ(record.transfers[0].bytes_on_wire, 16);
    EXPECT_EQ(record.transfers[1].collective, Collective::receive);
  }
}

TEST(Poison, KeepsAllThatItSays) {
  const Poison poison{.cause = Poison::Cause::late_buffer,
                      .channel = Poison::kMostChannels - 1,
                      .peer = Poison::kMostPeers - 1,
                      .sequence = (std::uint64_t{1} << 36) - 2};
  const Poison same = Poison::unpack(poison.pack());
  EXPECT_EQ(same.cause, poison.cause);
  EXPECT_EQ(same.channel, poison.channel);
  EXPECT_EQ(same.peer, poison.peer);
  EXPECT_EQ(same.sequence, poison.sequence);
  EXPECT_EQ(Poison::unpack(0).cause, Poison::Cause::none);
}

}  // namespace
}  // namespace underlap::cuda
