// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <map>

#include "profiler/formats/format.hpp"
#include "tests/profiler/error_of.hpp"
#include "tests/profiler/formats/made_up_steps.hpp"
#include "tests/profiler/formats/trace_text.hpp"
#include "tests/profiler/slices.hpp"

namespace underlap::formats {
namespace {

using namespace underlap::testing_support;  // NOLINT
using namespace ::testing;                  // NOLINT

std::string task(const std::string& name, const std::string& type, int stream = 7, int connection = 1) {
  return "{'name': '" + name + "', 'pid': 800, 'tid': " + std::to_string(stream) +
         ", 'ts': '10.500', 'dur': 2, 'args': {'Task Type': '" + type + "', 'Stream Id': " + std::to_string(stream) +
         ", 'connection_id': " + std::to_string(connection) + "}, 'ph': 'X'}";
}

TEST(AscendReader, CountsEachTaskAndCollectiveOnce) {
  for (const bool names_first : {true, false}) {
    const Trace trace = read_trace_text(ascend_file("Communication", names_first));
    EXPECT_EQ(trace.metadata.at("format"), "ascend");
    EXPECT_EQ(trace.metadata.at("rank"), "assumed");
    EXPECT_THAT(trace.import.skipped, IsEmpty());
    std::map<std::string, int> work;
    for (std::size_t i = 0; i < trace.size(); ++i)
      if (trace.is_work(i)) ++work[std::string(name_of(trace.name(i)))];
    EXPECT_THAT(work, ElementsAre(Pair("MEMCPY_ASYNC", 3), Pair("MatMulV2", 6), Pair("hcom_allReduce__606_0_1", 3)));
    const std::uint32_t gemm = slice_named(trace, "MatMulV2");
    EXPECT_EQ(trace.start_ns()[gemm], kMadeUpOrigin * 1000 + 500);
    EXPECT_EQ(trace.track_of(gemm).stream, 7);
    EXPECT_EQ(trace.track_of(gemm).device, 0);
    const std::uint32_t all_reduce = slice_named(trace, "hcom_allReduce__606_0_1");
    EXPECT_EQ(trace.track_of(all_reduce).name, "Group group_name_0 Communication");
    EXPECT_EQ(trace.track_of(all_reduce).rank, 0);
    EXPECT_EQ(trace.track_of(all_reduce).device, 0);
    EXPECT_EQ(trace.track_of(all_reduce).stream, 25);  // after the streams of the device
    ASSERT_NE(trace.communication(all_reduce), nullptr);
    ASSERT_THAT(trace.communication(all_reduce)->transfers, SizeIs(1));
    EXPECT_EQ(trace.communication(all_reduce)->transfers[0].bytes, 8 << 20);
    ASSERT_THAT(trace.groups, SizeIs(1));
    EXPECT_EQ(name_of(trace.groups[0].name), "group_name_0");
    EXPECT_EQ(trace.track_of(slice_named(trace, "ProfilerStep#1")).kind, TrackKind::range);
    EXPECT_EQ(trace.track_of(slice_named(trace, "Communication(Not Overlapped)")).kind, TrackKind::range);
    std::size_t launches = 0;
    for (const Flow& flow : trace.flows)
      if (trace.is_work(flow.to)) ++launches;
    EXPECT_EQ(launches, 12U);
  }
}

struct Type {
  const char* type;
  Kind kind;
};

class AscendTasks : public TestWithParam<Type> {};

TEST_P(AscendTasks, AreClassifiedByType) {
  const Trace trace = read_trace_text(quoted("[" + task("a", GetParam().type) + "," + task("b", "AI_CORE") + "]"));
  EXPECT_EQ(trace.tag(0).kind, GetParam().kind);
}

INSTANTIATE_TEST_SUITE_P(Types, AscendTasks,
                         Values(Type{"AI_CORE", Kind::compute}, Type{"MIX_AIC", Kind::compute},
                                Type{"MIX_AIV", Kind::compute}, Type{"AI_CPU", Kind::compute},
                                Type{"AI_VECTOR_CORE", Kind::compute}, Type{"FFTS_PLUS", Kind::compute},
                                Type{"Other", Kind::compute}, Type{"SDMA_SQE", Kind::copy},
                                Type{"PCIE_DMA_SQE", Kind::copy}, Type{"EVENT_WAIT_SQE", Kind::none},
                                Type{"NOTIFY_RECORD_SQE", Kind::none}));

TEST(AscendReader, TakesOtherRowsOfAGroupAsCommunication) {
  const Trace trace =
      read_trace_text(quoted("[" + task("a", "AI_CORE") +
                             ",{'name': 'lcclAllGather', 'pid': 900, 'tid': 3, 'ts': '12', 'dur': 4, 'ph': "
                             "'X'}, {'ph': 'M', 'name': 'thread_name', 'pid': 900, 'tid': 3, 'args': "
                             "{'name': 'Group 606 Communication'}}]"));
  const std::uint32_t gather = slice_named(trace, "lcclAllGather");
  ASSERT_NE(trace.communication(gather), nullptr);
  EXPECT_TRUE(trace.is_work(gather));
  EXPECT_EQ(trace.track_of(gather).kind, TrackKind::stream);
  EXPECT_EQ(name_of(trace.tag(gather).purpose), "all_gather");
  EXPECT_EQ(trace.track_of(gather).rank, 0);
}

TEST(AscendReader, UsesTasksOfCollectivesIfNoGroupHasRows) {
  const Trace trace = read_trace_text(
      quoted("[" + task("a", "AI_CORE") + "," + task("hcom_reduceScatter__606_0_1", "EVENT_WAIT_SQE", 9) + "]"));
  EXPECT_TRUE(trace.is_work(1));
  EXPECT_EQ(name_of(trace.tag(1).purpose), "reduce_scatter");
}

TEST(AscendReader, KeepsAKernelOnAMatrixUnitThatACollectiveLaunched) {
  const Trace trace = read_trace_text(
      quoted("[" + task("MatmulAllReduce", "MIX_AIC", 7, 4) + "," + task("aiv_all_reduce", "MIX_AIV", 7, 4) +
             ",{'name': 'hcom_allReduce__1', 'pid': 900, 'tid': 0, 'ts': '10', 'dur': 4, 'args': {'connection_id': 4}, "
             "'ph': 'X'}]"));
  EXPECT_TRUE(trace.is_work(0));
  EXPECT_FALSE(trace.is_work(1));
}

TEST(AscendReader, LeavesOutTasksOfTheSameDeviceOnly) {
  const auto on_second = [](std::string task) { return task.replace(task.find("800"), 3, "801"); };
  const auto row = [](int process, int thread, const std::string& name, const std::string& arguments) {
    return ",{'name': '" + name + "', 'pid': " + std::to_string(process) + ", 'tid': " + std::to_string(thread) +
           ", 'ts': '10', 'dur': 4, 'args': {" + arguments + "}, 'ph': 'X'}";
  };
  const auto group = [](int process) {
    return ",{'ph': 'M', 'name': 'thread_name', 'pid': " + std::to_string(process) +
           ", 'tid': 0, 'args': {'name': 'Group 606 Communication'}}";
  };
  const Trace trace = read_trace_text(quoted(
      "[" + task("on_plane", "SDMA_SQE", 20, 1) + "," + task("of_call", "SDMA_SQE", 7, 4) + "," +
      on_second(task("other_stream", "AI_CORE", 20, 1)) + "," + on_second(task("other_call", "SDMA_SQE", 7, 4)) + "," +
      on_second(task("on_second_plane", "SDMA_SQE", 21, 2)) + row(900, 0, "hcom_allReduce__1", "'connection_id': 4") +
      row(900, 1, "Memcpy", "'stream id': 20") + row(901, 0, "hcom_allReduce__2", "'connection_id': 5") +
      row(901, 1, "Memcpy", "'stream id': 21") + group(900) + group(901) + "]"));
  for (const char* name : {"on_plane", "of_call", "on_second_plane"})
    EXPECT_FALSE(trace.is_work(slice_named(trace, name))) << name;
  for (const char* name : {"other_stream", "other_call", "hcom_allReduce__1", "hcom_allReduce__2"})
    EXPECT_TRUE(trace.is_work(slice_named(trace, name))) << name;
  EXPECT_EQ(trace.track_of(slice_named(trace, "hcom_allReduce__2")).device, 1);
  EXPECT_EQ(trace.track_of(slice_named(trace, "other_call")).rank, 1);
}

TEST(AscendReader, JoinsLaunchesByArrowsWhereNumbersDiffer) {
  const Trace trace = read_trace_text(
      quoted("[" + task("a", "AI_CORE", 7, 8) +
             ",{'name': 'AscendCL@launch', 'pid': 43, 'tid': 42, 'ts': '5', 'dur': 2, 'args': {'level': 'acl', "
             "'connection_id': 3}, 'ph': 'X'},{'ph': 's', 'name': 'HostToDevice9', 'id': '9', 'pid': 43, 'tid': 42, "
             "'ts': '5', 'cat': 'HostToDevice'},{'ph': 'f', 'name': 'HostToDevice9', 'id': '9', 'pid': 800, 'tid': 7, "
             "'ts': '10.500', 'cat': 'HostToDevice', 'bp': 'e'}]"));
  EXPECT_THAT(trace.flows, ElementsAre(Flow{1, 0, FlowKind::launch}));
}

TEST(AscendReader, RankIsUnknownIfSeveralFilesNameOne) {
  const TemporaryFolder folder;
  write_text(folder / "trace_view.json", ascend_file());
  write_text(folder / "profiler_info_5.json", "");
  EXPECT_EQ(read_trace(folder / "trace_view.json").tracks[0].rank, 5);
  write_text(folder / "profiler_info_x.json", "");
  write_text(folder / "profiler_metadata.json", "{oops");
  EXPECT_EQ(read_trace(folder / "trace_view.json").tracks[0].rank, 5);
  write_text(folder / "profiler_info_6.json", "");
  EXPECT_EQ(read_trace(folder / "trace_view.json").metadata.at("rank"), "assumed");
}

TEST(AscendDamage, CountsBadEventsAndRefusesATraceWithoutTasks) {
  const Trace trace = read_trace_text(
      quoted("[" + task("a", "AI_CORE") + ",{'ph': 'X', 'name': 'b', 'ts': 'soon'},{'ph': 'X' oops}, 7]"));
  EXPECT_EQ(trace.size(), 1U);
  EXPECT_THAT(trace.import.skipped,
              ElementsAre(Pair("event that is not a JSON object", 2), Pair("invalid or overflowing time", 1)));
  EXPECT_THAT(error_of([&] { read_trace_text(quoted("[{'ph': 'X', 'name': 'aten::mm', 'ts': '5.000', 'dur': 1}]")); }),
              HasSubstr("without tasks of an NPU; record with torch_npu.profiler"));
}

TEST(AscendDamage, ReadsTheIntactPartOfACutFile) { EXPECT_GT(most_slices_of_cuts(ascend_file(), 200), 30U); }

}  // namespace
}  // namespace underlap::formats
