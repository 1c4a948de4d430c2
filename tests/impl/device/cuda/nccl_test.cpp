// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "kernels/bf16.hpp"
#include "platform/errors.hpp"
#include "research/calibrate/shared_gpu.hpp"
#include "tests/impl/device/cuda/cuda_ranks.hpp"
#include "tests/impl/device/device_behaviors.hpp"

namespace underlap::cuda {
namespace {

using cuda_host::NcclCall;
using cuda_host::NcclDouble;
using namespace testing_support;  // NOLINT

class Nccl : public testing::TestWithParam<int> {
 protected:
  // Calls after begin(), of one rank, by name and count.
  static std::vector<NcclCall> calls_of(int rank) {
    std::vector<NcclCall> calls = NcclDouble::instance().calls();
    std::erase_if(calls, [&](const NcclCall& call) { return call.rank != rank || call.name == "CommGetAsyncError"; });
    return calls;
  }
};
INSTANTIATE_TEST_SUITE_P(GroupSizes, Nccl, testing::Values(1, 2, 3, 4));

TEST_P(Nccl, MovesEveryPieceOfEveryCollective) {
  const int n = GetParam();
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    CudaRanks(n, {}, {}, seed).run(expect_every_piece_of_every_collective_to_move);
    EXPECT_EQ(NcclDouble::instance().num_aborted_and_destroyed(), std::pair(0, n));
    CudaRanks(n, {}, {}, seed).run([n](CudaDevice& device, const Group& group) {
      const Communicator dp = device.declare("dp", group);
      const Tensor own = device.allocate("own", DataType::f32, 3);
      const Tensor scattered = device.allocate("scattered", DataType::f32, 3 * n);
      const Tensor sent = device.allocate("sent", DataType::f32, 3);
      device.begin();
      const auto me = static_cast<float>(group.my_index);
      fill(device, dp.stream, own, {me, me, me});
      fill(device, dp.stream, scattered, std::vector<float>(static_cast<std::size_t>(3 * n), me));
      communicate(device, dp,
                  {{.collective = Collective::reduce_scatter,
                    .input = flat(scattered),
                    .output = flat(scattered, 3 * group.my_index, 3),
                    .op = ReduceOp::average}});
      communicate(device, dp,
                  {{.collective = Collective::broadcast, .input = flat(own), .output = flat(sent), .peer = n - 1}});
      device.synchronize();
      EXPECT_NEAR(read(device, scattered)[static_cast<std::size_t>(3 * group.my_index)], (n - 1) / 2.0, 1e-6);
      EXPECT_EQ(read(device, sent)[0], static_cast<float>(n - 1));
    });
  }
}

TEST_F(Nccl, SendsAndReceivesBetweenNeighborsAsOneGroup) {
  CudaRanks(3).run([](CudaDevice& device, const Group& group) {
    const Communicator ring = device.declare("ring", group);
    const Tensor x = device.allocate("x", DataType::f32, 2);
    const Tensor y = device.allocate("y", DataType::f32, 2);
    device.begin();
    const auto me = static_cast<float>(group.my_index);
    fill<float>(device, ring.stream, x, {me, me});
    communicate(device, ring,
                {send_to((group.my_index + 1) % 3, flat(x)), receive_from((group.my_index + 2) % 3, flat(y))});
    device.synchronize();
    EXPECT_THAT(read(device, y), Each(static_cast<float>((group.my_index + 2) % 3)));
  });
}

TEST_F(Nccl, IsGivenOneGroupForOneCommunicateAndTypesCountsAndOpsAsAsked) {
  CudaRanks(2).run([](CudaDevice& device, const Group& group) {
    const Communicator dp = device.declare("dp", group);
    const Tensor x = device.allocate("x", DataType::bf16, 8);
    const Tensor y = device.allocate("y", DataType::f32, 4);
    device.begin();
    fill<bf16>(device, dp.stream, x, std::vector<bf16>(8, bf16(1.0F)));
    fill<float>(device, dp.stream, y, std::vector<float>(4, 1.0F));
    communicate(device, dp,
                {{.collective = Collective::reduce_scatter,
                  .input = flat(x),
                  .output = flat(x, 4 * group.my_index, 4),
                  .op = ReduceOp::average},
                 all_reduce_of(y)});
    device.synchronize();
  });
  std::vector<NcclCall> calls = calls_of(0);
  ASSERT_GE(calls.size(), 3U);
  const NcclCall sum = calls[calls.size() - 2];  // the last call is the destruction
  const NcclCall scatter = calls[calls.size() - 3];
  EXPECT_EQ(scatter.name, "ReduceScatter");
  EXPECT_EQ(scatter.count, 4U) << "of the output";
  EXPECT_EQ(scatter.type, ncclBfloat16);
  EXPECT_EQ(scatter.op, ncclAvg);
  EXPECT_EQ(sum.name, "AllReduce");
  EXPECT_EQ(sum.type, ncclFloat32);
  EXPECT_EQ(sum.op, ncclSum);
  EXPECT_EQ(scatter.depth, 1);
  EXPECT_EQ(scatter.group, sum.group);
  EXPECT_EQ(NcclDouble::instance().calls("GroupStart").size(), NcclDouble::instance().calls("GroupEnd").size());
}

TEST_F(Nccl, MakesCommunicatorsInTheOrderOfTheirDeclarationAndWarmsEachBeforeTheNext) {
  CudaRanks(2).run([](CudaDevice& device, const Group& group) {
    device.declare("dp", group);
    device.declare("norm", group);
    device.begin();
  });
  std::vector<std::string> names;
  for (const NcclCall& call : calls_of(1))
    if (names.empty() || names.back() != call.name + std::to_string(call.communicator))
      names.push_back(call.name + std::to_string(call.communicator));
  EXPECT_THAT(
      names, ElementsAre("CommInitRankConfig0", "AllReduce0", "AllGather0", "ReduceScatter0", "Broadcast0", "Send0",
                         "Recv0", "Send0", "Recv0", "CommInitRankConfig1", "AllReduce1", "AllGather1", "ReduceScatter1",
                         "Broadcast1", "Send1", "Recv1", "Send1", "Recv1", "CommDestroy0", "CommDestroy1"));
}

TEST_F(Nccl, KeepsCommunicatorsForTheNextDevice) {
  const NcclApi api = NcclDouble::api();
  cuda_host::Machine::instance().reset(1, 1);
  NcclDouble::instance().reset();
  ThreadControlPlane control(std::chrono::seconds(20));
  NcclTransport transport(api, control, {});
  for (int cell = 0; cell < 3; ++cell) {
    CudaDevice device(transport, {.workspace_reserve = 1024});
    device.declare("dp", {{0}, 0}, {.sms = cell == 2 ? 4 : 0});
    device.begin();
  }
  EXPECT_THAT(NcclDouble::instance().calls("CommInitRankConfig"), SizeIs(2)) << "other hints, another communicator";
}

TEST_F(Nccl, RefusesSumsInFp32OfABf16Wire) {
  const std::vector<std::string> errors = CudaRanks(2).run_each([](CudaDevice& device, const Group& group) {
    const Communicator dp = device.declare("dp", group);
    const Tensor x = device.allocate("x", DataType::bf16, 8);
    device.begin();
    communicate(device, dp,
                {{.collective = Collective::all_reduce,
                  .input = flat(x),
                  .output = flat(x),
                  .accumulator = Accumulator::fp32}});
  });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("all_reduce of communicator dp"), HasSubstr("reduce_accumulator"),
                                 HasSubstr("reduce_scatter_with_fp32_accumulation"))));
}

