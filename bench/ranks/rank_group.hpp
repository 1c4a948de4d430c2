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

#include "bench/launch/rank_link.hpp"
#include "bench/ranks/rank_messages.hpp"
#include "bench/ranks/shared_values.hpp"

namespace underlap::bench {

/// One rank process of a run: its last order, and whether it has answered.
class RankProcess {
 public:
  RankProcess(std::int32_t rank, std::unique_ptr<RankLink> link, LineSink sink);

  std::int32_t rank() const { return rank_; }
  /// "rank 3", or "rank 3 on node2" if there are several machines.
  std::string name() const;
  RankLink& link() { return *link_; }
  RankOutput& output() { return output_; }
  /// Reads what it has printed.
  void read_output() { link_->read(output_); }

  /// Sends an order; `task` describes it: "build cell a". Throws as MessageChannel::send() does.
  void order(RankMessage kind, const std::string& payload, std::string task);
  /// Stores the answer to the last order.
  void take_answer(Message answer);

  const std::string& task() const { return task_; }
  bool is_waited_for() const { return is_waited_for_; }
  /// Marks the rank as failed: no answer is expected any more.
  void give_up() { is_waited_for_ = false; }
  std::optional<Message>& answer() { return answer_; }

 private:
  std::int32_t rank_;
  std::unique_ptr<RankLink> link_;
  RankOutput output_;
  std::string task_ = "start";
  bool is_waited_for_ = false;
  std::optional<Message> answer_;
};

/// The offset between two clocks.
struct ClockReading {
  std::int64_t offset_ns = 0;    ///< add to the remote clock to get the local one
  std::int64_t residual_ns = 0;  ///< error bound of the offset
};

struct RankGroupOptions {
  std::filesystem::path program = "/proc/self/exe";
  std::vector<std::string> arguments = {"underlap", "rank"};  ///< "--number N" follows
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::chrono::milliseconds peer_timeout{30'000};
  std::chrono::milliseconds connecting_timeout{60'000};  ///< minimum peer timeout while cells are built
  std::chrono::milliseconds grace{2'000};                ///< after the timeout, for a rank to report a failure itself
  RankStarter* starter = nullptr;                        ///< starts the processes; null: as children of this process
  LineSink sink = {};                                    ///< receives lines like "[rank 3] text"; empty: standard error
  std::filesystem::path log_folder = {};  ///< instead of `sink`, with rank 3's output in rank-3.txt; empty: none
};

/// Rank processes that get orders, are watched, and end together.
///
/// The end of one rank ends all: a rank that reports a failure, exits, is killed, is stopped for longer than the peer
/// timeout, or does not answer long after the others did. The error names the rank that failed first, the reason, its
/// last order and its last lines. No rank outlives this object, nor the thread that created it.
class RankGroup {
 public:
  /// Starts the processes. Throws MachineError if that fails.
  RankGroup(std::int32_t num_ranks, const RankGroupOptions& options);
  /// Gives healthy ranks a moment to end by themselves, and kills the rest.
  ~RankGroup();
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;

  /// Sends an order to the first `payloads.size()` ranks, each with its payload, and waits until all have carried it
  /// out. `task` describes the order; `limit` is the time after which silent ranks are blamed. Returns the answers by
  /// rank. Throws std::invalid_argument if a rank reports bad input, MachineError for any other failure; all ranks have
  /// ended then, and every later call throws MachineError.
  std::vector<std::string> ask(RankMessage order, const std::vector<std::string>& payloads, const std::string& task,
                               std::optional<std::chrono::milliseconds> limit = {});

  using Orders = std::vector<std::pair<std::int32_t, std::string>>;  ///< rank, and its payload
  /// The same for those ranks only; answers in the order of `orders`.
  std::vector<std::string> ask_ranks(RankMessage order, const Orders& orders, const std::string& task,
                                     std::optional<std::chrono::milliseconds> limit = {});

  /// Offset of one rank's clock to this process's clock, and its error bound: half of the fastest of several exchanges.
  /// Throws as ask() does.
  ClockReading read_clock(std::int32_t rank);
  /// Sends a rank the offset of its clock. Throws as ask() does.
  void set_clock_offset(std::int32_t rank, std::int64_t offset_ns);

  /// Ranks that were stopped and resumed since the last call, and for about how long.
  std::map<std::int32_t, std::chrono::milliseconds> take_pauses() { return std::exchange(pauses_, {}); }

  /// Called once all cells are built: ranks no longer look for each other.
  void end_exchange() { store_.clear(); }

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
    std::chrono::milliseconds timeout;  // for ranks that do not answer after others have
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
  void answer_ranks(std::int32_t rank, const SharedValues::Values& values);
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
  SharedValues store_;
  bool has_ended_ = false;
};

}  // namespace underlap::bench
