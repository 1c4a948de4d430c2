// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/ranks/meeting_place.hpp"
#include "bench/ranks/rank_process.hpp"

namespace underlap::bench {

/// What a clock is behind another one.
struct ClockReading {
  std::int64_t offset_ns = 0;    ///< added to it, it is the other
  std::int64_t residual_ns = 0;  ///< by which that may be wrong
};

struct RankGroupOptions {
  std::filesystem::path program = "/proc/self/exe";
  std::vector<std::string> arguments = {"underlap", "rank"};  ///< "--number N" follows
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::chrono::milliseconds peer_timeout{30'000};
  std::chrono::milliseconds connecting_timeout{60'000};  ///< in its place while cells are built, where it is shorter
  std::chrono::milliseconds grace{2'000};  ///< what a rank has beyond the time in which it must notice by itself
  RankStarter* starter = nullptr;          ///< starts the processes; null: they are children of this one
  LineSink sink = {};                      ///< takes "[rank 3] what it printed"; empty: standard error
  std::filesystem::path log_folder = {};   ///< in place of that takes what rank 3 printed: rank-3.txt; empty: none
};

/// Ranks that run as processes together: told together, watched together, and ended together.
///
/// Whatever ends one of them ends all: a rank that reports a failure, exits, is killed, is stopped for longer than the
/// peer timeout, or does not answer although the others have long done the same. The one error names the rank that
/// began it, how, what it had been told to do, and its last lines. None outlives this, nor the thread that made it.
class RankGroup {
 public:
  /// Starts the processes. Throws MachineError where that fails.
  RankGroup(std::int32_t num_ranks, const RankGroupOptions& options);
  /// Lets ranks that are well end by themselves for a moment, and kills what is left.
  ~RankGroup();
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;

  /// Gives the first `payloads.size()` ranks an order, each its payload, and waits until all have done it.
  /// `told` says the order in words; `limit` is the time after which who has not answered is to blame.
  /// Returns the answers by rank. Throws std::invalid_argument for what a rank calls bad input, MachineError for any
  /// other failure; all ranks have ended then, and every later call throws MachineError.
  std::vector<std::string> ask(RankMessage order, const std::vector<std::string>& payloads, const std::string& told,
                               std::optional<std::chrono::milliseconds> limit = {});

  using Orders = std::vector<std::pair<std::int32_t, std::string>>;  ///< rank, and its payload
  /// The same with those ranks alone; answers in the order of `orders`.
  std::vector<std::string> ask_ranks(RankMessage order, const Orders& orders, const std::string& told,
                                     std::optional<std::chrono::milliseconds> limit = {});

  /// What one rank's clock is behind this process's, and how far that may be wrong: half of the quickest of several
  /// exchanges. Throws as ask() does.
  ClockReading read_clock(std::int32_t rank);
  /// Tells a rank what to add to its clock. Throws as ask() does.
  void set_clock_offset(std::int32_t rank, std::int64_t offset_ns);

  /// Which ranks were stopped and went on since the last call, and for about how long.
  std::map<std::int32_t, std::chrono::milliseconds> take_pauses() { return std::exchange(pauses_, {}); }

  /// Told once all cells are built: ranks meet no more.
  void end_meeting() { meeting_.clear(); }

  /// Process ids by rank.
  std::vector<pid_t> pids() const;

 private:
  struct Failure {
    std::int32_t rank = 0;
    RankFailure::Kind kind = RankFailure::Kind::machine;
    std::string what;
  };
  struct Waiting {
    Deadline asked;
    std::chrono::milliseconds timeout;  // with those that do not answer when others have
    std::optional<Deadline> limit;
    std::optional<Deadline> first_answer;
  };

  int milliseconds_to_sleep() const;
  void watch_once(Waiting& waiting);
  void listen(RankProcess& rank, Waiting& waiting);
  void look_for_silence(const Waiting& waiting);
  void goes_on(std::int32_t rank);
  Deadline deadline_of(const Waiting& waiting) const;
  void take(RankProcess& rank, Message message, Waiting& waiting);
  void answer_meeting(std::int32_t rank, const MeetingPlace::Values& values);
  std::string death_of(RankProcess& rank, const std::string& otherwise);
  void add_failure(RankProcess& rank, RankFailure::Kind kind, const std::string& what);
  bool has_failed(std::int32_t rank) const;
  const Failure* cause() const;
  void collect_failures(Waiting& waiting);
  void blame_the_silent(const Waiting& waiting);
  [[noreturn]] void end_all();
  void kill_all() noexcept;
  std::int32_t num_waited_for() const;

  RankGroupOptions options_;
  std::vector<std::unique_ptr<RankProcess>> ranks_;
  std::vector<std::optional<Deadline>> stopped_since_;
  std::map<std::int32_t, std::chrono::milliseconds> pauses_;
  std::vector<Failure> failures_;
  MeetingPlace meeting_;
  bool has_ended_ = false;
};

}  // namespace underlap::bench
