// SPDX-License-Identifier: Apache-2.0
#include "profiler/certainty/certainty.hpp"

#include <gtest/gtest.h>

namespace underlap::certainty {
namespace {

constexpr const char* kResults = R"({"tables": [
  {"title": "rates", "quantity": "model_tflops", "link": "modelled: h100-sxm", "speed": 0.7, "rows": [
    {"published": 400, "modelled": 440, "is_fit": false}, {"published": 400, "modelled": 380, "is_fit": false},
    {"published": 100, "modelled": 100, "is_fit": true}]},
  {"title": "times", "quantity": "iteration_from_layer", "link": "modelled: a100-sxm", "speed": 1, "rows": [
    {"published": 2, "modelled": 4, "is_fit": false}]}]})";

TEST(Certainty, IsHowMuchFasterTheModelWasThanPublishedStepsOfTheMachine) {
  const auto errors = published_errors(kResults, "modelled: h100-sxm");
  ASSERT_EQ(errors.size(), 1);
  EXPECT_EQ(errors[0].table, "rates");
  EXPECT_EQ(errors[0].rows, 2) << "what was fitted to says nothing";
  EXPECT_NEAR(errors[0].least, -0.05, 1e-12);
  EXPECT_NEAR(errors[0].most, 0.1, 1e-12);
  EXPECT_TRUE(errors[0].is_fitted);
}

TEST(Certainty, SaysWhatWasFittedApart) {
  const auto errors = published_errors(R"({"tables": [
    {"title": "as it is", "quantity": "model_tflops", "link": "modelled: x", "speed": 1, "rows": [
      {"published": 100, "modelled": 120, "is_fit": false}, {"published": 100, "modelled": 110, "is_fit": false}]},
    {"title": "slower", "quantity": "model_tflops", "link": "modelled: x", "speed": 0.75, "rows": [
      {"published": 100, "modelled": 95, "is_fit": false}, {"published": 100, "modelled": 100, "is_fit": true}]}]})",
                                       "modelled: x");
  EXPECT_EQ(line_of(errors.at(0)), "10.0 to 20.0 % faster in 2 rows: as it is");
  EXPECT_EQ(line_of(errors.at(1)), "5.0 % slower in 1 row: slower (--speed 0.75)");
  EXPECT_EQ(
      sentence_of(errors),
      "Accuracy: compared with published steps on such machines, simulated steps are 10.0 to 20.0 % faster without "
      "calibration, and 5.0 % slower with one fitted speed factor");
  EXPECT_EQ(sentence_of({}), "");
  EXPECT_EQ(line_of({.table = "both ways", .rows = 3, .least = -0.05, .most = 0.1}),
            "5.0 % slower to 10.0 % faster in 3 rows: both ways");
  EXPECT_EQ(line_of({.table = "less", .rows = 2, .least = -0.1, .most = -0.05}),
            "10.0 to 5.0 % slower in 2 rows: less");
}

TEST(Certainty, TakesALongerTimeForASlowerModel) {
  EXPECT_NEAR(published_errors(kResults, "modelled: a100-sxm").at(0).most, -0.5, 1e-12);
}

TEST(Certainty, IsNoneOfAMachineThatNobodyPublishedStepsOf) {
  EXPECT_TRUE(published_errors(kResults, "modelled: mine.yaml").empty());
  EXPECT_TRUE(published_errors(kResults, "modelled: h100-sxm2").empty());
  EXPECT_EQ(published_errors(kResults, "modelled: h100-sxm at speed 0.7").size(), 1);
}

TEST(Certainty, ReadsWhatTheProgramCarries) {
  EXPECT_FALSE(published_errors(published_results(), "modelled: a100-sxm").empty());
}

}  // namespace
}  // namespace underlap::certainty
