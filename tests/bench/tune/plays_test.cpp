// SPDX-License-Identifier: Apache-2.0
#include "bench/tune/plays.hpp"

#include <atomic>
#include <initializer_list>

#include "tests/profiler/temporary_folder.hpp"
#include "tests/testing.hpp"

namespace underlap::bench {
namespace {

class PlaysTest : public ::testing::Test {
 protected:
  std::vector<Play> plays(std::initializer_list<std::int64_t> times) {
    std::vector<Play> all;
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
    Plays of("", false, "job", threads);
    EXPECT_THAT(of.play(plays({5, 3, 4})), ElementsAre(Played{5, ""}, Played{3, ""}, Played{4, ""}));
  }
}

TEST_F(PlaysTest, PlaysTheSameNameOnce) {
  Plays of("", false, "job");
  EXPECT_THAT(of.play(plays({5, 5})), ElementsAre(Played{5, ""}, Played{5, ""}));
  of.play(plays({5}));
  EXPECT_EQ(num_called_, 1);
}

TEST_F(PlaysTest, KeepsWhyThereIsNoTime) {
  Plays of("", false, "job");
  EXPECT_THAT(of.play(plays({-1, 2})), ElementsAre(Played{0, "no such step"}, Played{2, ""}));
}

TEST_F(PlaysTest, GoesOnWithWhatAFolderHolds) {
  Plays(folder_ / "search", false, "job").play(plays({5, -1, 3}));
  // Killed while it wrote.
  std::string text = testing_support::read_text(folder_ / "search/plays.jsonl");
  testing_support::write_text(folder_ / "search/plays.jsonl", text + R"({"name":"step of 7","n)");
  num_called_ = 0;
  Plays again(folder_ / "search", true, "job");
  EXPECT_EQ(again.num_taken_up(), 3);
  EXPECT_THAT(again.play(plays({3, -1, 7})), ElementsAre(Played{3, ""}, Played{0, "no such step"}, Played{7, ""}));
  EXPECT_EQ(num_called_, 1);
  EXPECT_EQ(Plays(folder_ / "search", true, "job").num_taken_up(), 4) << "a line follows the one that was cut off";
}

TEST_F(PlaysTest, RefusesAFolderOfAnotherSearch) {
  Plays(folder_ / "search", false, "job");
  EXPECT_THROW(Plays(folder_ / "search", false, "job"), std::invalid_argument);
  EXPECT_THROW(Plays(folder_ / "search", true, "another"), std::invalid_argument);
}

}  // namespace
}  // namespace underlap::bench