TEST_F(Nccl, MovesFp8AsBytes) {
  CudaRanks(2).run([](CudaDevice& device, const Group& group) {
    const Communicator dp = device.declare("dp", group);
    const Tensor x = device.allocate("x", DataType::f8e4m3, 6);
    device.begin();
    expect_fp8_to_move_byte_for_byte(device, dp, group, x);
  });
  const std::vector<NcclCall> calls = calls_of(0);
  const NcclCall gather = calls[calls.size() - 2];
  EXPECT_EQ(gather.name, "AllGather");
  EXPECT_EQ(gather.type, ncclUint8);
  EXPECT_EQ(gather.count, 3U);
}

TEST_F(Nccl, TellsOfVariablesThatItTakesInPlaceOfHints) {
  ::setenv("NCCL_MAX_CTAS", "4", 1);
  ThreadControlPlane control(std::chrono::seconds(20));
  const NcclApi api = NcclDouble::api();
  const NcclTransport transport(api, control, {.poll_interval = std::chrono::milliseconds(0)});
  ::unsetenv("NCCL_MAX_CTAS");
  EXPECT_THAT(transport.notices(), Contains(HasSubstr("NCCL_MAX_CTAS is 4 in the environment")));
}

TEST_F(Nccl, ARefusedTransferOfAGroupLeavesNoGroupOpen) {
  CudaRanks ranks(1, {}, {.poll_interval = std::chrono::milliseconds(0)});
  const std::vector<std::string> errors = ranks.run_each([](CudaDevice& device, const Group& group) {
    const auto [dp, x] = begin_with_communicator(device, group, "dp", 8);
    const NcclApi api = NcclDouble::api();
    EXPECT_EQ(api.GroupStart(), ncclSuccess);
    EXPECT_EQ(api.GroupEnd(), ncclSuccess);
    cuda_host::NcclDouble::instance().refuse_next("AllReduce");
    all_reduce(device, dp, x);
  });
  EXPECT_THAT(errors[0], AllOf(HasSubstr("rank 0: operation 1 (all_reduce) on stream dp"), HasSubstr("invalid usage")));
  const auto starts = NcclDouble::instance().calls("GroupStart");
  const auto ends = NcclDouble::instance().calls("GroupEnd");
  EXPECT_EQ(starts.size(), ends.size());
  EXPECT_EQ(ends.back().depth, 0);
}

