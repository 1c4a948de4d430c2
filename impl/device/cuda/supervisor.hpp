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

/// How long ranks may take to join, however soon a peer is given up afterwards: libraries load and connect then.
constexpr std::chrono::milliseconds connecting_timeout(std::chrono::milliseconds peer_timeout) {
  return std::max<std::chrono::milliseconds>(peer_timeout, std::chrono::seconds(60));
}

/// A call that may block the host. What it refers to outlives it.
struct HostCall {
  std::string_view operation;
  std::string_view communicator = {};          ///< empty: of none
  std::span<const std::int32_t> ranks = {};    ///< of the communicator
  std::optional<std::uint64_t> sequence = {};  ///< of the group of transfers
  std::chrono::milliseconds limit{30'000};
};

struct SupervisorOptions {
  std::int32_t rank = 0;
  std::chrono::milliseconds slack{2'000};   ///< beyond a call's limit, so that who can name a cause better comes first
  std::chrono::milliseconds grace{10'000};  ///< between a failure and the end of a process that has not ended by itself
  std::chrono::milliseconds look_interval{250};  ///< 0: no thread, the owner calls look()
};

/// Ends a rank whose host hangs: in a call of NCCL or CUDA that never returns, or on streams that an abort did not let
/// run dry. Aborting, and asking the device, are calls of the same libraries and may hang likewise: so this one makes
/// none, and takes no lock that is held around one.
///
///   | call | limit + slack | report: peers are told, transfers aborted | grace | the process ends |
class Supervisor {
 public:
  using Clock = std::chrono::steady_clock;

  /// `report` is told what hangs, once; `end_process` does not return in a program. Both on the supervisor's thread.
  Supervisor(const SupervisorOptions& options, std::function<void(const std::string&)> report,
             std::function<void(const std::string&)> end_process);
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  /// The call is under way while this lives; from any thread. Calls may lie in each other.
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

  /// The rank has failed, as `why` says, and its process has the grace to end. The first failure counts.
  void expect_end(const std::string& why);

  /// What was reported, so that who aborts transfers can ask for it.
  std::optional<std::string> late();

  /// Looks once. `now` is later than at the last call.
  void look(Clock::time_point now);

 private:
  void run(const std::stop_token& stop);
  std::optional<std::string> find_late(Clock::time_point now) const;

  SupervisorOptions options_;
  std::function<void(const std::string&)> report_;
  std::function<void(const std::string&)> end_process_;
  std::mutex mutex_;  // of all below; nothing else is called under it
  std::condition_variable_any stopped_;
  std::vector<const Scope*> calls_;
  std::optional<std::string> late_;
  std::optional<std::string> failure_;             // that, or what expect_end() was told
  std::optional<Clock::time_point> failed_since_;  // as look() saw it
  bool has_ended_ = false;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace underlap::cuda
