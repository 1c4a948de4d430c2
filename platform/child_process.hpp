// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "platform/file_descriptor.hpp"

namespace underlap {

struct ChildOptions {
  std::filesystem::path program = "/proc/self/exe";
  std::vector<std::string> arguments;  ///< from the program's own name on
  /// Set on top of what this process has, before the program begins.
  std::vector<std::pair<std::string, std::string>> environment = {};
  /// What the child has as its end of the channel, in place of one to this process; it is closed here. null: none.
  FileDescriptor* channel = nullptr;
};

/// How a process ended.
struct ProcessEnd {
  int exit_status = 0;
  int signal = 0;  ///< 0: it ended by itself

  /// "was killed by signal 9 (Killed)", "ended with exit status 3".
  std::string text() const;
};

/// A program that runs as a child of this process, with a channel to it.
///
/// It has nothing of this process but the environment: standard input is empty, standard output and error are one pipe
/// to output(), its end of the channel is the descriptor kChannel, all other descriptors are closed, and no signal is
/// blocked. It is the leader of a process group of its own, which ends with it: what it started does not outlive it. It
/// is killed when the thread that started it ends, so start it on one that lives as long as it is wanted (a kernel's
/// rule: PR_SET_PDEATHSIG).
class ChildProcess {
 public:
  static constexpr int kChannel = 3;  ///< the child's end of the channel

  /// Throws MachineError where the process cannot be made or the program cannot be started.
  explicit ChildProcess(const ChildOptions& options);
  /// Kills what still runs and waits for its end.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  /// This side's end of the channel, once: a stream socket, the caller's from then on. None where the child was given
  /// one.
  FileDescriptor take_channel() { return std::move(channel_); }
  /// What the child prints: the end of a pipe, not blocking. Owned by this.
  int output() const { return output_.get(); }

  /// How it ended, or nullopt while it runs. What it had started is killed when this first sees the end.
  std::optional<ProcessEnd> end();
  /// The same, waiting no longer than `timeout`.
  std::optional<ProcessEnd> wait_for_end(std::chrono::milliseconds timeout);
  /// Whether it is stopped (SIGSTOP, a debugger, a job control signal) and has not ended.
  bool is_stopped() const;
  /// Kills it with all that it started. It may be called again and after its end.
  void kill() noexcept;

 private:
  pid_t pid_ = -1;
  FileDescriptor channel_;
  FileDescriptor output_;
  std::optional<ProcessEnd> end_;
};

}  // namespace underlap
