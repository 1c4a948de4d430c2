// SPDX-License-Identifier: Apache-2.0
#include "bench/tune/simulated_steps.hpp"

#include <atomic>
#include <initializer_list>

#include "tests/profiler/temporary_folder.hpp"
#include "tests/testing.hpp"

namespace underlap::bench {
namespace {

class PlaysTest : public ::testing::Test {
 protected:
  std::vector<SimulatedStep> steps(std::initializer_list<std::int64_t> times) {
    std::vector<SimulatedStep> all;
    for (const std::int64_t ns : times)
      all.push_back({"step of " + std::to_string(ns), [this, ns] {
                       ++num_called_;
                       if (ns < 0) throw std::invalid_argument("no such step");
                       return ns;
                     }});
    return all;
  }

  testing_support::TemporaryFolder folder_;
  std::atomic<int> num_called_ = 0;
};

TEST_F(PlaysTest, GivesTimesInTheOrderOfTheQuestionsOnAnyNumberOfThreads) {
  for (const unsigned threads : {1U, 3U, 16U}) {
    SimulatedSteps of("", false, "job", threads);
    EXPECT_THAT(of.simulate(steps({5, 3, 4})), ElementsAre(StepTime{5, ""}, StepTime{3, ""}, StepTime{4, ""}));
  }
}

TEST_F(PlaysTest, PlaysTheSameNameOnce) {
  SimulatedSteps of("", false, "job");
  EXPECT_THAT(of.simulate(steps({5, 5})), ElementsAre(StepTime{5, ""}, StepTime{5, ""}));
  of.simulate(steps({5}));
  EXPECT_EQ(num_called_, 1);
}

TEST_F(PlaysTest, KeepsWhyThereIsNoTime) {
  SimulatedSteps of("", false, "job");
  EXPECT_THAT(of.simulate(steps({-1, 2})), ElementsAre(StepTime{0, "no such step"}, StepTime{2, ""}));
}

TEST_F(PlaysTest, GoesOnWithWhatAFolderHolds) {
  SimulatedSteps(folder_ / "search", false, "job").simulate(steps({5, -1, 3}));
  // Killed while it wrote.
  std::string text = testing_support::read_text(folder_ / "search/plays.jsonl");
  testing_support::write_text(folder_ / "search/plays.jsonl", text + R"({"name":"step of 7","n)");
  num_called_ = 0;
  SimulatedSteps again(folder_ / "search", true, "job");
  EXPECT_EQ(again.num_taken_up(), 3);
  EXPECT_THAT(again.simulate(steps({3, -1, 7})),
              ElementsAre(StepTime{3, ""}, StepTime{0, "no such step"}, StepTime{7, ""}));
  EXPECT_EQ(num_called_, 1);
  EXPECT_EQ(SimulatedSteps(folder_ / "search", true, "job").num_taken_up(), 4)
      << "a line follows the one that was cut off";
}

TEST_F(PlaysTest, RefusesAFolderOfAnotherSearch) {
  SimulatedSteps(folder_ / "search", false, "job");
  EXPECT_THROW(SimulatedSteps(folder_ / "search", false, "job"), std::invalid_argument);
  EXPECT_THROW(SimulatedSteps(folder_ / "search", true, "another"), std::invalid_argument);
}

}  // namespace
}  // namespace underlap::bench
