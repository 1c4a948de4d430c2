// SPDX-License-Identifier: Apache-2.0
#include "profiler/collect/cupti/sm_budget.hpp"

#include <gmock/gmock.h>

namespace underlap::cupti {
namespace {

using namespace ::testing;  // NOLINT

TEST(SmBudget, NamesKernelsWithMoreBlocksThanTheirBudgetAndTheMostTheyHad) {
  const auto use = [](const char* name, Extent grid, std::int32_t budget = 0) {
    return KernelUse{.kernel = intern(name), .grid = grid, .sm_budget = budget};
  };
  EXPECT_THAT(warn_sm_budgets(std::vector{use("gemm", {132, 1, 1}), use("gemm", {58, 2, 1}, 116)}), IsEmpty());
  EXPECT_THAT(warn_sm_budgets(std::vector{use("gemm", {116, 1, 1}, 116), use("wide", {117, 1, 1}, 116),
                                          use("wide", {2, 100, 3}, 116), use("wide", {120, 1, 1}, 100)}),
              ElementsAre("sm_budget not honored: wide has up to 120 blocks, but its limit is 100 SMs",
                          "sm_budget not honored: wide has up to 600 blocks, but its limit is 116 SMs"));
}

}  // namespace
}  // namespace underlap::cupti
