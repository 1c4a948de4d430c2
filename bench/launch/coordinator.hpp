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
/// Agents find it by a file in a folder that all of them see. The file holds its addresses, port and a random token,
/// and exists until all have connected. Each agent proves that it knows the token, and so does this process
/// (authentication.hpp). It listens on the loopback only if the launcher reports that all processes are on one node.
/// The rank process of rank 0 is a child of this one, all others are children of agents.
class Coordinator final : public RankStarter {
 public:
  /// Listens, and writes the file into `folder`, which is created if missing. Agents have `timeout` to connect. Throws
  /// std::invalid_argument if another run gathers processes of the same job there, MachineError if no port can be
  /// opened or the file cannot be written.
  Coordinator(const Launch& launch, std::filesystem::path folder, std::chrono::milliseconds timeout);
  ~Coordinator() override;

  /// Waits until all launched processes have connected, and checks that they agree with this one. Calls `waits`
  /// periodically with the processes that are missing. Throws MachineError naming those that do not connect in time.
  /// Throws std::invalid_argument naming processes that differ, with both values, processes that cannot take part, with
  /// the reason, and two that have the same rank.
  void gather(const Facts& own, const std::function<void(const std::string&)>& waits);

  /// Where the launched processes run; known after gather().
  const Placement& placement() const { return placement_; }

  /// Rank N is started by the launched process with that rank. Throws MachineError if a process is lost, or does not
  /// start its rank in time.
  std::vector<std::unique_ptr<RankLink>> start(std::int32_t num_ranks, const ChildOptions& child) override;

  /// Sends all launched processes the run's exit code, with which they end too. Waits briefly for processes that have
  /// not connected yet.
  void end(int exit_code) noexcept;

 private:
  using ChildKey = std::pair<std::int32_t, std::int32_t>;  // (rank, number among the agent's)

  void write_file();
  void receive(std::chrono::milliseconds timeout);
  /// A process that connected and has not yet proved that it belongs to the run.
  struct Stranger {
    MessageChannel channel;
    Handshake handshake;
    Deadline until{};  ///< deadline for its proof
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
  std::chrono::milliseconds timeout_;
  bool made_folder_ = false;
  bool gave_up_ = false;          // some did not connect in time
  std::optional<FileLock> lock_;  // held while processes connect
  TcpListener listener_;
  std::string token_;
  std::list<Stranger> strangers_;
  std::map<std::int32_t, std::unique_ptr<Agent>> agents_;  // by rank
  std::map<ChildKey, MessageChannel> connections_;         // of rank processes, until start() takes them
  std::vector<std::string> doubles_;                       // processes whose rank was taken already
  Placement placement_;
};

}  // namespace underlap::bench
