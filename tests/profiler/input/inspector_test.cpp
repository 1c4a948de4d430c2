// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/inspector/inspector_log.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "profiler/analysis/inspector/inspector_join.hpp"
#include "profiler/input/trace_input.hpp"
#include "tests/profiler/input/rank_file.hpp"
#include "tests/profiler/temporary_folder.hpp"
#include "tests/profiler/watch.hpp"

namespace underlap::input::inspector_logs {
namespace {

using namespace ::testing;        // NOLINT
using namespace testing_support;  // NOLINT

std::string line(int pid, std::string_view communicator, int rank, std::string_view collective, int number,
                 std::int64_t bytes, int duration_us, double bus) {
  return fmt::format(
      R"({{"header": {{"id": "{}", "rank": {}, "n_ranks": 2, "nnodes": 1}}, )"
      R"("metadata": {{"inspector_output_format_version": "v4.0", "hostname": "n0", "pid": {}}}, "coll_perf": {{"coll": "{}", )"
      R"("coll_sn": {}, "coll_msg_size_bytes": {}, "coll_exec_time_us": {}, "coll_busbw_gbs": {}}}}})"
      "\n",
      communicator, rank, pid, collective, number, bytes, duration_us, bus);
}

// Three steps of 1000 us on rank `rank` of two: compute from 100 to 500, an all-reduce of 4000 bytes from 400 to 600,
// 650 and 700, and an all-gather of 2000 bytes per rank from 800 to 900.
std::string trace_of(int rank) {
  RankFile file(fmt::format(R"("distributedInfo": {{"backend": "nccl", "rank": {}, "world_size": 2}})", rank));
  constexpr std::string_view kGroup =
      R"(, "Group size": 2, "dtype": "Float", "Process Group Name": "0", "Process Group Description": "DATA_PARALLEL_GROUP",
         "Process Group Ranks": "[0, 1]")";
  for (int step = 0; step < 3; ++step) {
    const double at = 1000.0 * step;
    file.step(step, at, 1000).launched("gemm", 7, at + 100, 400, 10 * step + 1);
    file.launched(
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)", 20, at + 400, 200 + 50 * step, 10 * step + 2,
        fmt::format(R"(, "Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000{})", kGroup));
    file.launched(
        "ncclDevKernel_AllGather_RING_LL(int)", 20, at + 800, 100, 10 * step + 3,
        fmt::format(R"(, "Collective name": "_allgather_base", "In msg nelems": 500, "Out msg nelems": 1000{})",
                    kGroup));
  }
  return file.text();
}

class Inspector : public ::testing::Test {
 protected:
  analysis::InspectorJoin joined(const std::string& log) {
    for (const int rank : {0, 1}) write_text(folder_ / fmt::format("rank{}.json", rank), trace_of(rank));
    write_text(folder_ / "n0.log", log);
    Watch watch;
    const CellTrace cell = read_cell(
        {folder_ / "rank0.json", folder_ / "rank1.json"},
        [](const Trace&) { return attribution::AttributionOptions{}; }, watch);
    return analysis::join_inspector(cell.trace, formats::read_inspector_log(folder_ / "n0.log").records,
                                    cell.summary.shown_windows());
  }

  TemporaryFolder folder_;
};

// The log began earlier than the trace: its numbers do not count from the trace's first collective.
TEST_F(Inspector, RecordsJoinTheCommunicationOfTheirSizeAndDuration) {
  std::string log;
  for (const int rank : {0, 1})
    for (int step = 0; step < 3; ++step) {
      log += line(70 + rank, "0xa", rank, "AllReduce", 40 + step, 4000, 200 + 50 * step, 10 + step);
      log += line(70 + rank, "0xa", rank, "AllGather", 7 + step, 2000, 100, 30);
    }
  const analysis::InspectorJoin join = joined(log);
  EXPECT_EQ(join.records, 12);
  EXPECT_EQ(join.joined, 12);
  ASSERT_EQ(join.rows.size(), 2U);
  // The first step is not counted: the pause before it was not recorded.
  const analysis::InspectorRow& reduce = join.rows[0];
  EXPECT_EQ(name_of(reduce.purpose), "all_reduce");
  EXPECT_EQ(reduce.mode, Mode::dp);
  EXPECT_EQ(reduce.count, 4);
  EXPECT_DOUBLE_EQ(reduce.median_bus_gb_per_s, 11.5);
  EXPECT_EQ(reduce.comm_ns, 2 * (250'000 + 300'000));
  EXPECT_EQ(reduce.exposed_ns, 2 * (150'000 + 200'000));
  EXPECT_EQ(join.rows[1].median_bytes, 2000);
}

TEST_F(Inspector, RecordsOfOtherSizesAndProcessesAreCounted) {
  std::string log = line(70, "0xa", 0, "AllReduce", 0, 77, 200, 10) + line(70, "0xa", 0, "AllReduce", 1, 77, 200, 10);
  log += line(71, "0xb", 1, "Broadcast", 0, 4000, 200, 10) + "garbage\n{\"header\": {}}\n";
  const analysis::InspectorJoin join = joined(log);
  EXPECT_EQ(join.joined, 0);
  std::int64_t unjoined = 0;
  for (const auto& [reason, count] : join.unjoined) unjoined += count;
  EXPECT_EQ(unjoined, 3);
}

TEST_F(Inspector, LogsWithoutACollectiveAreRefused) {
  write_text(folder_ / "n0.log", "{\"header\": {}}\n");
  EXPECT_THROW(formats::read_inspector_log(folder_ / "n0.log"), std::invalid_argument);
}

}  // namespace
}  // namespace underlap::input::inspector_logs
