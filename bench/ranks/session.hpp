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

/// A rank failed while a cell was built or run. Another session, on fresh ranks, may get further.
class CellFailure : public MachineError {
 public:
  CellFailure(std::size_t failed, const std::string& what) : MachineError(what), cell(failed) {}
  std::size_t cell;
};

/// Cells of a matrix, built up and ready on one backend.
class Session {
 public:
  virtual ~Session() = default;

  /// Runs `steps` steps of a cell on all its ranks, back to back, and waits for their end. The figures of its slices
  /// come back, and those of a block that is measured stay for take_trace() until the next run. Slices that find no
  /// slot in a recorder are let go in a warm-up (block -1) and an error in a block that is measured. Throws the first
  /// failure of any rank, as CellFailure where ranks are processes; the session is of no use afterwards.
  virtual report::BlockRun run(std::size_t cell, std::int32_t block, std::int64_t steps) = 0;

  /// What the last run of a measured block recorded on these of its ranks, in ascending order: once, and of that cell
  /// alone. Throws as run() does.
  virtual Trace take_trace(std::size_t cell, std::span<const std::int32_t> ranks) = 0;

  /// Makes room in a cell's recorders for blocks of `steps` steps, from what its runs so far took a step.
  virtual void reserve(std::size_t cell, std::int64_t steps) = 0;

  /// Tells that a block begins. Returns whether ranks were started anew for it: every cell then has fresh weights and
  /// counts its steps on, and the caller warms it up and reserves again.
  virtual bool begin_block(std::int32_t) { return false; }
};

/// The block of a cell's ranks, in their order, which all made the same `steps` steps; its figures are the caller's to
/// add.
report::BlockRun joined(std::vector<RankRun> ranks, std::int64_t steps);

/// The figures of slices that a measured block recorded, or of marks alone.
report::BlockFigures figures_of(const Trace& trace, const plan::Cell& cell, std::int32_t block);

/// What `trace` has of these ranks. It is empty afterwards.
Trace taken(Trace& trace, std::span<const std::int32_t> ranks);

/// What a backend says of itself in results and traces.
struct BackendInfo {
  std::map<std::string, std::string> library_versions;  ///< of what computes and carries the bytes
  std::string clock;
};
BackendInfo backend_info(Backend backend);

/// The link that a cell's transfers take, in words; `num_nodes`: that its ranks are on.
std::string link_text(const plan::RunConfig& run, std::int32_t num_nodes = 1);

struct SessionOptions {
  plan::Source source = {};               ///< what the cells were read from, which ranks that are processes read again
  RankStarter* starter = nullptr;         ///< starts the ranks that a launcher started processes for; null: no launcher
  const Placement* placement = nullptr;   ///< of those
  std::filesystem::path log_folder = {};  ///< what ranks print goes to rank-N.txt there; empty: to standard error
  std::optional<CellPart> cells = {};     ///< that are built, as indices; nullopt: all
};

/// Builds the cells on every rank of their backend; steps are counted from `first_step`. `cells` and what `options`
/// point to outlive the session. Ranks of a launcher are processes on every backend that has ranks. Throws
/// std::invalid_argument for what a cell's files are missing or say, for a launch environment that the caller has set
/// to something else, and for more ranks than there are GPUs; MachineError where ranks cannot be joined.
std::unique_ptr<Session> make_session(std::span<const plan::Cell> cells, std::int32_t first_step,
                                      SessionOptions options = {});

/// The parts of a matrix that sessions are to hold one after the other, because more do not fit in memory.
/// `placement`: see SessionOptions.
std::vector<CellPart> session_parts(std::span<const plan::Cell> cells, const Placement* placement);

}  // namespace underlap::bench
