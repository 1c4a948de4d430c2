// SPDX-License-Identifier: Apache-2.0
#include "platform/status_line.hpp"

#include <gmock/gmock.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <sstream>
#include <stdexcept>

#include "platform/file_descriptor.hpp"
#include "platform/terminal.hpp"

namespace underlap {
namespace {

using namespace std::chrono_literals;
using ::testing::EndsWith;

class StatusLineOnFakeClock : public ::testing::Test {
 protected:
  StatusOptions options(int width = 80) {
    return {.stream = &out_, .terminal = true, .width = width, .now = [this] { return now_; }, .beat = 0ms};
  }

  std::ostringstream out_;
  std::chrono::nanoseconds now_ = 1000s;
};

TEST_F(StatusLineOnFakeClock, ShowsNothingOfWhatIsOverBeforeTheFirstBeat) {
  {
    StatusLine line(options());
    line.say("reading");
  }
  EXPECT_EQ(out_.str(), "");
}

TEST_F(StatusLineOnFakeClock, EachBeatSaysForHowLong) {
  StatusLine line(options());
  line.say("building");
  line.beat();
  EXPECT_EQ(out_.str(), "\rbuilding\033[K");
  now_ += 65s;
  line.beat();
  EXPECT_THAT(out_.str(), EndsWith("\rbuilding (1 min 05 s)\033[K"));
}

TEST_F(StatusLineOnFakeClock, RewritesTheLineNotTooOften) {
  StatusLine line(options());
  line.say("a");
  line.beat();
  now_ += 100ms;
  line.say("b");
  now_ += 100ms;
  line.say("c");
  EXPECT_EQ(out_.str(), "\ra\033[K\rc\033[K");
}

TEST_F(StatusLineOnFakeClock, NeverWrapsTheTerminalsLineAndKeepsTheTime) {
  StatusLine line(options(20));
  line.say("a long name of a cell");
  now_ += 5s;
  line.beat();
  EXPECT_EQ(out_.str(), "\ra long name o (5 s)\033[K");
}

TEST_F(StatusLineOnFakeClock, IsGoneAtTheEndAndBehindALineThatStays) {
  {
    StatusLine line(options());
    line.say("a");
    line.beat();
    line.print("stays");
    line.say("b");
    line.beat();
  }
  EXPECT_EQ(out_.str(), "\ra\033[K\r\033[Kstays\n\rb\033[K\r\033[K");
}

TEST_F(StatusLineOnFakeClock, RefusesToHaveNoStream) {
  EXPECT_THROW(StatusLine(StatusOptions{}), std::invalid_argument);
}

TEST(StatusLine, BeatsByItselfWhateverItsOwnersThreadDoes) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::openpty(&ends[0], &ends[1], nullptr, nullptr, nullptr), 0);
  const FileDescriptor here(ends[0]), terminal(ends[1]);
  std::ostringstream out;
  std::FILE* const file = ::fdopen(::dup(terminal.get()), "w");
  struct Buffer : std::stringbuf {
    explicit Buffer(std::FILE* to) : file(to) {}
    int sync() override {
      std::fputs(str().c_str(), file);
      str("");
      return std::fflush(file);
    }
    std::FILE* file;
  } buffer(file);
  std::ostream stream(&buffer);
  {
    StatusLine line({.stream = &stream,
                     .terminal = rewrites_lines(terminal.get()),
                     .width = terminal_width(terminal.get()),
                     .now = {},
                     .beat = 1ms});
    line.say("at work");
    std::array<char, 64> text{};
    EXPECT_GT(::read(here.get(), text.data(), text.size()), 0) << "this thread only waits";
    EXPECT_THAT(text.data(), ::testing::StartsWith("\rat work"));
  }
  std::fclose(file);
}

TEST(DurationText, UsesTheTwoLargestUnits) {
  EXPECT_EQ(duration_text(400ms), "0 s");
  EXPECT_EQ(duration_text(59600ms), "1 min 00 s");
  EXPECT_EQ(duration_text(185s), "3 min 05 s");
  EXPECT_EQ(duration_text(7800s), "2 h 10 min");
}

}  // namespace
}  // namespace underlap
