// SPDX-License-Identifier: Apache-2.0
#include "platform/signal_watch.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "platform/errors.hpp"
#include "platform/memory_room.hpp"

namespace underlap {
namespace {

using std::chrono::steady_clock;

// Between two looks at the clock: how much longer than it was a pause may look.
constexpr int kLookMs = 500;
// Less is no pause that anyone made: a thread may wait so long for a processor.
constexpr std::chrono::milliseconds kLeastPause{700};

bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCONT);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    if (!is_ignored(signal)) sigaddset(&set, signal);
  return set;
}

[[noreturn]] void end_by(int signal) {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  ::signal(signal, SIG_DFL);
  ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  ::kill(::getpid(), signal);
  ::_exit(128 + signal);
}

}  // namespace

SignalWatch::SignalWatch(std::function<void(int)> last_words, std::function<bool(int)> is_heeded)
    : last_words_(std::move(last_words)), is_heeded_(std::move(is_heeded)), last_awake_(steady_clock::now()) {
  const sigset_t watched = watched_signals();
  signals_ = FileDescriptor(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  wake_ = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!signals_ || !wake_) throw MachineError("cannot watch for signals: " + system_reason(errno));
  ::pthread_sigmask(SIG_BLOCK, &watched, &before_);
  try {
    thread_ = std::thread([this] { watch(); });
  } catch (const std::system_error& error) {
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    throw MachineError(fmt::format("cannot start the thread that watches for signals: {}", no_thread(error)));
  }
}

SignalWatch::~SignalWatch() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  ::eventfd_write(wake_.get(), 1);
  thread_.join();
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

// The thread checks once more before it answers: a process that continued after a stop has received its SIGCONT by
// then.
std::optional<std::chrono::nanoseconds> SignalWatch::take_pause() {
  std::unique_lock lock(mutex_);
  const std::uint64_t number = ++num_asked_;
  ::eventfd_write(wake_.get(), 1);
  answered_.wait(lock, [&] { return num_answered_ >= number; });
  const auto pause = std::exchange(pause_, {});
  return pause.count() > 0 ? std::optional(pause) : std::nullopt;
}

void SignalWatch::watch() {
  while (true) {
    std::array<pollfd, 2> files{pollfd{signals_.get(), POLLIN, 0}, pollfd{wake_.get(), POLLIN, 0}};
    ::poll(files.data(), files.size(), kLookMs);
    eventfd_t ignored = 0;
    ::eventfd_read(wake_.get(), &ignored);
    const std::lock_guard lock(mutex_);
    read_signals();
    last_awake_ = steady_clock::now();
    num_answered_ = num_asked_;
    answered_.notify_all();
    if (ends_) return;
  }
}

void SignalWatch::read_signals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal != SIGCONT) {
      if (is_heeded_ && is_heeded_(signal)) continue;
      last_words_(signal);
      end_by(signal);
    }
    const auto pause = steady_clock::now() - last_awake_;
    if (pause >= kLeastPause) pause_ += pause;
  }
}

void write_last_words(std::string_view words) {
  pollfd file{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&file, 1, 1000) > 0) [[maybe_unused]]
    const auto written = ::write(STDERR_FILENO, words.data(), words.size());
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

}  // namespace underlap
