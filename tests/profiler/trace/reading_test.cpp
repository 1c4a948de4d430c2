// SPDX-License-Identifier: Apache-2.0
#include "profiler/trace/reading.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace underlap {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

class Heard : public ReadingWatch {
 public:
  void say(const std::string& what) override { said.push_back(what); }
  void on_progress(double fraction) override { fractions.push_back(fraction); }
  bool is_cancelled() const override { return is_cancelled_now; }

  std::vector<std::string> said;
  std::vector<double> fractions;
  bool is_cancelled_now = false;
};

TEST(Reading, TellsTheShareOfAllFilesAndNeverLessThanBefore) {
  Heard heard;
  Reading reading(heard);
  reading.begin_file(0.25);
  reading.at(0.5);
  reading.at(0.25);
  reading.at(7.0);
  reading.begin_file(0.75);
  reading.at(0.0);
  reading.begin_stage(0, 0.5);
  reading.at(std::uint64_t{10}, std::uint64_t{10});
  reading.begin_stage(0.5, 1);
  reading.at(std::uint64_t{1}, std::uint64_t{3});
  reading.at(std::uint64_t{0}, std::uint64_t{0});
  reading.end();
  reading.end();
  EXPECT_THAT(heard.fractions,
              ElementsAre(DoubleEq(0.125), DoubleEq(0.25), DoubleEq(0.625), DoubleEq(0.75), DoubleEq(1)));
}

TEST(Reading, ThrowsOnceItIsCancelledAndNotBefore) {
  Heard heard;
  Reading reading(heard);
  EXPECT_NO_THROW(reading.check());
  heard.is_cancelled_now = true;
  EXPECT_THROW(reading.check(), Cancelled);
  EXPECT_THROW(reading.at(0.5), Cancelled);
}

TEST(Reading, NeedsNoWatch) {
  Reading reading;
  reading.say("reading");
  reading.at(0.5);
  reading.check();
  reading.end();
  ReadingWatch deaf;
  Reading unheard(deaf);
  unheard.say("reading");
  unheard.at(0.5);
  unheard.end();
}

}  // namespace
}  // namespace underlap
