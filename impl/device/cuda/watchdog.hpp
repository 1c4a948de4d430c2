// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "impl/device/cuda/handles.hpp"
#include "impl/device/cuda/supervisor.hpp"
#include "impl/device/device.hpp"

namespace underlap::cuda {

struct WatchdogOptions {
  std::int32_t rank = 0;
  int device = 0;
  std::chrono::milliseconds timeout{30'000};     ///< maximum time of a group after it has started
  std::chrono::milliseconds poll_interval{100};  ///< 0: no thread, the owner calls poll()
  Supervisor* supervisor = nullptr;              ///< is notified of looks, which may also hang; outlives the watchdog
};

/// Watches the transfers of one rank from its own thread: NCCL's kernels spin until their peers come, and nothing else
/// ends them.
///
/// A group's time starts when all work before it is done, not when it is enqueued. The host is up to two steps early,
/// and a long queue of earlier work is no fault of a peer. So each group has two events, before and after it, and the
/// clock starts when the first is seen to have passed. The time includes the wait for the last peer, which its own
/// queue may delay: the timeout must exceed the drift between ranks.
class Watchdog {
 public:
  using Clock = std::chrono::steady_clock;

  /// `find_error` returns any other error, on this rank or another, without a call of CUDA. `give_up` is called once,
  /// with the first error. Both run on the watchdog's thread, and not while before() or after() wait for it.
  Watchdog(const WatchdogOptions& options, std::function<std::optional<std::string>()> find_error,
           std::function<void(const std::string&)> give_up);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Adds a communicator, for messages; returns its number for before() and after().
  std::size_t add(std::string purpose, const Group& group);

  /// Called around the enqueueing of a group, from the rank's thread.
  void before(std::size_t communicator, CUstream_st* stream);
  void after(std::size_t communicator, CUstream_st* stream, Collective collective, std::uint64_t sequence);

  /// Looks once. `now` is later than at the last call.
  void poll(Clock::time_point now);

  /// While a Pause lives, the watchdog makes no call of CUDA, from any thread, and does not watch enqueued groups. The
  /// code that captures a stream into a graph holds one. Created and destroyed by the rank's thread, between groups.
  class Pause {
   public:
    explicit Pause(Watchdog& watchdog);
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    Watchdog& watchdog_;
  };

 private:
  struct Watched {
    Collective collective = Collective::all_reduce;
    std::uint64_t sequence = 0;
    EventHandle start;
    EventHandle end;
    std::optional<Clock::time_point> started;
  };
  struct Communicator {
    std::string purpose;
    std::vector<std::int32_t> members;
    EventHandle start;           // of the group that is being enqueued
    std::deque<Watched> groups;  // in the order of their stream
  };

  void run(const std::stop_token& stop);
  std::optional<std::string> look(Clock::time_point now);
  void forget_finished(Communicator& communicator);
  std::optional<std::string> look_at_first(Communicator& communicator, Clock::time_point now) const;
  EventHandle take_event();                 // null while paused
  EventHandle record(CUstream_st* stream);  // the same

  WatchdogOptions options_;
  std::function<std::optional<std::string>()> find_error_;
  std::function<void(const std::string&)> give_up_;
  std::mutex mutex_;  // of all below
  std::condition_variable_any stopped_;
  std::deque<Communicator> communicators_;
  std::vector<EventHandle> free_;
  int num_pauses_ = 0;
  bool has_given_up_ = false;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace underlap::cuda
