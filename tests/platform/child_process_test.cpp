// SPDX-License-Identifier: Apache-2.0
#include "platform/child_process.hpp"

#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <thread>

#include "platform/errors.hpp"
#include "platform/network/message_channel.hpp"

namespace underlap {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr milliseconds kPatience{20'000};

ChildOptions shell(const std::string& script) { return {.program = "/bin/sh", .arguments = {"sh", "-c", script}}; }

std::string output_of(ChildProcess& child) {
  std::string text;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < deadline) {
    char bytes[256];
    const ssize_t got = ::read(child.output(), bytes, sizeof bytes);
    if (got == 0) break;
    if (got > 0) text.append(bytes, static_cast<std::size_t>(got));
    if (got < 0) std::this_thread::sleep_for(milliseconds(1));
  }
  return text;
}

bool is_gone(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state;
  return !(file >> number >> name >> state) || state == "Z" || state == "X";
}

bool goes_away(pid_t pid) {
  for (auto left = kPatience; left.count() > 0; left -= milliseconds(2)) {
    if (is_gone(pid)) return true;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return false;
}

TEST(ChildProcess, HasTheChannelThatItIsGiven) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const FileDescriptor here(ends[0]);
  FileDescriptor there(ends[1]);
  ChildOptions options = shell("echo told >&3");
  options.channel = &there;
  ChildProcess child(options);
  EXPECT_FALSE(there) << "the child alone holds it, so that its end closes it";
  EXPECT_FALSE(child.take_channel());
  std::string text(5, ' ');
  EXPECT_EQ(::read(here.get(), text.data(), text.size()), 5);
  EXPECT_EQ(text, "told\n");
  EXPECT_EQ(::read(here.get(), text.data(), text.size()), 0);
}

TEST(ChildProcess, TellsExitStatusAndSignal) {
  ChildProcess leaves(shell("exit 7"));
  ASSERT_TRUE(leaves.wait_for_end(kPatience));
  EXPECT_EQ(leaves.end()->text(), "ended with exit status 7");
  ChildProcess killed(shell("kill -SEGV $$"));
  ASSERT_TRUE(killed.wait_for_end(kPatience));
  EXPECT_EQ(killed.end()->text(), "was killed by signal 11 (Segmentation fault)");
}

TEST(ChildProcess, HasTheGivenEnvironmentOnTopOfOurs) {
  ::setenv("UNDERLAP_TEST_KEPT", "kept", 1);
  ::setenv("UNDERLAP_TEST_SET", "old", 1);
  ChildOptions options = shell("echo $UNDERLAP_TEST_KEPT $UNDERLAP_TEST_SET");
  options.environment = {{"UNDERLAP_TEST_SET", "new"}};
  ChildProcess child(options);
  EXPECT_EQ(output_of(child), "kept new\n");
  EXPECT_STREQ(std::getenv("UNDERLAP_TEST_SET"), "old");
}

TEST(ChildProcess, HasOnlyItsOwnDescriptors) {
  const FileDescriptor leaked(::dup(STDIN_FILENO));  // not closed by exec itself
  ChildProcess child(shell("ls /proc/$$/fd; cat; echo said on stderr >&2"));
  EXPECT_EQ(output_of(child), "0\n1\n2\n3\nsaid on stderr\n");
}

TEST(ChildProcess, StartsWithoutBlockedSignals) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  // No shell: it would unblock them itself.
  ChildProcess child({.program = "/bin/grep", .arguments = {"grep", "SigBlk", "/proc/self/status"}});
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(output_of(child), "SigBlk:\t0000000000000000\n");
}

TEST(ChildProcess, SaysWhichProgramCannotBeStarted) {
  try {
    ChildProcess child({.program = "/no/such/program", .arguments = {"program"}});
    FAIL();
  } catch (const MachineError& error) {
    EXPECT_STREQ(error.what(), "cannot start /no/such/program: No such file or directory");
  }
}

TEST(ChildProcess, EndsWithAllThatItStarted) {
  pid_t grandchild = 0;
  pid_t own = 0;
  {
    ChildProcess child(shell("sleep 1000 >&- 2>&- & echo $!; exec >&- 2>&-; wait"));
    own = child.pid();
    grandchild = std::stoi(output_of(child));
    EXPECT_FALSE(is_gone(grandchild));
  }
  EXPECT_TRUE(is_gone(own));
  EXPECT_TRUE(goes_away(grandchild));
}

TEST(ChildProcess, TakesWhatItStartedWithItWhenItEndsByItself) {
  ChildProcess child(shell("sleep 1000 >&- 2>&- & echo $!"));
  const pid_t grandchild = std::stoi(output_of(child));
  ASSERT_TRUE(child.wait_for_end(kPatience));
  EXPECT_TRUE(goes_away(grandchild));
}

TEST(ChildProcess, KnowsThatItIsStopped) {
  ChildProcess child(shell("sleep 1000"));
  EXPECT_FALSE(child.is_stopped());
  ::kill(child.pid(), SIGSTOP);
  for (auto left = kPatience; left.count() > 0 && !child.is_stopped(); left -= milliseconds(1))
    std::this_thread::sleep_for(milliseconds(1));
  EXPECT_TRUE(child.is_stopped());
  EXPECT_FALSE(child.end());
  child.kill();
  EXPECT_THAT(child.end()->text(), HasSubstr("signal 9"));
}

TEST(ChildProcess, DiesWithTheThreadThatStartedIt) {
  std::unique_ptr<ChildProcess> child;
  std::thread([&] { child = std::make_unique<ChildProcess>(shell("sleep 1000")); }).join();
  ASSERT_TRUE(child->wait_for_end(kPatience));
  EXPECT_EQ(child->end()->signal, SIGKILL);
}

TEST(ChildProcess, SpeaksThroughTheChannel) {
  ChildProcess child(shell("head -c 5 <&3 >&3"));
  const FileDescriptor channel = child.take_channel();
  ASSERT_EQ(::write(channel.get(), "hello", 5), 5);
  char bytes[8] = {};
  ASSERT_EQ(::read(channel.get(), bytes, sizeof bytes), 5);
  EXPECT_STREQ(bytes, "hello");
  EXPECT_EQ(::read(channel.get(), bytes, sizeof bytes), 0) << "the only other end was the child's";
}

}  // namespace
}  // namespace underlap
