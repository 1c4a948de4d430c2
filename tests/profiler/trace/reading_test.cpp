// SPDX-License-Identifier: Apache-2.0
#include "profiler/trace/reading.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profiler/trace/trace.hpp"

namespace underlap {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

class Heard : public ReadingWatch {
 public:
  void say(const std::string& what) override { said.push_back(what); }
  void on_progress(double fraction) override { fractions.push_back(fraction); }
  bool is_cancelled() const override { return is_cancelled_now; }
  std::optional<std::chrono::milliseconds> pause_between_parts() const override { return pause; }
  void on_part(const Trace& so_far) override { parts.push_back(so_far.size()); }

  std::vector<std::string> said;
  std::vector<double> fractions;
  std::vector<std::size_t> parts;
  bool is_cancelled_now = false;
  std::optional<std::chrono::milliseconds> pause;
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

TEST(Reading, GivesPartsOnlyToAWatchThatWantsThemAndNotTooOften) {
  Heard heard;
  Reading reading(heard);
  Trace trace;
  reading.show(trace);
  reading.show_now(trace);
  EXPECT_THAT(heard.parts, ElementsAre());
  trace.add_track({});
  trace.add({});
  heard.pause = std::chrono::hours(1);
  for (int i = 0; i < 3; ++i) reading.show(trace);
  EXPECT_THAT(heard.parts, ElementsAre(1));
  trace.add({});
  reading.show_now(trace);
  EXPECT_THAT(heard.parts, ElementsAre(1, 2));
  heard.pause = std::chrono::milliseconds(0);
  reading.hold_parts(true);
  reading.show(trace);
  EXPECT_THAT(heard.parts, ElementsAre(1, 2));
  reading.hold_parts(false);
  reading.show(trace);
  EXPECT_THAT(heard.parts, ElementsAre(1, 2, 2));
}

TEST(Reading, NeedsNoWatch) {
  Reading reading;
  reading.say("reading");
  reading.at(0.5);
  reading.check();
  reading.show(Trace());
  reading.show_now(Trace());
  reading.end();
  ReadingWatch deaf;
  Reading unheard(deaf);
  unheard.say("reading");
  unheard.at(0.5);
  unheard.show_now(Trace());
  unheard.end();
}

}  // namespace
}  // namespace underlap
