// SPDX-License-Identifier: Apache-2.0
#include "platform/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

#include "platform/errors.hpp"

namespace underlap {
namespace {

// Above those that the child's own ends move to, so that moving one never closes another.
constexpr int kFirstFree = 10;
constexpr int kProblem = ChildProcess::kChannel + 1;  // errno goes through it; exec closes it
constexpr unsigned kMostDescriptors = 65536;

[[noreturn]] void fail(const std::string& what, int error) {
  throw MachineError(fmt::format("{}: {}", what, std::strerror(error)));
}

FileDescriptor moved_up(const FileDescriptor& low) {
  FileDescriptor high(::fcntl(low.get(), F_DUPFD_CLOEXEC, kFirstFree));
  if (!high) fail("cannot duplicate a file descriptor", errno);
  return high;
}

struct Ends {
  FileDescriptor here;
  FileDescriptor there;
};

Ends moved_up(const std::array<int, 2>& ends) {
  const FileDescriptor here(ends[0]);
  const FileDescriptor there(ends[1]);
  return {moved_up(here), moved_up(there)};
}

Ends make_channel() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    fail("cannot create a socket pair", errno);
  return moved_up(ends);
}

Ends make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("cannot create a pipe", errno);
  return moved_up(ends);
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& changes) {
  std::vector<std::string> variables;
  const auto is_changed = [&](std::string_view variable) {
    return std::ranges::any_of(changes, [&](const auto& change) { return variable.starts_with(change.first + "="); });
  };
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (!is_changed(*variable)) variables.emplace_back(*variable);
  for (const auto& [name, value] : changes) variables.push_back(fmt::format("{}={}", name, value));
  return variables;
}

// What the child needs between fork and exec, where only calls that a signal handler may make are allowed: other
// threads of this process may have held any lock.
struct Start {
  const char* program;
  char* const* arguments;
  char* const* environment;
  int empty_input;
  int output;
  int channel;
  int problem;
  pid_t parent;
};

void close_from(unsigned first) {
#ifdef SYS_close_range
  if (::syscall(SYS_close_range, first, ~0U, 0U) == 0) return;
#endif
  for (unsigned number = first; number < kMostDescriptors; ++number) ::close(static_cast<int>(number));
}

bool set_up_child(const Start& start) {
  ::setpgid(0, 0);
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return false;
  if (::getppid() != start.parent) ::_exit(127);  // it ended before the line above could hold
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  return ::dup2(start.empty_input, STDIN_FILENO) >= 0 && ::dup2(start.output, STDOUT_FILENO) >= 0 &&
         ::dup2(start.output, STDERR_FILENO) >= 0 && ::dup2(start.channel, ChildProcess::kChannel) >= 0;
}

[[noreturn]] void become(const Start& start) {
  int problem = start.problem;
  if (::dup3(start.problem, kProblem, O_CLOEXEC) >= 0) problem = kProblem;
  if (problem == kProblem && set_up_child(start)) {
    close_from(kProblem + 1);
    ::execve(start.program, start.arguments, start.environment);
  }
  const int error = errno;
  [[maybe_unused]] const auto written = ::write(problem, &error, sizeof error);
  ::_exit(127);
}

// 0 where the program has begun.
int problem_of(const FileDescriptor& from) {
  int error = 0;
  ssize_t got = 0;
  do got = ::read(from.get(), &error, sizeof error);
  while (got < 0 && errno == EINTR);
  return got == sizeof error ? error : 0;
}

}  // namespace

std::string ProcessEnd::text() const {
  if (signal != 0) return fmt::format("was killed by signal {} ({})", signal, ::strsignal(signal));
  return fmt::format("ended with exit status {}", exit_status);
}

ChildProcess::ChildProcess(const ChildOptions& options) {
  std::vector<std::string> words = options.arguments;
  std::vector<std::string> variables = environment_with(options.environment);
  const std::vector<char*> arguments = pointers_to(words);
  const std::vector<char*> environment = pointers_to(variables);
  const std::string program = options.program.string();
  Ends channel = options.channel != nullptr ? Ends{{}, moved_up(std::exchange(*options.channel, FileDescriptor()))}
                                            : make_channel();
  Ends output = make_pipe();
  Ends problem = make_pipe();
  const FileDescriptor opened(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!opened) fail("cannot open /dev/null", errno);
  const FileDescriptor empty_input = moved_up(opened);
  const Start start{program.c_str(),    arguments.data(),    environment.data(),  empty_input.get(),
                    output.there.get(), channel.there.get(), problem.there.get(), ::getpid()};
  pid_ = ::fork();
  if (pid_ < 0) fail("cannot create a process", errno);
  if (pid_ == 0) become(start);
  ::setpgid(pid_, pid_);  // both sides do it: whoever comes first
  problem.there.reset();
  if (const int error = problem_of(problem.here); error != 0) {
    ::waitpid(pid_, nullptr, 0);
    fail(fmt::format("cannot start {}", program), error);
  }
  ::fcntl(output.here.get(), F_SETFL, O_NONBLOCK);
  channel_ = std::move(channel.here);
  output_ = std::move(output.here);
}

ChildProcess::~ChildProcess() { kill(); }

std::optional<ProcessEnd> ChildProcess::end() {
  if (end_) return end_;
  siginfo_t info{};
  // Keeps the zombie until its group is gone, so that its number cannot be reused.
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != pid_)
    return std::nullopt;
  ::kill(-pid_, SIGKILL);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  end_ = WIFSIGNALED(status) ? ProcessEnd{0, WTERMSIG(status)} : ProcessEnd{WEXITSTATUS(status), 0};
  return end_;
}

std::optional<ProcessEnd> ChildProcess::wait_for_end(std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (!end() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return end_;
}

bool ChildProcess::is_stopped() const {
  if (end_) return false;
  std::ifstream file(fmt::format("/proc/{}/stat", pid_));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  // "pid (name) state ...", and a name may hold anything.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return false;
  return text[name_end + 2] == 'T' || text[name_end + 2] == 't';
}

void ChildProcess::kill() noexcept {
  if (end_) return;
  ::kill(-pid_, SIGKILL);
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  end();
}

}  // namespace underlap
