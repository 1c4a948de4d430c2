// SPDX-License-Identifier: Apache-2.0
// Buffers that NCCL knows: what reaches it, in which order, by release.
#include "platform/errors.hpp"
#include "tests/impl/device/cuda/cuda_ranks.hpp"
#include "tests/testing.hpp"

namespace underlap::cuda {
namespace {

using cuda_host::NcclCall;
using cuda_host::NcclDouble;

constexpr std::int64_t kParams = 3000;  // elements, 12,000 bytes: not whole pages
constexpr std::int64_t kGrads = 2048;

/// What one rank asked of NCCL about memory and communicators, by name and communicator.
std::vector<std::string> story_of(int rank) {
  std::vector<std::string> story;
  for (const NcclCall& call : NcclDouble::instance().calls())
    if (call.rank == rank && (call.name.find("Register") != std::string::npos || call.name.starts_with("CommD") ||
                              call.name.starts_with("CommW") || call.name == "CommInitRankConfig"))
      story.push_back(call.name + std::to_string(call.communicator));
  return story;
}

class Registration : public testing::Test {
 protected:
  /// Gathers parameters on one communicator and sums gradients on another, both known to it, and reads what came.
  static void run(CudaRanks& ranks, bool symmetric = true, const CommunicatorHints& hints = {}) {
    ranks.run([&](CudaDevice& device, const Group& group) { train(device, group, symmetric, hints); });
  }

