// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/launch/launch_environment.hpp"
#include "bench/ranks/rank_group.hpp"
#include "bench/ranks/session.hpp"

namespace underlap::bench {

struct ProcessOptions {
  RankGroupOptions ranks = {};  ///< environment, peer_timeout, starter and log_folder come from cells and session
  /// What a cell's ranks have set when they begin; empty: nothing.
  std::function<Environment(const plan::Plan&)> environment = {};
  /// Whether a cell's processes have a profiler attached for as long as they live, whichever of their cells is at work;
  /// empty: none has.
  std::function<bool(const plan::Plan&)> is_profiled = {};
};

/// Those of backend cuda: the launch environment of each plan, and CUPTI in the processes of cells with run.trace.
ProcessOptions options_of_gpu_ranks();

/// All cells of a matrix, built up and ready on ranks that are processes of their own: on this machine, or where a
/// launcher started processes for them.
///
/// Cells with equal launch environments share their processes, unless a profiler is attached for some of them: it would
/// slow the others too. Where this parts the cells of a matrix, each part has its own set of ranks, all sets are there
/// at the same time and a block visits all of them, so that cells of two sets are pairs within a block as those of one
/// are; and the sets are started anew twice in the course of the blocks, so that what differs between two starts of the
/// same program is not taken for a difference between cells.
class ProcessSession final : public Session {
 public:
  static constexpr std::int32_t kRounds = 3;  ///< of processes, where there are several sets of ranks

  /// See make_session(). Call it, and destroy this, on one thread, which lives as long: ranks end with it.
  ProcessSession(std::span<const plan::Cell> cells, std::int32_t first_step, const SessionOptions& session,
                 const ProcessOptions& options = {});

  report::BlockRun run(std::size_t cell, std::int32_t block, std::int64_t steps) override;
  Trace take_trace(std::size_t cell, std::span<const std::int32_t> ranks) override;
  void reserve(std::size_t cell, std::int64_t steps) override;
  bool begin_block(std::int32_t block) override;

  /// Process ids: set by set, by rank.
  std::vector<pid_t> pids() const;

 private:
  struct RankSet {
    Environment environment;
    bool is_profiled = false;
    std::vector<std::size_t> cells;
    std::int32_t num_ranks = 1;
    std::unique_ptr<RankGroup> ranks;
  };

  using Clocks = std::map<std::string, ClockReading>;  ///< by RankPlace::clock

  void start_all();
  void start(RankSet& set);
  StartOrder start_order(const RankSet& set, std::int32_t rank) const;
  RankSet& set_of(std::size_t cell);
  std::vector<std::string> ask(std::size_t cell, RankMessage order, const CellOrder& what, const std::string& task);
  std::vector<RankReport> take_reports(std::size_t cell, const CellOrder& order, const std::string& what);
  void complete(std::size_t cell, std::vector<RankReport>& reports, const std::string& what);
  Clocks read_clocks(std::size_t cell);
  void set_clocks(std::size_t cell, const Clocks& clocks);
  static std::int64_t residual(const Clocks& before, const Clocks& after);
  std::int32_t round_of(std::int32_t block) const;

  std::span<const plan::Cell> cells_;
  SessionOptions session_;
  ProcessOptions options_;
  std::string plans_hash_;
  std::int32_t next_step_;
  std::optional<std::int32_t> round_;
  std::vector<RankSet> sets_;
  std::string last_run_;  // in words
};

}  // namespace underlap::bench
