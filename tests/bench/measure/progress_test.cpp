// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/progress.hpp"

#include <gmock/gmock.h>

#include <sstream>

namespace underlap::bench {
namespace {

using namespace std::chrono_literals;

class ProgressOnFakeClock : public ::testing::Test {
 protected:
  StatusOptions options(bool terminal) {
    return {.stream = &out_, .terminal = terminal, .width = 80, .now = [this] { return now_; }, .beat = 0ms};
  }

  std::ostringstream out_;
  std::chrono::nanoseconds now_ = 1000s;
};

TEST_F(ProgressOnFakeClock, EstimatesTheRestFromFinishedBlocks) {
  StatusLine line(options(false));
  Progress progress(0, 4, line);
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
  StatusLine line(options(false));
  Progress progress(3, 5, line);
  EXPECT_EQ(progress.time_left(), std::nullopt);
  now_ += 10s;
  progress.finish_block();
  EXPECT_EQ(progress.time_left(), 10s);
  EXPECT_EQ(out_.str(), "block 4 of 5 done, 10 s left\n");
}

TEST_F(ProgressOnFakeClock, WritesOnePlainLineABlockWhereThereIsNoTerminal) {
  {
    StatusLine line(options(false));
    Progress progress(0, 2, line);
    progress.start_cell("a", 0, 2);
    line.beat();
    now_ += 65s;
    progress.finish_block();
    now_ += 65s;
    progress.finish_block();
  }
  EXPECT_EQ(out_.str(), "block 1 of 2 done, 1 min 05 s left\nblock 2 of 2 done\n");
}

TEST_F(ProgressOnFakeClock, SaysOnATerminalWhichCellIsAtWork) {
  StatusLine line(options(true));
  Progress progress(0, 1, line);
  progress.start_cell("a", 0, 3);
  line.beat();
  EXPECT_EQ(out_.str(), "\rblock 1 of 1, cell 1 of 3: a\033[K");
}

}  // namespace
}  // namespace underlap::bench
