// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/supervisor.hpp"

#include "platform/errors.hpp"
#include "tests/impl/device/cuda/cuda_ranks.hpp"
#include "tests/testing.hpp"

namespace underlap::cuda {
namespace {

using cuda_host::NcclDouble;
using namespace std::chrono_literals;

/// A supervisor without a thread, that is told the time from now on.
class SupervisorByHand : public testing::Test {
 protected:
  void look_after(std::chrono::milliseconds time) { supervisor_.look(start_ + time); }
  HostCall all_gather() const {
    return {.operation = "all_gather", .communicator = "dp", .ranks = ranks_, .sequence = 7, .limit = 30s};
  }

  std::array<std::int32_t, 2> ranks_{4, 6};
  std::vector<std::string> reported_;
  std::vector<std::string> ended_;
  Supervisor supervisor_{{.rank = 6, .slack = 2s, .grace = 10s, .look_interval = 0ms},
                         [this](const std::string& what) { reported_.push_back(what); },
                         [this](const std::string& why) { ended_.push_back(why); }};
  Supervisor::Clock::time_point start_ = Supervisor::Clock::now();
};

TEST_F(SupervisorByHand, ReportsACallThatDoesNotReturnAndEndsTheProcessAfterAGrace) {
  const Supervisor::Scope call(supervisor_, all_gather());
  look_after(31s);
  EXPECT_THAT(reported_, IsEmpty()) << "who knows the device may name the cause first";
  look_after(33s);
  EXPECT_THAT(reported_, ElementsAre(AllOf(HasSubstr("rank 6: all_gather of communicator dp (ranks 4, 6), sequence 7"),
                                           HasSubstr("30000 ms"))));
  look_after(42s);
  EXPECT_THAT(ended_, IsEmpty());
  look_after(44s);
  look_after(60s);
  EXPECT_EQ(ended_, reported_) << "once";
}

TEST_F(SupervisorByHand, IsContentWithCallsThatReturnAndWithNone) {
  { const Supervisor::Scope call(supervisor_, all_gather()); }
  look_after(1h);
  EXPECT_THAT(reported_, IsEmpty());
  EXPECT_THAT(ended_, IsEmpty());
}

TEST_F(SupervisorByHand, NamesTheInnerOfTwoCallsAndTheSlowerOneByItsOwnLimit) {
  const Supervisor::Scope outer(supervisor_, {.operation = "ncclCommInitRankConfig", .limit = 60s});
  look_after(50s);
  EXPECT_THAT(reported_, IsEmpty());
  const Supervisor::Scope inner(supervisor_, all_gather());
  look_after(70s);
  EXPECT_THAT(reported_, ElementsAre(HasSubstr("all_gather")));
}

TEST_F(SupervisorByHand, EndsAProcessThatFailedAndDoesNotEnd) {
  supervisor_.expect_end("rank 4: its cable is gone");
  look_after(1s);
  look_after(10s);
  EXPECT_THAT(ended_, IsEmpty());
  look_after(12s);
  EXPECT_THAT(ended_, ElementsAre("rank 4: its cable is gone"));
  EXPECT_THAT(reported_, IsEmpty()) << "who failed has told it";
}

// With NCCL, whose calls here block until the test is over.
std::atomic<bool> is_over;

void wait_until_over() {
  while (!is_over) std::this_thread::sleep_for(1ms);
}
ncclResult_t init_that_hangs(ncclComm_t*, int, ncclUniqueId, int, ncclConfig_t*) {
  wait_until_over();
  return ncclInternalError;
}
ncclResult_t all_gather_that_hangs(const void*, void*, std::size_t, ncclDataType_t, ncclComm_t, cudaStream_t) {
  wait_until_over();
  return ncclInternalError;
}
ncclResult_t state_that_hangs(ncclComm_t, ncclResult_t*) {
  wait_until_over();
  return ncclInternalError;
}

class SupervisedNccl : public testing::Test {
 protected:
  SupervisedNccl() {
    cuda_host::Machine::instance().reset(1, 1);
    NcclDouble::instance().reset();
    is_over = false;
  }

  // Joins and communicates until the supervisor has ended the rank.
  void run() {
    NcclTransport transport(api_, control_,
                            {.rank = 0,
                             .peer_timeout = 100ms,
                             .connecting_timeout = connecting_timeout_,
                             .poll_interval = 5ms,
                             .supervisor = {.slack = 20ms, .grace = 50ms, .look_interval = 5ms},
                             .end_process = [this](const std::string& why) {
                               ended_.push_back(why);
                               is_over = true;
                             }});
    try {
      const auto channel = transport.connect(0, "dp", {{0}, 0}, {}, {});
      wait_until_over();
    } catch (const MachineError&) {
      wait_until_over();
    }
  }

  NcclApi api_ = NcclDouble::api();
  ThreadControlPlane control_{20s};
  std::chrono::milliseconds connecting_timeout_{100};
  std::vector<std::string> ended_;
};

TEST_F(SupervisedNccl, AnInitThatNeverReturnsEndsTheRank) {
  api_.CommInitRankConfig = init_that_hangs;
  run();
  EXPECT_THAT(ended_, ElementsAre(HasSubstr("rank 0: ncclCommInitRankConfig of communicator dp (ranks 0)")));
  EXPECT_EQ(control_.failure(), ended_.front()) << "the other ranks are told";
}

TEST_F(SupervisedNccl, ATransferThatNeverGetsEnqueuedEndsTheRank) {
  api_.AllGather = all_gather_that_hangs;
  run();
  EXPECT_THAT(ended_, ElementsAre(HasSubstr("rank 0: all_gather of communicator dp (ranks 0), sequence 1")));
}

/// Of a group of one, which nobody listens to.
class DeafControlPlane final : public ControlPlane {
 public:
  void broadcast(std::string_view, const Group&, std::span<std::byte>) override {}
  void fail(std::int32_t, std::string_view) noexcept override {}
  std::optional<std::string> failure() override { return {}; }
};

TEST_F(SupervisedNccl, BeforeTheEndTransfersAreAbortedThoughNobodyHearsOfTheFailure) {
  DeafControlPlane deaf;
  api_.AllGather = all_gather_that_hangs;
  std::jthread waits_for_abort([] {
    while (NcclDouble::instance().num_aborted_and_destroyed().first == 0) std::this_thread::sleep_for(1ms);
    is_over = true;
  });
  NcclTransport transport(api_, deaf,
                          {.peer_timeout = 100ms,
                           .connecting_timeout = 100ms,
                           .poll_interval = 5ms,
                           .supervisor = {.slack = 20ms, .grace = 60s, .look_interval = 5ms},
                           .end_process = [](const std::string& why) { ADD_FAILURE() << why; }});
  EXPECT_THROW(transport.connect(0, "dp", {{0}, 0}, {}, {}), MachineError);
}

TEST_F(SupervisedNccl, AWatchdogThatHangsItselfEndsTheRank) {
  api_.CommGetAsyncError = state_that_hangs;
  run();
  EXPECT_THAT(ended_, ElementsAre(HasSubstr("the watchdog's check of transfers")));
}

TEST_F(SupervisedNccl, ARankThatFailedAndDoesNotEndIsEnded) {
  control_.fail(3, "its cable is gone");
  run();
  EXPECT_THAT(ended_, ElementsAre(HasSubstr("rank 3: its cable is gone")));
}

}  // namespace
}  // namespace underlap::cuda