TEST_F(Nccl, AMemberThatDoesNotConnectIsNamed) {
  CudaRanks ranks(3, {}, {.peer_timeout = std::chrono::milliseconds(300)});
  const std::vector<std::string> errors = ranks.run_each([](CudaDevice& device, const Group& group) {
    device.declare("dp", group);
    if (group.my_index != 1) device.begin();
  });
  EXPECT_THAT(errors[0], AllOf(HasSubstr("communicator 0 (dp)"), HasSubstr("waited 300 ms for rank 1")));
}

TEST_F(Nccl, ARankThatFailsBeforeItConnectsReleasesThoseWhoWaitForIt) {
  CudaRanks ranks(3, {}, {.peer_timeout = std::chrono::seconds(60)});
  const std::vector<std::string> errors = ranks.run_each([](CudaDevice& device, const Group& group) {
    device.declare("dp", group);
    if (group.my_index == 1) throw std::invalid_argument("no data file");
    device.begin();
  });
  EXPECT_THAT(errors, ElementsAre("rank 1: no data file", "no data file", "rank 1: no data file"));
}

TEST(NcclVersion, OlderThanNeededIsRefusedWithBothVersions) {
  EXPECT_NO_THROW(require_nccl_version(22000, "/lib/libnccl.so.2"));
  EXPECT_THAT(
      [] { require_nccl_version(21805, "/lib/libnccl.so.2"); },
      ThrowsMessage<MachineError>(AllOf(HasSubstr("2.18.5"), HasSubstr("/lib/libnccl.so.2"), HasSubstr("2.20.0"))));
}

TEST(NcclLibrary, IsLoadedWhereThereIsOne) {
  try {
    const NcclApi api = NcclApi::load();
    EXPECT_GE(api.version, 22000);
    EXPECT_NE(api.AllReduce, nullptr);
  } catch (const MachineError& error) {
    EXPECT_THAT(error.what(), HasSubstr("libnccl.so.2"));
  }
}

TEST(SharedGpu, GivesEachRankAHostOfItsOwn) {
  const auto variables = [](std::int32_t rank) {
    const auto list = shared_gpu_environment(rank);
    return std::map<std::string, std::string>(list.begin(), list.end());
  };
  EXPECT_NE(variables(0).at("NCCL_HOSTID"), variables(1).at("NCCL_HOSTID"));
  EXPECT_EQ(variables(0).at("NCCL_NET"), "Socket");
}

TEST(NcclLink, NamesTheLibraryAndItsVersionAsTheLink) {
  const NcclApi api = NcclDouble::api(22809);
  ThreadControlPlane control(std::chrono::seconds(1));
  const NcclTransport transport(api, control, {.poll_interval = std::chrono::milliseconds(0)});
  EXPECT_EQ(transport.link(), "nccl 2.28.9");
}

}  // namespace
}  // namespace underlap::cuda
