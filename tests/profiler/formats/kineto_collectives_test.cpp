// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "profiler/trace/trace.hpp"
#include "tests/profiler/formats/kineto_text.hpp"

namespace underlap::formats {
namespace {

using namespace underlap::testing_support;  // NOLINT
using namespace ::testing;                  // NOLINT

constexpr std::string_view kGroup =
    R"("Group size": 4, "Process Group Name": "3", "Process Group Description": "TENSOR_MODEL_PARALLEL_GROUP",
       "Process Group Ranks": "[4, 5, 6, 7]")";

std::string nccl_kernel(std::string_view ts, std::string_view arguments) {
  return R"({"ph":"X","cat":"kernel","name":"ncclDevKernel","pid":0,"tid":9,"dur":1,"ts":)" + std::string(ts) +
         R"(,"args":{"device":0,"stream":9,)" + std::string(arguments) + "}}";
}

std::string record_param_comms(std::string_view external_id, std::string_view arguments) {
  return R"({"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":90,"tid":91,"ts":1,"dur":1,"args":{"External id":)" +
         std::string(external_id) + "," + std::string(arguments) + "}}";
}

TEST(KinetoCollectives, StandOnTheKernelThatStatesThem) {
  const Trace trace = read_kineto_events({nccl_kernel(
      "5",
      R"("Collective name":"_allgather_base","dtype":"BFloat16","In msg nelems":10,"Out msg nelems":40,"Seq":17,)" +
          std::string(kGroup))});
  EXPECT_THAT(trace.groups,
              ElementsAre(GroupRecord{kNoName, {4, 5, 6, 7}, intern("3"), intern("TENSOR_MODEL_PARALLEL_GROUP"), 4}));
  ASSERT_NE(trace.communication(0), nullptr);
  EXPECT_EQ(trace.communication(0)->sequence, 17);
  EXPECT_EQ(trace.communication(0)->last_arrival_ns, -1);
  EXPECT_THAT(trace.communication(0)->transfers,
              ElementsAre(TransferRecord{Collective::all_gather, DataType::bf16, -1, 80, 60}));
  EXPECT_EQ(name_of(trace.tag(0).purpose), "all_gather");
  EXPECT_EQ(trace.tag(0).kind, Kind::compute);
}

TransferRecord transfer_of(std::string_view name, std::string_view rest) {
  const Trace trace = read_kineto_events({nccl_kernel(
      "5", R"("Collective name":")" + std::string(name) + "\"," + std::string(rest) + "," + std::string(kGroup))});
  return trace.communication(0)->transfers.at(0);
}

TEST(KinetoCollectives, CountBytesOfTheWholeBuffer) {
  const char* reduce = R"("dtype":"Float","In msg nelems":100,"Out msg nelems":25)";
  EXPECT_EQ(transfer_of("allreduce", R"("dtype":"Float","In msg nelems":100,"Out msg nelems":100)"),
            (TransferRecord{Collective::all_reduce, DataType::f32, -1, 400, 600}));
  EXPECT_EQ(transfer_of("_reduce_scatter_base", reduce).bytes, 400);
  EXPECT_EQ(transfer_of("all_gather", reduce).bytes, 400);
  EXPECT_EQ(transfer_of("all_to_all", R"("dtype":"Half","In msg nelems":100,"In split size":"[]")"),
            (TransferRecord{Collective::all_to_all, DataType::u8, -1, 200, 150}));
  EXPECT_EQ(transfer_of("all_to_allv", R"("dtype":"Half","In msg nelems":100,"In split size":"[70, 10, 10, 10]")")
                .bytes_on_wire,
            0);
  EXPECT_EQ(transfer_of("allreduce", R"("dtype":"Unheard","In msg nelems":100)").bytes, 0);
  EXPECT_EQ(transfer_of("allreduce", R"("dtype":"Float","In msg nelems":9223372036854775807)").bytes, 0);
}

TEST(KinetoCollectives, KnowThePeerByItsPlaceInTheGroup) {
  const char* size = R"("dtype":"Byte","In msg nelems":64,"Out msg nelems":64)";
  EXPECT_EQ(transfer_of("send", std::string(size) + R"(,"Dst Rank":6)"),
            (TransferRecord{Collective::send, DataType::u8, 2, 64, 64}));
  EXPECT_EQ(transfer_of("recv", std::string(size) + R"(,"Src Rank":1)"),
            (TransferRecord{Collective::receive, DataType::u8, 1, 64, 0}));
  EXPECT_EQ(transfer_of("recv", std::string(size) + R"(,"Src Rank":9)").peer, -1);
}

TEST(KinetoCollectives, HavePurposeAndGroupAlsoWhereThereIsNoWordForThem) {
  const Trace trace = read_kineto_events({nccl_kernel("5", R"("Collective name":"gather",)" + std::string(kGroup))});
  ASSERT_NE(trace.communication(0), nullptr);
  EXPECT_THAT(trace.communication(0)->transfers, IsEmpty());
  EXPECT_EQ(name_of(trace.tag(0).purpose), "gather");
}

