// SPDX-License-Identifier: Apache-2.0
#include "tests/hostile/run_case.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <thread>

#include "tests/profiler/temporary_folder.hpp"

namespace underlap::hostile {
namespace {

// What hangs; all else is over in a second, on a machine that does nothing else.
constexpr std::chrono::seconds kDeadline{30};

void redirect(int fd, const std::string& path, int flags) {
  const int file = ::open(path.c_str(), flags | O_CLOEXEC, 0644);
  if (file < 0 || ::dup2(file, fd) < 0) ::_exit(126);
}

// Between fork and exec.
[[noreturn]] void become(const std::string& command, const std::string& folder, const std::string& out,
                         const std::string& err) {
  ::setpgid(0, 0);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ}) ::signal(signal, SIG_DFL);
  redirect(STDIN_FILENO, "/dev/null", O_RDONLY);
  redirect(STDOUT_FILENO, out, O_WRONLY | O_CREAT | O_TRUNC);
  redirect(STDERR_FILENO, err, O_WRONLY | O_CREAT | O_TRUNC);
  if (::chdir(folder.c_str()) != 0) ::_exit(126);
  ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
  ::_exit(126);
}

// Its exit, where it ends by the deadline.
bool ends_in_time(pid_t pid, int& status) {
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace

Ended run_in(const std::filesystem::path& folder, const std::string& command) {
  const std::string out = folder.string() + ".out", err = folder.string() + ".err";
  const pid_t pid = ::fork();
  if (pid < 0) throw std::runtime_error("fork failed");
  if (pid == 0) become(command, folder.string(), out, err);
  int status = 0;
  Ended ended;
  ended.in_time = ends_in_time(pid, status);
  ::kill(-pid, SIGKILL);
  if (!ended.in_time) ::waitpid(pid, &status, 0);
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  if (WIFEXITED(status)) ended.exit_code = WEXITSTATUS(status);
  ended.out = testing_support::read_text(out);
  ended.err = testing_support::read_text(err);
  return ended;
}

}  // namespace underlap::hostile
