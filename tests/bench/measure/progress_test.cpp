// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/progress.hpp"

#include <gmock/gmock.h>

#include <memory>
#include <sstream>
#include <stdexcept>

namespace underlap::bench {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class ProgressOnFakeClock : public ::testing::Test {
 protected:
  ProgressOptions options(bool terminal, int width = 80) {
    return {.stream = &out_, .terminal = terminal, .width = width, .now = [this] { return now_; }};
  }

  std::ostringstream out_;
  std::chrono::nanoseconds now_ = 1000s;
};

TEST_F(ProgressOnFakeClock, EstimatesTheRestFromFinishedBlocks) {
  Progress progress(0, 4, options(false));
  EXPECT_EQ(progress.time_left(), std::nullopt);
  now_ += 10s;
  progress.finish_block();
  EXPECT_EQ(progress.time_left(), 30s);
  now_ += 4s;
  EXPECT_EQ(progress.time_left(), 26s);
  now_ += 100s;
  EXPECT_EQ(progress.time_left(), 0s) << "a slow block never makes it negative";
}

TEST_F(ProgressOnFakeClock, ResumedRunCountsOnlyItsOwnBlocks) {
  Progress progress(3, 5, options(false));
  EXPECT_EQ(progress.time_left(), std::nullopt);
  now_ += 10s;
  progress.finish_block();
  EXPECT_EQ(progress.time_left(), 10s);
  EXPECT_EQ(out_.str(), "block 4 of 5 done, 10 s left\n");
}

TEST_F(ProgressOnFakeClock, WritesOnePlainLineABlockWhereThereIsNoTerminal) {
  {
    Progress progress(0, 2, options(false));
    progress.start_cell("a", 0, 2);
    now_ += 65s;
    progress.finish_block();
    now_ += 65s;
    progress.finish_block();
  }
  EXPECT_EQ(out_.str(), "block 1 of 2 done, 1 min 05 s left\nblock 2 of 2 done\n");
}

TEST_F(ProgressOnFakeClock, RewritesOneLineOnATerminalNotTooOften) {
  {
    Progress progress(0, 1, options(true));
    progress.start_cell("a", 0, 3);
    now_ += 100ms;
    progress.start_cell("b", 1, 3);
    now_ += 100ms;
    progress.start_cell("c", 2, 3);
    EXPECT_EQ(out_.str(), "\rblock 1 of 1, cell 1 of 3: a\033[K\rblock 1 of 1, cell 3 of 3: c\033[K");
    now_ += 1ms;
    progress.finish_block();
    EXPECT_THAT(out_.str(), HasSubstr("\rblock 1 of 1 done\033[K")) << "the end of a block is always shown";
  }
  EXPECT_EQ(out_.str().back(), '\n') << "what follows begins on a line of its own";
}

TEST_F(ProgressOnFakeClock, NeverWrapsTheTerminalsLine) {
  Progress progress(0, 1, options(true, 20));
  progress.start_cell("a long name of a cell", 0, 1);
  EXPECT_EQ(out_.str(), "\rblock 1 of 1, cell \033[K");
}

TEST_F(ProgressOnFakeClock, RefusesToHaveNoStream) {
  EXPECT_THROW(Progress(0, 1, ProgressOptions{}), std::invalid_argument);
}

TEST(DurationText, UsesTheTwoLargestUnits) {
  EXPECT_EQ(duration_text(400ms), "0 s");
  EXPECT_EQ(duration_text(59600ms), "1 min 00 s");
  EXPECT_EQ(duration_text(185s), "3 min 05 s");
  EXPECT_EQ(duration_text(7800s), "2 h 10 min");
}

}  // namespace
}  // namespace underlap::bench
