// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace underlap::cuda {

/// Minimum time for ranks to join, even with a short peer timeout: libraries load and connect then.
constexpr std::chrono::milliseconds connecting_timeout(std::chrono::milliseconds peer_timeout) {
  return std::max<std::chrono::milliseconds>(peer_timeout, std::chrono::seconds(60));
}

/// A call that may block the host. The data that it refers to outlives it.
struct HostCall {
  std::string_view operation;
  std::string_view communicator = {};          ///< empty: of none
  std::span<const std::int32_t> ranks = {};    ///< of the communicator
  std::optional<std::uint64_t> sequence = {};  ///< of the group of transfers
  std::chrono::milliseconds limit{30'000};
};

struct SupervisorOptions {
  std::int32_t rank = 0;
  std::chrono::milliseconds slack{2'000};   ///< added to a call's limit, so that others can report a better cause first
  std::chrono::milliseconds grace{10'000};  ///< between a failure and the end of a process that does not end by itself
  std::chrono::milliseconds look_interval{250};  ///< 0: no thread, the owner calls look()
};

/// Ends a rank whose host hangs: in a call of NCCL or CUDA that never returns, or on streams that an abort did not let
/// run dry. Aborting and querying the device call the same libraries and may also hang. So the supervisor makes no such
/// calls, and takes no lock that is held around one.
///
///   | call | limit + slack | report: notify peers, abort transfers | grace | the process ends |
class Supervisor {
 public:
  using Clock = std::chrono::steady_clock;

  /// `report` gets the text that describes the hang, once. In a program, `end_process` does not return. Both run on the
  /// supervisor's thread.
  Supervisor(const SupervisorOptions& options, std::function<void(const std::string&)> report,
             std::function<void(const std::string&)> end_process);
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  /// The call is in progress while this object lives; from any thread. Calls may nest.
  class Scope {
   public:
    Scope(Supervisor& supervisor, const HostCall& call);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    friend class Supervisor;
    Supervisor& supervisor_;
    HostCall call_;
    Clock::time_point since_;
  };

  /// Records that the rank has failed because of `why`; its process then has the grace period to end. The first failure
  /// counts.
  void expect_end(const std::string& why);

  /// The reported text, for the caller that aborts transfers.
  std::optional<std::string> late();

  /// Looks once. `now` is later than at the last call.
  void look(Clock::time_point now);

 private:
  void run(const std::stop_token& stop);
  std::optional<std::string> find_late(Clock::time_point now) const;

  SupervisorOptions options_;
  std::function<void(const std::string&)> report_;
  std::function<void(const std::string&)> end_process_;
  std::mutex mutex_;  // protects all below; no other call is made under it
  std::condition_variable_any stopped_;
  std::vector<const Scope*> calls_;
  std::optional<std::string> late_;
  std::optional<std::string> failure_;             // the report, or the argument of expect_end()
  std::optional<Clock::time_point> failed_since_;  // when look() saw it
  bool has_ended_ = false;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace underlap::cuda
