// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/launch/placement.hpp"
#include "bench/launch/rank_link.hpp"
#include "bench/ranks/cell_parts.hpp"
#include "bench/ranks/rank_runner.hpp"
#include "impl/plan/plan.hpp"
#include "platform/errors.hpp"
#include "profiler/report/samples.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::bench {

/// A rank failed while a cell was built or run. Another session, on fresh ranks, may succeed.
class CellFailure : public MachineError {
 public:
  CellFailure(std::size_t failed, const std::string& what) : MachineError(what), cell(failed) {}
  std::size_t cell;
};

/// Built cells of a matrix on one backend, ready to run.
class Session {
 public:
  virtual ~Session() = default;

  /// Runs `steps` steps of a cell on all its ranks, back to back, and waits for them. Returns the figures of its
  /// slices; the slices of a measured block stay for take_trace() until the next run. Slices that find no slot in a
  /// recorder are dropped in a warm-up (block -1), and an error in a measured block. Throws the first failure of any
  /// rank, as CellFailure if ranks are processes; the session is unusable afterwards.
  virtual report::BlockRun run(std::size_t cell, std::int32_t block, std::int64_t steps) = 0;

  /// Moves out the trace of the last measured block on `ranks`, in ascending order; valid once, and only for the cell
  /// that ran last. Throws as run() does.
  virtual Trace take_trace(std::size_t cell, std::span<const std::int32_t> ranks) = 0;

  /// Reserves space in a cell's recorders for blocks of `steps` steps, based on the slices per step of its previous
  /// runs.
  virtual void reserve(std::size_t cell, std::int64_t steps) = 0;

  /// Starts a block. Returns whether ranks were restarted for it: every cell then has fresh weights and continues its
  /// step numbers, and the caller warms it up and reserves again.
  virtual bool begin_block(std::int32_t) { return false; }
};

/// Joins the results of a cell's ranks, in their order, into one block. All ranks ran the same `steps` steps. The
/// caller adds the figures.
report::BlockRun joined(std::vector<RankRun> ranks, std::int64_t steps);

/// The figures of slices that a measured block recorded, or of marks alone.
report::BlockFigures figures_of(const Trace& trace, const plan::Cell& cell, std::int32_t block);

/// Moves the part of these ranks out of `trace`, which is empty afterwards.
Trace taken(Trace& trace, std::span<const std::int32_t> ranks);

/// A backend's description of itself for results and traces.
struct BackendInfo {
  std::map<std::string, std::string> library_versions;  ///< of the libraries that compute and communicate
  std::string clock;
};
BackendInfo backend_info(Backend backend);

/// Description of the link that a cell's transfers use; `num_nodes`: number of nodes with its ranks.
std::string link_text(const plan::RunConfig& run, std::int32_t num_nodes = 1);

struct SessionOptions {
  plan::Source source = {};               ///< source of the cells, which rank processes read again
  RankStarter* starter = nullptr;         ///< starts the ranks whose processes a launcher started; null: no launcher
  const Placement* placement = nullptr;   ///< of those ranks
  std::filesystem::path log_folder = {};  ///< receives the output of ranks in rank-N.txt; empty: standard error
  std::optional<CellPart> cells = {};     ///< cells to build, as indices; nullopt: all
};

/// Builds the cells on every rank of their backend; steps are counted from `first_step`. `cells` and what `options`
/// point to outlive the session. Ranks of a launcher are processes on every backend that has ranks. Throws
/// std::invalid_argument if a cell's files are missing or invalid, if the caller's environment conflicts with the
/// launch environment, and for more ranks than there are GPUs; MachineError if ranks cannot connect.
std::unique_ptr<Session> make_session(std::span<const plan::Cell> cells, std::int32_t first_step,
                                      SessionOptions options = {});

/// Splits a matrix into parts for successive sessions, since memory limits the cells of one session. `placement`: see
/// SessionOptions.
std::vector<CellPart> session_parts(std::span<const plan::Cell> cells, const Placement* placement);

}  // namespace underlap::bench
