// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <stdexcept>
#include <vector>

#include "profiler/collect/cupti/launch_latency.hpp"
#include "profiler/collect/cupti/sm_budget.hpp"

namespace underlap::cupti {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

KernelActivity kernel(std::uint32_t correlation, std::int64_t start) {
  return {.at = {.start_ns = start, .end_ns = start + 1, .correlation = correlation}};
}

ApiActivity launch(std::uint32_t correlation, std::int64_t start) {
  return {.start_ns = start, .end_ns = start + 1, .correlation = correlation};
}

TEST(LaunchLatency, IsFromTheCallToItsKernel) {
  const std::vector kernels{kernel(1, 1010), kernel(2, 2020), kernel(3, 3090), kernel(4, 4030)};
  const std::vector calls{launch(1, 1000), launch(2, 2000), launch(3, 3000), launch(4, 4000)};
  const LaunchLatency latency = launch_latency(kernels, calls);
  EXPECT_EQ(latency.count, 4);
  EXPECT_EQ(latency.least_ns, 10);
  EXPECT_EQ(latency.median_ns, 20);
  EXPECT_EQ(latency.p99_ns, 90);
  EXPECT_EQ(latency.most_ns, 90);
  EXPECT_EQ(latency.num_negative, 0);
}

TEST(LaunchLatency, CountsAGraphOnceAndARuntimesDriverCallNot) {
  const std::vector kernels{kernel(1, 1050), kernel(1, 1010), kernel(1, 1070)};
  const std::vector calls{launch(1, 1005), launch(1, 1000), launch(1, 1007)};
  const LaunchLatency latency = launch_latency(kernels, calls);
  EXPECT_EQ(latency.count, 1);
  EXPECT_EQ(latency.median_ns, 10);
}

TEST(LaunchLatency, CountsKernelsThatBeganBeforeTheirLaunchOrHaveNone) {
  const std::vector kernels{kernel(1, 990), kernel(2, 2001), kernel(3, 5)};
  const std::vector calls{launch(1, 1000), launch(2, 2000)};
  const LaunchLatency latency = launch_latency(kernels, calls);
  EXPECT_EQ(latency.num_negative, 1);
  EXPECT_EQ(latency.least_ns, -10);
  EXPECT_EQ(latency.num_without_launch, 1);
  EXPECT_EQ(launch_latency({}, calls).count, 0);
}

KernelUse use(const char* name, Extent grid) { return {.kernel = intern(name), .grid = grid}; }

TEST(SmBudget, IsHonouredByKernelsOfAtMostAsManyBlocks) {
  const std::vector kernels{use("gemm", {116, 1, 1}), use("gemm", {58, 2, 1})};
  const SmBudgetCheck check = check_sm_budget(kernels, 116);
  EXPECT_TRUE(check.is_honoured());
  EXPECT_EQ(check.num_within, 2);
}

TEST(SmBudget, NamesKernelsWithMoreBlocksAndTheMostTheyHad) {
  const std::vector kernels{use("wide", {117, 1, 1}), use("wide", {2, 100, 3}), use("gemm", {116, 1, 1})};
  const SmBudgetCheck check = check_sm_budget(kernels, 116);
  EXPECT_FALSE(check.is_honoured());
  EXPECT_EQ(check.num_within, 1);
  EXPECT_THAT(check.not_honoured, ElementsAre(Pair("wide", 600)));
  EXPECT_THROW(check_sm_budget(kernels, 0), std::invalid_argument);
}

TEST(SmBudget, IsToldOfByBudgetForKernelsThatHadOne) {
  std::vector kernels{use("gemm", {132, 1, 1}), use("gemm", {116, 1, 1}), use("wide", {132, 1, 1}),
                      use("wide", {120, 1, 1})};
  EXPECT_THAT(tell_of_sm_budgets(kernels), IsEmpty()) << "none has a budget";
  for (std::size_t i = 1; i < kernels.size(); ++i) kernels[i].sm_budget = i == 3 ? 100 : 116;
  EXPECT_THAT(tell_of_sm_budgets(kernels),
              ElementsAre("sm_budget not honoured: wide has up to 120 blocks, and was to keep to 100 SMs",
                          "sm_budget not honoured: wide has up to 132 blocks, and was to keep to 116 SMs"));
}

}  // namespace
}  // namespace underlap::cupti
