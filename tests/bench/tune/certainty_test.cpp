// SPDX-License-Identifier: Apache-2.0
#include "bench/tune/certainty.hpp"

#include <gtest/gtest.h>

namespace underlap::bench {
namespace {

constexpr const char* kResults = R"({"tables": [
  {"title": "rates", "quantity": "model_tflops", "link": "modelled: h100-sxm", "speed": 0.7, "rows": [
    {"published": 400, "modelled": 440, "is_fit": false}, {"published": 400, "modelled": 380, "is_fit": false},
    {"published": 100, "modelled": 100, "is_fit": true}]},
  {"title": "times", "quantity": "iteration_from_layer", "link": "modelled: a100-sxm", "speed": 1, "rows": [
    {"published": 2, "modelled": 4, "is_fit": false}]}]})";

TEST(Certainty, IsHowMuchFasterTheModelWasThanPublishedStepsOfTheMachine) {
  const auto errors = published_errors(kResults, "h100-sxm");
  ASSERT_EQ(errors.size(), 1);
  EXPECT_EQ(errors[0].table, "rates");
  EXPECT_EQ(errors[0].rows, 2) << "what was fitted to says nothing";
  EXPECT_NEAR(errors[0].least, -0.05, 1e-12);
  EXPECT_NEAR(errors[0].most, 0.1, 1e-12);
  EXPECT_TRUE(errors[0].is_fitted);
}

TEST(Certainty, TakesALongerTimeForASlowerModel) {
  EXPECT_NEAR(published_errors(kResults, "a100-sxm").at(0).most, -0.5, 1e-12);
}

TEST(Certainty, IsNoneOfAMachineThatNobodyPublishedStepsOf) {
  EXPECT_TRUE(published_errors(kResults, "mine.yaml").empty());
}

TEST(Certainty, ReadsWhatTheProgramCarries) { EXPECT_FALSE(published_errors(published_results(), "a100-sxm").empty()); }

}  // namespace
}  // namespace underlap::bench