  static void train(CudaDevice& device, const Group& group, bool symmetric = true,
                    const CommunicatorHints& hints = {}) {
    const Communicator reduce = device.declare("dp", group);
    const Communicator gather = device.declare("dp_gather", group, hints);
    const Tensor params = device.allocate_registered("parameters", DataType::f32, kParams, {{gather}, symmetric});
    device.allocate_registered("main_gradients", DataType::f32, kGrads, {{reduce}, symmetric});
    device.begin();
    const std::int64_t share = kParams / group.size();
    const std::vector<float> own(static_cast<std::size_t>(share), static_cast<float>(group.my_index + 1));
    const View mine = flat(params, group.my_index * share, share);
    device.upload(gather.stream, {.kind = Kind::copy}, mine, std::as_bytes(std::span(own)));
    testing_support::communicate(device, gather,
                                 {{.collective = Collective::all_gather, .input = mine, .output = flat(params)}});
    device.synchronize();
    const std::vector<float> all = testing_support::read(device, params);
    EXPECT_EQ(all.front(), 1);
    EXPECT_EQ(all.back(), group.size());
  }
};

TEST_F(Registration, MakesWindowsInOrderOfDeclarationAndTakesThemBackBeforeMemoryAndCommunicatorsGo) {
  CudaRanks ranks(3);
  ranks.use_nccl(22902);
  run(ranks);
  for (const int rank : {0, 1, 2})
    EXPECT_THAT(story_of(rank),
                ElementsAre("CommInitRankConfig0", "CommWindowRegister0", "CommInitRankConfig1", "CommWindowRegister1",
                            "CommWindowDeregister0", "CommWindowDeregister1", "CommDestroy0", "CommDestroy1"));
  EXPECT_THAT(NcclDouble::instance().calls("MemFree"), SizeIs(6)) << "two a rank";
  EXPECT_THAT(ranks.notices(), Each(IsEmpty()));
}

TEST_F(Registration, ACommunicatorTakesItsBuffersInOrderAndGivesThemBackInReverse) {
  CudaRanks(2).run([](CudaDevice& device, const Group& group) {
    const Communicator dp = device.declare("dp", group);
    for (const char* name : {"a", "b", "c"}) device.allocate_registered(name, DataType::f32, 1024, {{dp}, true});
    device.begin();
  });
  const auto buffers_of = [](const char* name) {
    std::vector<const void*> buffers;
    for (const NcclCall& call : NcclDouble::instance().calls(name))
      if (call.rank == 1) buffers.push_back(call.buffer);
    return buffers;
  };
  std::vector<const void*> registered = buffers_of("CommWindowRegister");
  EXPECT_THAT(registered, SizeIs(3));
  std::reverse(registered.begin(), registered.end());
  EXPECT_EQ(buffers_of("CommWindowDeregister"), registered);
}

TEST_F(Registration, AWindowIsSymmetricAndInWholePages) {
  CudaRanks ranks(2);
  run(ranks);
  std::map<int, std::size_t> bytes;  // by communicator
  for (const NcclCall& call : NcclDouble::instance().calls("CommWindowRegister")) {
    EXPECT_EQ(call.flags, 1) << "NCCL_WIN_COLL_SYMMETRIC";
    bytes[call.communicator] = call.count;
  }
  EXPECT_EQ(bytes[0], 8192U);
  EXPECT_EQ(bytes[1], 12288U);
}

TEST_F(Registration, EachRankRegistersItsOwnWhereThatIsAskedFor) {
  CudaRanks ranks(2);
  run(ranks, false);
  EXPECT_THAT(NcclDouble::instance().calls("CommWindowRegister"), IsEmpty());
  const std::vector<NcclCall> calls = NcclDouble::instance().calls("CommRegister");
  ASSERT_THAT(calls, SizeIs(4));
  EXPECT_THAT(calls, Contains(testing::Field(&NcclCall::count, 12000U))) << "what the tensor has";
  EXPECT_THAT(NcclDouble::instance().calls("CommDeregister"), SizeIs(4));
  EXPECT_THAT(ranks.notices(), Each(IsEmpty()));
}

class OfRelease : public Registration, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Versions, OfRelease, testing::Values(22005, 22501, 22703, 22809, 22902));

TEST_P(OfRelease, TakesWindowsFrom2_27OnAndSaysSoBefore) {
  CudaRanks ranks(2);
  ranks.use_nccl(GetParam());
  run(ranks);
  const bool has_windows = GetParam() >= 22700;
  EXPECT_THAT(NcclDouble::instance().calls("CommWindowRegister"), SizeIs(has_windows ? 4 : 0));
  EXPECT_THAT(NcclDouble::instance().calls("CommRegister"), SizeIs(has_windows ? 0 : 4));
  for (const auto& notices : ranks.notices()) {
    if (GetParam() >= 22900)
      EXPECT_THAT(notices, IsEmpty());
    else if (has_windows)
      EXPECT_THAT(notices,
                  ElementsAre(ContainsRegex("communicator dp: NCCL 2.2[78].[39] does not report whether windows"),
                              ContainsRegex("communicator dp_gather: NCCL 2.2[78].[39] does not report")));
    else
      EXPECT_THAT(notices, ElementsAre(AllOf(HasSubstr("communicator dp: no symmetric windows for main_gradients"),
                                             HasSubstr("(needs 2.27)"), HasSubstr("each rank registers its own")),
                                       HasSubstr("communicator dp_gather: no symmetric windows for parameters")));
  }
}

TEST_F(Registration, WhereNcclMakesNoWindowEachRankRegistersItsOwnAndSaysWhy) {
  CudaRanks ranks(2);
  NcclDouble::instance().make_no_windows();
  run(ranks);
  EXPECT_THAT(NcclDouble::instance().calls("CommRegister"), SizeIs(4));
  EXPECT_THAT(ranks.notices()[0], Each(HasSubstr("not in one NVLink domain")));
}

TEST_F(Registration, SaysWhatNcclDidNotRegister) {
  CudaRanks ranks(2);
  NcclDouble::instance().register_nothing();
  run(ranks, false);
  EXPECT_THAT(ranks.notices()[1], ElementsAre(HasSubstr("NCCL registered nothing for main_gradients"),
                                              HasSubstr("NCCL registered nothing for parameters")));
  EXPECT_THAT(NcclDouble::instance().calls("CommDeregister"), IsEmpty());
}

TEST_F(Registration, CopyEnginesNeedWindowsOfWhatTheyMove) {
  const CommunicatorHints copies{.copy_engine = true};
  CudaRanks with_windows(2);
  with_windows.use_nccl(22902);
  run(with_windows, true, copies);
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
  EXPECT_THAT(with_windows.notices(), Each(IsEmpty()));
#endif
  CudaRanks without(2);
  run(without, false, copies);
  EXPECT_THAT(without.notices()[0], Contains(AllOf(HasSubstr("communicator dp_gather"), HasSubstr("expect SMs"))));
  CudaRanks before(2);
  before.use_nccl(22703);
  run(before, true, copies);
  EXPECT_THAT(before.notices()[0],
              AllOf(Contains(HasSubstr("no copy-engine transfers")), Not(Contains(HasSubstr("expect SMs")))));
}

TEST_F(Registration, ARefusalNamesTheBufferAndTheWayOutAndTakesTheOthersBack) {
  CudaRanks ranks(2, {}, {.poll_interval = std::chrono::milliseconds(5)});
  const std::vector<std::string> errors = ranks.run_each([](CudaDevice& device, const Group& group) {
    if (group.my_index == 1) NcclDouble::instance().refuse_next("CommWindowRegister");
    train(device, group);
  });
  EXPECT_THAT(errors, Contains(AllOf(HasSubstr("invalid usage"),
                                     HasSubstr("communicator dp cannot register "
                                               "main_gradients (8192 bytes)"),
                                     HasSubstr("ddp.nccl_ub"), HasSubstr("ddp.disable_symmetric_registration"))));
}

TEST_F(Registration, RanksWhoseBuffersDifferAreAnError) {
  CudaRanks ranks(2, {}, {.poll_interval = std::chrono::milliseconds(5)});
  const std::vector<std::string> errors = ranks.run_each([](CudaDevice& device, const Group& group) {
    const Communicator dp = device.declare("dp", group);
    device.allocate_registered("x", DataType::f32, 1024 * (1 + group.my_index), {{dp}, true});
    device.begin();
  });
  EXPECT_THAT(errors, Each(HasSubstr("communicator 0 (dp): ranks 0 and 1 register buffers of different sizes")));
  EXPECT_THAT(NcclDouble::instance().calls("CommWindowRegister"), IsEmpty()) << "which would wait for ever";
}

TEST_F(Registration, AKeptCommunicatorForgetsTheBuffersOfADeviceThatIsGone) {
  CudaRanks ranks(2);
  const NcclApi api = NcclDouble::api();
  std::vector<std::thread> threads;
  ThreadControlPlane control(std::chrono::seconds(20));
  for (std::int32_t rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      NcclTransport transport(api, control, {.rank = rank});
      for (int cell = 0; cell < 2; ++cell) {
        CudaDevice device(transport,
                          {.rank = rank, .workspace_reserve = 1024, .run_implementation = run_implementation_on_host});
        const Communicator dp = device.declare("dp", {{0, 1}, rank});
        device.allocate_registered("x", DataType::f32, 1024, {{dp}, true});
        device.begin();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(story_of(1), ElementsAre("CommInitRankConfig0", "CommWindowRegister0", "CommWindowDeregister0",
                                       "CommWindowRegister0", "CommWindowDeregister0", "CommDestroy0"));
  EXPECT_THAT(NcclDouble::instance().errors(), IsEmpty());
}

TEST_F(Registration, AnAbortedCommunicatorTakesItsBuffersAlong) {
  CudaRanks ranks(2, {}, {.poll_interval = std::chrono::milliseconds(5)});
  (void)ranks.run_each([](CudaDevice& device, const Group& group) {
    const Communicator dp = device.declare("dp", group);
    const Tensor x = device.allocate_registered("x", DataType::f32, 1024, {{dp}, true});
    device.begin();
    if (group.my_index == 1) throw std::invalid_argument("no data file");
    testing_support::all_reduce(device, dp, x);
    device.synchronize();
  });
  EXPECT_THAT(story_of(0), Not(Contains("CommWindowDeregister0")));
}

TEST_F(Registration, AGroupOfOneHasNothingToRegister) {
  CudaRanks ranks(1);
  run(ranks);
  EXPECT_THAT(story_of(0), ElementsAre("CommInitRankConfig0", "CommInitRankConfig1", "CommDestroy0", "CommDestroy1"));
}

TEST_F(Registration, ATensorWithoutRoomIsNamedBeforeNcclIsAsked) {
  const std::vector<std::string> errors = CudaRanks(1).run_each([](CudaDevice& device, const Group& group) {
    const Communicator dp = device.declare("dp", group);
    device.allocate_registered("parameters", DataType::f32, std::int64_t{3} << 30, {{dp}, true});
  });
  EXPECT_THAT(errors[0], HasSubstr("out of memory for tensor parameters"));
  EXPECT_THAT(NcclDouble::instance().calls("MemAlloc"), IsEmpty());
}

}  // namespace
}  // namespace underlap::cuda
