// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/details/slowed_compute.hpp"

#include <gmock/gmock.h>

#include "tests/profiler/analysis/job_trace.hpp"

namespace underlap::analysis {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

TEST(SlowedCompute, ComparesAKernelBesideCommunicationWithItselfAlone) {
  JobTrace job(1);
  job.nccl(0, 0, 300);
  job.kernel(0, 0, 120);
  job.kernel(0, 120, 250);
  job.kernel(0, 400, 500);
  job.kernel(0, 500, 602);
  job.kernel(0, 700, 770, "alone_only");
  const SlowedCompute slowed = find_slowed_compute(job.trace);
  ASSERT_THAT(slowed.kernels, SizeIs(1));
  const SlowedKernel& kernel = slowed.kernels[0];
  EXPECT_EQ(name_of(kernel.name), "gemm");
  EXPECT_EQ(kernel.beside, 2);
  EXPECT_EQ(kernel.alone, 2);
  EXPECT_EQ(kernel.median_beside_ns, 125);
  EXPECT_EQ(kernel.median_alone_ns, 101);
  EXPECT_EQ(kernel.cost_ns, 250 - 2 * 101);
  EXPECT_EQ(slowed.cost_ns, kernel.cost_ns);
  EXPECT_EQ(slowed.compared_share(), 1.0);
}

TEST(SlowedCompute, SaysHowMuchHasNothingToBeComparedWith) {
  JobTrace job(1);
  job.nccl(0, 0, 300);
  job.kernel(0, 0, 100, "never_alone");
  job.kernel(0, 100, 200);
  job.kernel(0, 280, 400, "mostly_alone");
  job.kernel(0, 400, 500);
  const SlowedCompute slowed = find_slowed_compute(job.trace);
  EXPECT_EQ(slowed.beside_ns, 200);
  EXPECT_EQ(slowed.compared_ns, 100);
  EXPECT_EQ(slowed.compared_share(), 0.5);
  EXPECT_EQ(slowed.partly_beside_ns, 120);
  EXPECT_EQ(slowed.unknown_shape_ns, 100);
}

TEST(SlowedCompute, NeverComparesLaunchesOfDifferentSizeOrRank) {
  JobTrace job(2);
  job.nccl(0, 0, 300);
  const auto gemm = [&](std::uint32_t track, std::int64_t start, std::uint32_t blocks) {
    job.trace.add({.track = track,
                   .start_ns = start,
                   .duration_ns = 50,
                   .name = intern("gemm"),
                   .tag = {},
                   .shape = {.grid = {blocks, 1, 1}}});
  };
  gemm(JobTrace::track(0, 0), 0, 8);
  gemm(JobTrace::track(0, 0), 400, 16);
  gemm(JobTrace::track(1, 0), 0, 8);
  EXPECT_THAT(find_slowed_compute(job.trace).kernels, IsEmpty());
}

}  // namespace
}  // namespace underlap::analysis
