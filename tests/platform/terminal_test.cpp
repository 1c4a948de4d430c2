// SPDX-License-Identifier: Apache-2.0
#include "platform/terminal.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

namespace underlap {
namespace {

/// A terminal that nobody looks at, in an environment of its own.
class ATerminal : public ::testing::Test {
 protected:
  ATerminal() {
    ::unsetenv("NO_COLOR");
    ::setenv("TERM", "xterm", 1);
    if (master_ < 0 || ::grantpt(master_) != 0 || ::unlockpt(master_) != 0) return;
    file_ = ::open(::ptsname(master_), O_RDWR | O_NOCTTY);
  }
  ~ATerminal() override {
    ::close(file_);
    ::close(master_);
    term_.empty() ? ::unsetenv("TERM") : ::setenv("TERM", term_.c_str(), 1);
    no_color_.empty() ? ::unsetenv("NO_COLOR") : ::setenv("NO_COLOR", no_color_.c_str(), 1);
  }
  static std::string variable(const char* name) { return ::getenv(name) == nullptr ? "" : ::getenv(name); }

  std::string term_ = variable("TERM");
  std::string no_color_ = variable("NO_COLOR");
  int master_ = ::posix_openpt(O_RDWR | O_NOCTTY);
  int file_ = -1;
};

TEST_F(ATerminal, HasColorsAndLinesThatAreWrittenAnew) {
  ASSERT_GE(file_, 0);
  EXPECT_TRUE(terminal_format(file_).color);
  EXPECT_TRUE(rewrites_lines(file_));
}

TEST_F(ATerminal, HasNoColorWhereTheEnvironmentAsksForNone) {
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(terminal_format(file_).color);
  ::setenv("NO_COLOR", "", 1);  // empty is not set: https://no-color.org
  EXPECT_TRUE(terminal_format(file_).color);
}

TEST_F(ATerminal, ThatIsDumbHasNeither) {
  ::setenv("TERM", "dumb", 1);
  EXPECT_FALSE(terminal_format(file_).color);
  EXPECT_FALSE(rewrites_lines(file_));
}

TEST(AFile, HasNeitherColorsNorLinesThatAreWrittenAnew) {
  const int file = ::open("/dev/null", O_WRONLY);
  EXPECT_FALSE(terminal_format(file).color);
  EXPECT_FALSE(rewrites_lines(file));
  ::close(file);
}

}  // namespace
}  // namespace underlap
