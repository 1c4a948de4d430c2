// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/details/idle_causes.hpp"

#include <gmock/gmock.h>

#include <cstdint>
#include <vector>

#include "profiler/analysis/exposure.hpp"
#include "tests/profiler/analysis/job_trace.hpp"

namespace underlap::analysis {
namespace {

IdleTime idle_of(const JobTrace& job, const Window& window) {
  return find_idle_causes(job.trace, std::vector{window}).at(window.rank);
}

TEST(IdleCauses, TakesAGapForLaunchWhereTheCallCameLate) {
  JobTrace job(1);
  job.kernel(0, 0, 100);
  job.call(0, 5'000, 7'000, job.kernel(0, 9'000, 9'100));
  const IdleTime idle = idle_of(job, {0, 0, 0, 0, 9'100});
  EXPECT_EQ(idle.of(IdleCause::launch), 8'900);
  EXPECT_EQ(idle.total_ns(), 8'900);
  EXPECT_EQ(idle.gaps, 1);
  EXPECT_EQ(idle.gaps_with_call, 1);
}

TEST(IdleCauses, DoesNotBlameTheHostForWorkThatWasEnqueuedInTime) {
  JobTrace job(1);
  job.kernel(0, 0, 100);
  job.call(0, 10, 20, job.kernel(0, 9'000, 9'100));
  EXPECT_EQ(idle_of(job, {0, 0, 0, 0, 9'100}).of(IdleCause::not_known), 8'900);
}

TEST(IdleCauses, EndsTheLaunchWhereWorkBeginsLongAfterItsCall) {
  JobTrace job(1);
  job.kernel(0, 0, 100);
  job.call(0, 200, 1'100, job.kernel(0, 90'000, 90'100));
  const IdleTime idle = idle_of(job, {0, 0, 0, 0, 90'100});
  EXPECT_EQ(idle.of(IdleCause::launch), 1'000);
  EXPECT_EQ(idle.of(IdleCause::not_known), 88'900);
}

TEST(IdleCauses, SeesAStreamThatWaits) {
  JobTrace job(1);
  job.kernel(0, 0, 100);
  job.trace.add({.track = JobTrace::track(0, 1),
                 .start_ns = 50,
                 .duration_ns = 250,
                 .name = intern("Stream Wait Event"),
                 .tag = {.kind = Kind::none}});
  job.kernel(0, 400, 500);
  const IdleTime idle = idle_of(job, {0, 0, 0, 0, 500});
  EXPECT_EQ(idle.of(IdleCause::wait), 200);
  EXPECT_EQ(idle.of(IdleCause::not_known), 100);
}

TEST(IdleCauses, SeesAPipelineThatHasNothingToReceiveYet) {
  JobTrace job(2);
  const std::uint32_t group = job.group({0, 1});
  job.kernel(1, 0, 100);
  job.nccl(1, 700, 800, {.group = group, .transfers = {{.collective = Collective::receive, .peer = 0}}}, Mode::pp);
  EXPECT_EQ(idle_of(job, {1, 0, 0, 0, 800}).of(IdleCause::pipeline), 600);
}

TEST(IdleCauses, SumsToTheIdleTimeOfEachWindow) {
  JobTrace job(1);
  std::int64_t time = 0;
  for (std::int64_t i = 0; i < 200; ++i) {
    time += (i * 7919) % 41'000;
    const std::uint32_t kernel = i % 5 == 0 ? job.nccl(0, time, time + 3'000) : job.kernel(0, time, time + 900 + i);
    if (i % 3 == 0) job.call(0, time - 30'000, time - (i * 613) % 30'000, kernel);
    time += i % 2 == 0 ? 950 : 0;
  }
  std::vector<Window> windows;
  for (std::int64_t begin = 0; begin < time; begin += 123'457)
    windows.push_back({0, 0, static_cast<std::int32_t>(windows.size()), begin, begin + 123'457});
  std::int64_t idle_ns = 0;
  for (const Split& split : split_windows(job.trace, windows)) idle_ns += split.idle_ns;
  const IdleTime idle = find_idle_causes(job.trace, windows).at(0);
  EXPECT_EQ(idle.total_ns(), idle_ns);
  EXPECT_GT(idle.of(IdleCause::launch), 0);
  EXPECT_GT(idle.of(IdleCause::not_known), 0);
}

TEST(IdleCauses, CallsAWindowWithoutWorkNotKnown) {
  JobTrace job(1);
  EXPECT_EQ(idle_of(job, {0, 0, 0, 0, 500}).of(IdleCause::not_known), 500);
}

}  // namespace
}  // namespace underlap::analysis
