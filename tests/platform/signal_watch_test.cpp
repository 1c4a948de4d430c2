// SPDX-License-Identifier: Apache-2.0
#include "platform/signal_watch.hpp"

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <stdexcept>
#include <string>

#include "platform/file_descriptor.hpp"

namespace underlap {
namespace {

/// A process that watches, tells through a pipe that it does, and then does `work`, handed the pipe.
class WatchingProcess {
 public:
  explicit WatchingProcess(const std::function<void(SignalWatch&, int)>& work) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
    pid_ = ::fork();
    if (pid_ == 0) {
      const int out = ends[1];
      SignalWatch watch([out](int signal) { tell(out, signal_name(signal)); });
      tell(out, "!");
      work(watch, out);
      ::_exit(0);
    }
    ::close(ends[1]);
    told_ = FileDescriptor(ends[0]);
    std::array<char, 1> mark{};
    [[maybe_unused]] const auto got = ::read(told_.get(), mark.data(), 1);
  }
  ~WatchingProcess() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  static void tell(int out, const std::string& text) {
    [[maybe_unused]] const auto written = ::write(out, text.data(), text.size());
  }
  void send(int signal) const { ::kill(pid_, signal); }
  void wait_for_stop() const { ::waitpid(pid_, nullptr, WUNTRACED); }
  int status() const {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    return status;
  }
  std::string told() const {
    std::string text;
    std::array<char, 64> bytes{};
    for (ssize_t got = 0; (got = ::read(told_.get(), bytes.data(), bytes.size())) > 0;)
      text.append(bytes.data(), static_cast<std::size_t>(got));
    return text;
  }

 private:
  pid_t pid_ = -1;
  FileDescriptor told_;
};

void hang(SignalWatch&, int) {
  while (true) ::pause();
}

class EndingSignals : public ::testing::TestWithParam<int> {};

TEST_P(EndingSignals, EndAHungProcessAfterItsLastWords) {
  const WatchingProcess process(hang);
  process.send(GetParam());
  const int status = process.status();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == GetParam()) << status;
  EXPECT_EQ(process.told(), signal_name(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(SignalWatch, EndingSignals, ::testing::Values(SIGINT, SIGTERM, SIGHUP));

TEST(SignalWatch, LeavesAnIgnoredSignalIgnored) {
  ::signal(SIGHUP, SIG_IGN);  // as nohup starts a program
  const WatchingProcess process(hang);
  ::signal(SIGHUP, SIG_DFL);
  process.send(SIGHUP);
  process.send(SIGTERM);
  EXPECT_EQ(WTERMSIG(process.status()), SIGTERM);
  EXPECT_EQ(process.told(), "SIGTERM");
}

TEST(SignalWatch, KnowsThatItsProcessWasStopped) {
  const WatchingProcess process([](SignalWatch& watch, int out) {
    ::kill(::getpid(), SIGSTOP);
    WatchingProcess::tell(out, watch.take_pause() ? "stopped" : "not stopped");
    WatchingProcess::tell(out, watch.take_pause() ? ", again" : ", once");
  });
  process.wait_for_stop();
  ::poll(nullptr, 0, 1500);
  process.send(SIGCONT);
  EXPECT_EQ(process.told(), "stopped, once");
}

TEST(SignalWatch, TakesNoContinuingForAStop) {
  const WatchingProcess process([](SignalWatch& watch, int out) {
    ::kill(::getpid(), SIGCONT);
    WatchingProcess::tell(out, watch.take_pause() ? "stopped" : "not stopped");
  });
  EXPECT_EQ(process.told(), "not stopped");
}

TEST(SignalWatch, GivesSignalsBackAtItsEnd) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    {
      const SignalWatch watch([](int) {});
    }
    ::kill(::getpid(), SIGTERM);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
}

}  // namespace
}  // namespace underlap
