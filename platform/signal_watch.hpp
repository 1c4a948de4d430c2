// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "platform/file_descriptor.hpp"

namespace underlap {

/// Watches, on a thread of its own, for what ends or stops this process from outside.
///
/// SIGINT, SIGTERM and SIGHUP end it at once, whatever its other threads are at, after `last_words` were called with
/// the signal; as by that signal, so that a shell or a script sees it. One for which `is_heeded` returns true does not:
/// the process ends by itself then, when it is at a good place. One that was ignored when this began stays ignored.
/// Make it before any other thread: threads that are there already would end the process without a word.
class SignalWatch {
 public:
  explicit SignalWatch(std::function<void(int signal)> last_words, std::function<bool(int signal)> is_heeded = {});
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  /// For how long this process was stopped (SIGSTOP, a debugger, job control) since the last call, to about half a
  /// second; nullopt where it was not.
  std::optional<std::chrono::nanoseconds> take_pause();

 private:
  void watch();
  void read_signals();

  std::function<void(int)> last_words_;
  std::function<bool(int)> is_heeded_;
  sigset_t before_{};  // what was blocked
  FileDescriptor signals_;
  FileDescriptor wake_;
  std::mutex mutex_;
  std::condition_variable answered_;
  std::uint64_t num_asked_ = 0, num_answered_ = 0;
  bool ends_ = false;
  std::chrono::steady_clock::time_point last_awake_;
  std::chrono::nanoseconds pause_{0};
  std::thread thread_;  // last: it uses the above
};

/// Writes `words` to standard error on the thread that ends the process, unless nobody reads them within a second.
void write_last_words(std::string_view words);

/// "SIGINT"; a number where the system has no name for it.
std::string signal_name(int signal);

}  // namespace underlap
