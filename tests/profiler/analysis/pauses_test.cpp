// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/steps/pauses.hpp"

#include <gmock/gmock.h>

#include <cstdint>
#include <string>

#include "profiler/analysis/analysis.hpp"
#include "profiler/analysis/trace_summary.hpp"
#include "tests/profiler/analysis/foreign_trace.hpp"

namespace underlap::analysis {
namespace {

using namespace ::testing;  // NOLINT
using testing_support::ForeignTrace;

TEST(Pauses, AreNamedLikeCheckpointsEvaluationsOrDataLoading) {
  for (const char* name :
       {"save_checkpoint", "torch.save", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "Validation",
        "save-checkpoint", "dcp.save", "checkpoint", "eval", "run_eval", "eval_step 3", "evaluate",
        "fetch from data loader"})
    EXPECT_TRUE(is_pause(name)) << name;
  for (const char* name : {"aten::mm", "retrieval", "medieval", "backward", "ProfilerStep#3", "CheckpointFunction",
                           "torch/utils/checkpoint.py(447): checkpoint", "save_for_backward", ""})
    EXPECT_FALSE(is_pause(name)) << name;
}

// Ten steps of 100 us; step 5 takes 1000 us longer. `pause` runs for `pause_us` in step 5, and `always` in every step.
Summary stalled_by(const std::string& pause, std::int64_t pause_us, const std::string& always = "") {
  ForeignTrace made;
  made.kernel("before", -5, -4, -1);
  std::int64_t begin = 0;
  for (int step = 0; step < 10; ++step) {
    const std::int64_t stall = step == 5 ? 1000 : 0;
    made.range("ProfilerStep#" + std::to_string(step), begin, begin + 100 + stall);
    if (!always.empty()) made.range(always, begin + 1, begin + 20 + stall);
    if (stall > 0) made.range(pause, begin + 1, begin + 1 + pause_us);
    made.kernel("gemm", begin + 10 + stall, begin + 20 + stall, begin + 90 + stall);
    begin += 100 + stall;
  }
  return summarize(made.trace);
}

TEST(StalledStep, NamesTheRangeThatExplainsItsExtraTime) {
  EXPECT_EQ(stalled_text(stalled_by("save_checkpoint", 900)),
            "1 stalled step is excluded: step 5 took 1.1 ms (typically 0.1 ms), 0.9 ms of it in \"save_checkpoint\"");
}

TEST(StalledStep, CountsOnlyTheExtraTimeOfARangeInEveryStep) {
  const Summary summary = stalled_by("forward", 900, "enumerate(DataLoader)");
  ASSERT_EQ(summary.stalled.size(), 1U);
  EXPECT_EQ(summary.stalled[0].cause, "enumerate(DataLoader)");
  EXPECT_EQ(summary.stalled[0].cause_ns, 1'000'000);
}

TEST(StalledStep, NamesNoRangeThatExplainsLittleOrWhoseNameShowsNoCause) {
  EXPECT_EQ(stalled_by("save_checkpoint", 300).stalled.at(0).cause, "");
  EXPECT_EQ(stalled_by("forward", 900).stalled.at(0).cause, "");
}

TEST(Faults, OmitReasonsThatConcernOnlyTheHost) {
  ForeignTrace made;
  made.kernel("gemm", 0, 10);
  made.trace.import.skipped["host event with a negative duration"] = 3;
  EXPECT_THAT(faults(made.trace, summarize(made.trace)), IsEmpty());
  EXPECT_THAT(analysis_json(made.trace, summarize(made.trace)), HasSubstr("host event with a negative duration"));
  made.trace.import.skipped["negative duration"] = 1;
  EXPECT_THAT(faults(made.trace, summarize(made.trace)),
              ElementsAre(AllOf(HasSubstr("skipped 1: negative duration"), Not(HasSubstr("host event")))));
}

}  // namespace
}  // namespace underlap::analysis
