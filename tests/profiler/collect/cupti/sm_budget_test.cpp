// SPDX-License-Identifier: Apache-2.0
#include "profiler/collect/cupti/sm_budget.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

namespace underlap::cupti {
namespace {

using namespace ::testing;  // NOLINT

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
  EXPECT_THAT(warn_sm_budgets(kernels), IsEmpty()) << "none has a budget";
  for (std::size_t i = 1; i < kernels.size(); ++i) kernels[i].sm_budget = i == 3 ? 100 : 116;
  EXPECT_THAT(warn_sm_budgets(kernels),
              ElementsAre("sm_budget not honored: wide has up to 120 blocks, but its limit is 100 SMs",
                          "sm_budget not honored: wide has up to 132 blocks, but its limit is 116 SMs"));
}

}  // namespace
}  // namespace underlap::cupti
