// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/layout/rank_layouts.hpp"

#include "impl/plan/plan.hpp"
#include "tests/testing.hpp"

namespace underlap::plan {
namespace {

RankLayouts layouts_of(const std::string& yaml) {
  return rank_layouts(parse("model: {preset: tiny, " + yaml, "config.yaml").cells.front().plan.config.parallel);
}

std::vector<std::pair<Mode, std::int32_t>> digits_of(const RankLayout& layout) {
  std::vector<std::pair<Mode, std::int32_t>> digits;
  for (const RankDigit& digit : layout) digits.emplace_back(digit.mode, digit.size);
  return digits;
}

TEST(RankLayouts, NumberRanksAsMegatronDoes) {
  const RankLayouts layouts = layouts_of(
      "tensor_model_parallel_size: 2, context_parallel_size: 2, pipeline_model_parallel_size: 2}\n"
      "data_parallel_size: 4\n");
  ASSERT_EQ(layouts.layouts.size(), 1U);
  EXPECT_THAT(digits_of(layouts.layouts[0]), ElementsAre(std::pair(Mode::tp, 2), std::pair(Mode::cp, 2),
                                                         std::pair(Mode::dp, 4), std::pair(Mode::pp, 2)));
}

TEST(RankLayouts, CountExpertsOverContextAndDataParallelism) {
  const RankLayouts layouts = layouts_of(
      "tensor_model_parallel_size: 2, sequence_parallel: true, context_parallel_size: 2, "
      "expert_model_parallel_size: 4, num_moe_experts: 8}\ndata_parallel_size: 4\n");
  ASSERT_EQ(layouts.layouts.size(), 2U);
  EXPECT_THAT(digits_of(layouts.layouts[1]), ElementsAre(std::pair(Mode::tp, 2), std::pair(Mode::ep, 4),
                                                         std::pair(Mode::dp, 2), std::pair(Mode::pp, 1)));
}

}  // namespace
}  // namespace underlap::plan
