// SPDX-License-Identifier: Apache-2.0
// The current-scaling recipe trained for real: fp8 products in the inner layers, parameters gathered in either type.
#include "impl/plan/config.hpp"
#include "tests/impl/step/training.hpp"

namespace underlap {
namespace {

using namespace testing_support;  // NOLINT

plan::Config fp8_config(std::int32_t ranks, bool fp8_gather) {
  plan::Config config = small_config(ranks);
  config.model.num_layers = 4;  // two of them in fp8
  config.mixed_precision = {.recipe = "bf16_with_fp8_current_scaling_mixed", .fp8_param_gather = fp8_gather};
  return config;
}

class Fp8Gather : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Types, Fp8Gather, testing::Bool(),
                         [](const auto& test) { return test.param ? "GatheredInFp8" : "GatheredInBf16"; });

TEST_P(Fp8Gather, OverlapLeavesLossesBitIdentical) {
  plan::Config config = fp8_config(2, GetParam());
  config.train.num_microbatches = 2;
  const std::vector<double> off = train(config, 5).losses;
  for (const std::int64_t bucket_size : {1, 9999})
    EXPECT_THAT(train(testing_support::with_overlap(config, bucket_size), 5).losses, ElementsAreArray(off))
        << bucket_size;
}

TEST_P(Fp8Gather, LossesAreThoseOfBf16WithinTheRecipesError) {
  plan::Config config = fp8_config(2, GetParam());
  const std::vector<double> fp8 = train(config, 20).losses;
  config.mixed_precision = {};
  const std::vector<double> bf16 = train(config, 20).losses;
  EXPECT_LT(largest_relative_difference(fp8, bf16), 0.02);
  EXPECT_NE(fp8, bf16);
  EXPECT_LT(fp8.back(), fp8.front() - 0.3) << "it learns";
}

TEST(Fp8Training, GatherInFp8LosesNextToNothingAgainstTheSameRecipeGatheredInBf16) {
  const std::vector<double> in_fp8 = train(fp8_config(2, true), 20).losses;
  const std::vector<double> in_bf16 = train(fp8_config(2, false), 20).losses;
  EXPECT_LT(largest_relative_difference(in_fp8, in_bf16), 0.01);
}

TEST(Fp8Training, SeveralRanksTrainAsOneDoes) {
  plan::Config one = fp8_config(1, true);
  one.train.num_microbatches = 2;
  const std::vector<double> alone = train(one, 10).losses;
  EXPECT_LT(largest_relative_difference(train(fp8_config(2, true), 10).losses, alone), 5e-3)
      << "same samples, gradients summed in another order";
}

}  // namespace
}  // namespace underlap
