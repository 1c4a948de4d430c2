// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/launch/agent_link.hpp"
#include "bench/launch/authentication.hpp"
#include "bench/launch/launch.hpp"
#include "bench/launch/placement.hpp"
#include "bench/launch/rank_link.hpp"
#include "platform/file_lock.hpp"
#include "platform/network/tcp.hpp"

namespace underlap::bench {

/// The launched process with rank 0: it runs the matrix, and the other launched processes are its agents.
///
/// They find it by a file in a folder that all of them see, which says its addresses, port and a random token, and is
/// there until all have come. Each proves that it knows the token, and so does this process (authentication.hpp). It
/// listens on the loopback only where the launcher says that all of them are on one node. The rank process of rank 0 is
/// a child of this one, all others are children of agents.
class Coordinator final : public RankStarter {
 public:
  /// Listens, and writes the file into `folder`, which is made. Agents have `timeout` to come.
  /// Throws std::invalid_argument where another run gathers processes of the same job there, MachineError where no port
  /// can be opened or the file cannot be written.
  Coordinator(const Launch& launch, std::filesystem::path folder, std::chrono::milliseconds timeout);
  ~Coordinator() override;

  /// Waits until all launched processes have come, and sees to it that they agree with this one; `waits` is told whom
  /// it waits for, now and then. Throws MachineError naming those that do not come in time, std::invalid_argument
  /// naming those that differ with both values, that cannot take part with the reason, and two that have one rank.
  void gather(const Facts& own, const std::function<void(const std::string&)>& waits);

  /// Where the launched processes run; known once they are gathered.
  const Placement& placement() const { return placement_; }

  /// Rank N is started by the launched process with that rank. Throws MachineError where one is lost, or does not start
  /// its rank in time.
  std::vector<std::unique_ptr<RankLink>> start(std::int32_t num_ranks, const ChildOptions& child) override;

  /// Tells all launched processes that the run is over, with its exit code, which becomes theirs. Those that have not
  /// come yet are waited for a moment.
  void end(int exit_code) noexcept;

 private:
  using ChildKey = std::pair<std::int32_t, std::int32_t>;  // (rank, number among the agent's)

  void write_file();
  void receive(std::chrono::milliseconds timeout);
  /// A process that connected and has not proved that it belongs to the run.
  struct Stranger {
    MessageChannel channel;
    Handshake handshake;
    Deadline until{};  ///< by which it must have proved who it is
  };

  void accept();
  bool take_hello(Stranger& stranger);
  void welcome(Stranger& stranger) const;
  void take_agent(Stranger& stranger, Hello hello);
  bool is_complete() const;
  std::vector<std::int32_t> missing() const;
  std::string missing_text() const;
  std::vector<std::string> complaints(const Facts& own) const;
  void place();
  MessageChannel connection_of(const ChildKey& key, Deadline deadline);

  Launch launch_;
  std::filesystem::path folder_;
  std::chrono::milliseconds patience_;
  bool made_folder_ = false;
  bool gave_up_ = false;          // some did not come in time
  std::optional<FileLock> lock_;  // held while processes come
  TcpListener listener_;
  std::string token_;
  std::list<Stranger> strangers_;
  std::map<std::int32_t, std::unique_ptr<Agent>> agents_;  // by rank
  std::map<ChildKey, MessageChannel> connections_;         // of rank processes, not yet handed on
  std::vector<std::string> doubles_;                       // who had the rank of another
  Placement placement_;
};

}  // namespace underlap::bench