TEST(KinetoCollectives, ComeFromTheOperationAroundTheLaunchWhereTheKernelSaysNothing) {
  const std::string all = R"("Collective name":"allreduce","dtype":"Float","In msg nelems":2,)" + std::string(kGroup);
  const Trace trace = read_kineto_events(
      {nccl_kernel("9", R"("External id":70)"), nccl_kernel("5", R"("External id":71)"),
       nccl_kernel("7", R"("External id":8)"),
       R"({"ph":"X","cat":"kernel","name":"copy","pid":0,"tid":9,"ts":4,"dur":1,"args":{"External id":71}})",
       record_param_comms("70", all), record_param_comms("71", all),
       record_param_comms("8", R"("Collective name":"wait","Group size":1,"Process Group Ranks":"[]")")});
  ASSERT_NE(trace.communication(0), nullptr);
  EXPECT_EQ(trace.communication(0)->sequence, 1);
  ASSERT_NE(trace.communication(1), nullptr);
  EXPECT_EQ(trace.communication(1)->sequence, 0);
  EXPECT_EQ(trace.communication(2), nullptr) << "waits are no collective";
  EXPECT_EQ(trace.communication(3), nullptr) << "copies for the collective";
  EXPECT_EQ(trace.groups.size(), 1);
}

// As PyTorch 2.0 and earlier write them: neither the kernel nor record_param_comms says more than shapes.
TEST(KinetoCollectives, ComeFromTheShapesOfTheRangeAroundTheLaunch) {
  const auto range = [](std::string_view name, std::string_view ts, std::string_view arguments) {
    return R"({"ph":"X","cat":"user_annotation","name":")" + std::string(name) +
           R"(","pid":90,"tid":91,"dur":10,"ts":)" + std::string(ts) + R"(,"args":{)" + std::string(arguments) + "}}";
  };
  const auto call = [](std::string_view ts, std::string_view correlation) {
    return R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":90,"tid":91,"dur":1,"ts":)" +
           std::string(ts) + R"(,"args":{"correlation":)" + std::string(correlation) + "}}";
  };
  const Trace trace = read_kineto_events(
      {range("nccl:all_reduce", "10", R"("Input Dims":[[3, 4], [5]],"Input type":["c10::BFloat16", "c10::BFloat16"])"),
       range("nccl:send 0->1", "30", R"("Input Dims":[[7]],"Input type":["float"])"), call("12", "1"), call("34", "2"),
       call("50", "3"), nccl_kernel("60", R"("correlation":1)"), nccl_kernel("70", R"("correlation":2)"),
       nccl_kernel("80", R"("correlation":3)")});
  std::vector<TransferRecord> transfers;
  for (std::size_t i = 0; i < trace.size(); ++i)
    if (const CommunicationRecord* record = trace.communication(i)) {
      transfers.insert(transfers.end(), record->transfers.begin(), record->transfers.end());
      EXPECT_FALSE(trace.known_group(i));
    }
  EXPECT_THAT(transfers, ElementsAre(TransferRecord{Collective::all_reduce, DataType::bf16, -1, 34, 0},
                                     TransferRecord{Collective::send, DataType::f32, -1, 28, 28}))
      << "the third call is in no range";
}

std::vector<std::int32_t> kineto_group_ranks(std::string_view arguments, std::string_view members = "") {
  const Trace trace = read_kineto_events(
      {nccl_kernel("5", R"("Collective name":"allreduce","Process Group Name":"12",)" + std::string(arguments))},
      members);
  return trace.groups.at(0).ranks;
}

TEST(KinetoCollectives, TakeRanksThatAreLeftOutFromTheGroupsOfTheJob) {
  const char* job = R"("distributedInfo": {"rank": 0, "pg_config": [{"pg_name": "1", "ranks": [9]},
                      {"pg_name": "12", "pg_desc": "dp", "pg_size": 4, "ranks": [0, 2, 4, 6]}]})";
  EXPECT_THAT(kineto_group_ranks(R"("Group size":4,"Process Group Ranks":"[0, 2, ..., 6]")", job),
              ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(kineto_group_ranks(R"("Group size":3,"Process Group Ranks":"[0, ...]")", job), IsEmpty());
  EXPECT_THAT(kineto_group_ranks(
                  R"("Group size":3,"Process Group Ranks":"[0, ...]","Global rank start":1,"Global rank stride":8)"),
              ElementsAre(1, 9, 17));
  EXPECT_THAT(kineto_group_ranks(R"("Group size":2,"Process Group Ranks":"[3, 5]")", job), ElementsAre(3, 5));
  EXPECT_THAT(kineto_group_ranks(R"("Group size":2)"), IsEmpty());
}

}  // namespace
}  // namespace underlap::formats
