// SPDX-License-Identifier: Apache-2.0
#include "profiler/trace/reading.hpp"

#include <gmock/gmock.h>

#include "tests/profiler/watch.hpp"

namespace underlap {
namespace {

using testing_support::Watch;

using namespace ::testing;  // NOLINT

TEST(Reading, TellsTheShareOfAllFilesAndNeverLessThanBefore) {
  Watch heard;
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
  Watch heard;
  Reading reading(heard);
  EXPECT_NO_THROW(reading.check());
  heard.cancelled_at = 0;
  EXPECT_THROW(reading.check(), Cancelled);
  EXPECT_THROW(reading.at(0.5), Cancelled);
}

TEST(Reading, GivesPartsOnlyToAWatchThatWantsThemAndNotTooOften) {
  Watch heard;
  heard.pause.reset();
  Reading reading(heard);
  Trace trace;
  reading.show(trace);
  reading.show_now(trace);
  EXPECT_THAT(heard.sizes, ElementsAre());
  trace.add_track({});
  trace.add({});
  heard.pause = std::chrono::hours(1);
  for (int i = 0; i < 3; ++i) reading.show(trace);
  EXPECT_THAT(heard.sizes, ElementsAre(1));
  trace.add({});
  reading.show_now(trace);
  EXPECT_THAT(heard.sizes, ElementsAre(1, 2));
  heard.pause = std::chrono::milliseconds(0);
  reading.hold_parts(true);
  reading.show(trace);
  EXPECT_THAT(heard.sizes, ElementsAre(1, 2));
  reading.hold_parts(false);
  reading.show(trace);
  EXPECT_THAT(heard.sizes, ElementsAre(1, 2, 2));
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
