// SPDX-License-Identifier: Apache-2.0
// Ranks, communicators and transfers, as NCCL's payloads tell them.
#include <gmock/gmock.h>

#include <utility>

#include "tests/profiler/formats/nsys_file.hpp"

namespace underlap::formats {
namespace {

using namespace ::testing;        // NOLINT
using namespace testing_support;  // NOLINT

// The rank of each kernel, by its name.
std::map<std::string, std::int32_t> ranks_of_kernels(const Trace& trace) {
  std::map<std::string, std::int32_t> ranks;
  for (std::size_t i = 0; i < trace.size(); ++i)
    if (trace.is_work(i)) ranks.emplace(name_of(trace.name(i)), trace.track_of(i).rank);
  return ranks;
}

// A kernel of NCCL launched at `start` by a call of its process.
void launch(NsysFile& file, std::int64_t start, std::string_view name, std::int64_t pid = 100) {
  file.call({.start = start, .end = start + 1, .correlation = start, .pid = pid, .tid = pid});
  file.kernel({.start = start + 10,
               .end = start + 20,
               .stream = 9,
               .correlation = start,
               .pid = pid,
               .name = std::string(name)});
}

// Kernels a of device 0 and b of device 1, of two processes.
void two_kernels(NsysFile& file) {
  file.kernel({.start = 1, .end = 2, .device = 0, .pid = 100, .name = "a"});
  file.kernel({.start = 1, .end = 2, .device = 1, .pid = 200, .name = "b"});
}

TEST(NsysRanks, AreNumberedByDeviceWhereNothingSaysThem) {
  const Trace trace = read_nsys([](NsysFile& file) {
    file.kernel({.start = 1, .end = 2, .device = 3, .pid = 100, .name = "third"});
    file.kernel({.start = 1, .end = 2, .device = 1, .pid = 200, .name = "first"});
  });
  EXPECT_THAT(ranks_of_kernels(trace), UnorderedElementsAre(Pair("first", 0), Pair("third", 1)));
  EXPECT_EQ(trace.metadata.at("rank"), "assumed");
}

TEST(NsysRanks, AreNumberedByProcessWhereEachCallsItsDeviceZero) {
  const Trace trace = read_nsys([](NsysFile& file) {
    file.kernel({.start = 1, .end = 2, .pid = 200, .name = "second"});
    file.kernel({.start = 1, .end = 2, .pid = 100, .name = "first"});
  });
  EXPECT_THAT(ranks_of_kernels(trace), UnorderedElementsAre(Pair("first", 0), Pair("second", 1)));
}

TEST(NsysRanks, AreNotMadeByAProcessThatSetsMemoryOnAnothersDevice) {
  const Trace trace = read_nsys([](NsysFile& file) {
    two_kernels(file);
    file.memset({.start = 3, .end = 4, .device = 0, .pid = 200});
  });
  EXPECT_THAT(ranks_of_kernels(trace), UnorderedElementsAre(Pair("a", 0), Pair("b", 1), Pair("Memset", 1)));
}

TEST(NsysRanks, OfOneProcessAreItsDevicesAndTakeTheThreadsThatLaunchThere) {
  const Trace trace = read_nsys([](NsysFile& file) {
    for (std::int64_t device = 0; device < 2; ++device) {
      file.kernel({.start = 10, .end = 20, .device = device, .correlation = 5 + device});
      file.call({.start = 1, .end = 2, .correlation = 5 + device, .pid = 100, .tid = 101 + device});
      file.range({.start = 0, .end = 9, .text = "step", .pid = 100, .tid = 101 + device});
    }
  });
  for (const Track& track : trace.tracks)
    EXPECT_EQ(track.rank, track.kind == TrackKind::stream ? track.device : track.stream - 101) << track.name;
}

TEST(NsysRanks, AreThoseOfTheLargestCommunicator) {
  const Trace trace = read_nsys([](NsysFile& file) {
    for (const int rank : {1, 0}) {
      const std::int64_t pid = rank == 1 ? 100 : 200;
      file.kernel({.start = 1, .end = 2, .device = 1 - rank, .pid = pid, .name = "rank " + std::to_string(rank)});
      file.nccl("ncclCommInitRank", -90, -80, nccl_member(0xABC, 2, rank, 0), pid);
      file.nccl("ncclCommSplit", -70, -60, nccl_member(0xD00 + static_cast<unsigned>(rank), 1, 0, 0), pid);
    }
  });
  EXPECT_THAT(ranks_of_kernels(trace), UnorderedElementsAre(Pair("rank 0", 0), Pair("rank 1", 1)));
  EXPECT_EQ(trace.metadata.at("world_size"), "2");
  EXPECT_EQ(trace.metadata.at("rank"), "NCCL");
}

TEST(NsysRanks, AreAssumedWhereTheLargestCommunicatorIsNotTheWorld) {
  const Trace trace = read_nsys([](NsysFile& file) {
    file.environment("WORLD_SIZE=\"16\"");
    for (const int rank : {0, 1}) {
      file.kernel({.start = 1, .end = 2, .device = rank, .pid = 100 + rank, .name = std::to_string(rank)});
      file.nccl("ncclCommInitRank", -90, -80, nccl_member(0xABC, 2, 1 - rank, rank), 100 + rank);
    }
  });
  EXPECT_THAT(ranks_of_kernels(trace), UnorderedElementsAre(Pair("0", 0), Pair("1", 1)));
  EXPECT_EQ(trace.metadata.at("rank"), "assumed");
  EXPECT_EQ(trace.metadata.at("world_size"), "16");
}

TEST(NsysRanks, OfAFileWithOneProcessIsTheEnvironments) {
  const Trace trace = read_nsys([](NsysFile& file) {
    file.environment("SLURM_PROCID=\"11\"");
    file.kernel({.start = 1, .end = 2});
    file.call({.start = 0, .end = 1});
  });
  for (const Track& track : trace.tracks) EXPECT_EQ(track.rank, 11);
  EXPECT_EQ(trace.metadata.at("rank"), "environment");
}

TEST(NsysRanks, OfSeveralProcessesAreNotTheirLaunchersEnvironment) {
  const Trace trace = read_nsys([](NsysFile& file) {
    file.environment("RANK=\"5\"");
    two_kernels(file);
  });
  EXPECT_THAT(ranks_of_kernels(trace), UnorderedElementsAre(Pair("a", 0), Pair("b", 1)));
}

TEST(NsysRanks, AreTakenFromLabelsThatAgreeOneForEachProcess) {
  using Labels = std::vector<std::pair<std::int64_t, std::string>>;
  const auto ranks = [](const Labels& labels) {
    return ranks_of_kernels(read_nsys([&](NsysFile& file) {
      two_kernels(file);
      for (const auto& [pid, text] : labels) file.range({.start = 0, .text = text, .pid = pid, .type = 34});
    }));
  };
  const auto assumed = UnorderedElementsAre(Pair("a", 0), Pair("b", 1));
  EXPECT_THAT(ranks({{100, "rank 6"}, {200, "[rank4]"}}), UnorderedElementsAre(Pair("a", 6), Pair("b", 4)));
  EXPECT_THAT(ranks({{100, "rank 6"}, {200, "Rank: 6"}}), assumed);
  EXPECT_THAT(ranks({{100, "rank 6"}, {200, "ranking 4"}}), assumed);
  EXPECT_THAT(ranks({{100, "rank 6"}, {100, "rank 7"}, {200, "[rank4]"}}), assumed);
}

TEST(NsysNccl, GivesAKernelTheCallInWhoseRangeItWasLaunched) {
  const Trace trace = read_nsys([](NsysFile& file) {
    file.nccl("ncclCommInitRank", 1, 2, nccl_member(0xABC, 4, 2, 0));
    file.nccl("ncclAllGather", 100, 120, nccl_gather(0xABC, 1000));
    launch(file, 110, "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
    file.nccl("ncclAllGather", 200, 220, nccl_gather(0xABC, 2000));
    launch(file, 210, "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
    launch(file, 300, "ncclDevKernel_AllGather_RING_LL(of no range)");
  });
  ASSERT_EQ(trace.groups.size(), 1U);
  EXPECT_EQ(name_of(trace.groups[0].name), "0x0000000000000abc");
  EXPECT_EQ(trace.groups[0].num_ranks, 4);
  EXPECT_THAT(trace.groups[0].ranks, ElementsAre(0, 1, 2, 3));
  const CommunicationRecord* second = trace.communication(1);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->sequence, 1U);
  EXPECT_THAT(second->transfers, ElementsAre(TransferRecord{Collective::all_gather, DataType::u8, -1, 8000, 6000}));
  EXPECT_EQ(name_of(trace.tag(1).purpose), "all_gather");
  EXPECT_EQ(trace.tag(1).kind, Kind::compute);
  EXPECT_EQ(trace.communication(2), nullptr);
  EXPECT_FALSE(trace.metadata.contains("advice"));
}

TEST(NsysNccl, GivesAKernelAllCallsOfItsGroup) {
  const Trace trace = read_nsys([](NsysFile& file) {
    file.nccl("ncclGroupStart", 100, 101, "");
    file.nccl("ncclSend", 102, 103, nccl_peer(0xABC, 500, 1));
    file.nccl("ncclRecv", 104, 105, nccl_peer(0xABC, 700, 3));
    file.nccl("ncclGroupEnd", 106, 120, "");
    launch(file, 110, "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)");
  });
  const CommunicationRecord* record = trace.communication(0);
  ASSERT_NE(record, nullptr);
  EXPECT_THAT(record->transfers, ElementsAre(TransferRecord{Collective::send, DataType::u8, 1, 500, 500},
                                             TransferRecord{Collective::receive, DataType::u8, 3, 700, 0}));
  EXPECT_EQ(trace.tag(0).purpose, kNoName);
}

// A group of a gather of one communicator and of a second call, and two kernels that it launched.
Trace group_with(std::string_view call, const std::string& payload, std::string_view first, std::string_view second) {
  return read_nsys([&](NsysFile& file) {
    file.nccl("ncclGroupStart", 100, 101, "");
    file.nccl("ncclAllGather", 102, 103, nccl_gather(0xABC, 10));
    file.nccl(call, 104, 105, payload);
    file.nccl("ncclGroupEnd", 106, 130, "");
    launch(file, 110, first);
    launch(file, 120, second);
  });
}

TEST(NsysNccl, TellsKernelsOfAGroupApartByWhatTheyCanCarry) {
  const Trace trace =
      group_with("ncclSend", nccl_peer(0xDEF, 20, 0), "ncclDevKernel_SendRecv", "ncclDevKernel_AllGather_RING_LL");
  ASSERT_NE(trace.communication(0), nullptr);
  EXPECT_EQ(trace.communication(0)->transfers[0].collective, Collective::send);
  ASSERT_NE(trace.communication(1), nullptr);
  EXPECT_EQ(trace.communication(1)->transfers[0].collective, Collective::all_gather);
}

TEST(NsysNccl, SaysOfNoKernelWhatItCarriesWhereTwoCommunicatorsAreInOneGroup) {
  const Trace trace = group_with("ncclAllGather", nccl_gather(0xDEF, 20), "ncclDevKernel_AllGather_RING_LL",
                                 "ncclDevKernel_AllGather_RING_LL");
  EXPECT_EQ(trace.communication(0), nullptr);
  EXPECT_EQ(trace.communication(1), nullptr);
  EXPECT_THAT(trace.import.skipped,
              ElementsAre(Pair("NCCL kernel launched with others, so its operation is unknown (kept)", 2)));
}

TEST(NsysNccl, ReadsPayloadsThatWereExportedAsJson) {
  const Trace trace = read_nsys([](NsysFile& file) {
    file.range({.start = 100,
                .end = 120,
                .text = "ncclBroadcast",
                .domain = 1,
                .registered = true,
                .json = R"({"NCCL communicator ID": 2748, "Message size [bytes]": "4096", "Root": 0})"});
    launch(file, 110, "ncclDevKernel_Broadcast_RING_LL");
  });
  ASSERT_NE(trace.communication(0), nullptr);
  EXPECT_EQ(trace.communication(0)->transfers[0].bytes, 4096);
  EXPECT_EQ(name_of(trace.groups[0].name), "0x0000000000000abc");
}

TEST(NsysNccl, LeavesCallsWithBrokenPayloadsWithoutARecord) {
  const std::string whole = nccl_gather(0xABC, 10);
  std::string other_schema = whole;
  other_schema[8] = 99;
  for (const std::string& payload :
       {whole.substr(0, 31), whole.substr(0, 40), other_schema, std::string(100'000, 'x')}) {
    const Trace trace = read_nsys([&](NsysFile& file) {
      file.nccl("ncclCommInitRank", 1, 2, nccl_member(0xABC, 4, 2, 0));
      file.nccl("ncclAllGather", 100, 120, payload);
      launch(file, 110, "ncclDevKernel_AllGather_RING_LL");
    });
    EXPECT_EQ(trace.communication(0), nullptr);
    EXPECT_THAT(trace.import.skipped, ElementsAre(Pair("NCCL kernel whose calls have no payload (kept)", 1)));
  }
}

TEST(NsysNccl, ForgetsAGroupThatTheCaptureCutAtItsBegin) {
  const Trace trace = read_nsys([](NsysFile& file) {
    file.nccl("ncclGroupEnd", 50, 60, "");
    file.nccl("ncclAllGather", 100, 120, nccl_gather(0xABC, 10));
    launch(file, 110, "ncclDevKernel_AllGather_RING_LL");
  });
  EXPECT_NE(trace.communication(0), nullptr);
}

}  // namespace
}  // namespace underlap::formats
