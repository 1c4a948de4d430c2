// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "impl/device/host/fabric.hpp"
#include "impl/plan/plan.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::bench {

/// What one cell did in one block.
struct BlockRun {
  Trace trace;                              ///< all ranks: slices where the cell records them, and marks
  std::vector<std::vector<double>> losses;  ///< by rank, one per step, the settling step included
  std::int32_t first_step = 0;              ///< step of the first loss
  std::int64_t transfer_cpu_ns = 0;  ///< of all steps: communication streams of all ranks and the transport's thread
};

/// All cells of a matrix, built up and ready on the host backend: ranks are threads of this process.
///
/// Cells share the process and its connections and run one at a time, so that a drift of the machine hits all alike.
class HostSession {
 public:
  /// Builds every cell on every rank; steps are counted from `first_step`. `cells` outlive this.
  /// Throws std::invalid_argument for what a cell's data file is missing, MachineError where the ranks cannot be
  /// joined.
  HostSession(std::span<const plan::Cell> cells, std::int32_t first_step);
  ~HostSession();
  HostSession(const HostSession&) = delete;
  HostSession& operator=(const HostSession&) = delete;

  /// Versions of the libraries that compute and carry the bytes.
  static std::map<std::string, std::string> library_versions();

  /// Runs `steps` steps of a cell on all its ranks, back to back, and waits for their end. Slices that find no slot in
  /// the recorder are let go in a warm-up (block -1) and an error in a block that is measured.
  /// Throws the first failure of any rank; the session is of no use afterwards.
  BlockRun run(std::size_t cell, std::int32_t block, std::int64_t steps);

  /// Makes room in a cell's recorders for blocks of `steps` steps, from what its runs so far took a step.
  void reserve(std::size_t cell, std::int64_t steps);

 private:
  struct RankCell;
  struct CellState;

  void on_every_rank(std::size_t cell, const std::function<void(RankCell&, std::int32_t rank)>& work);

  std::unique_ptr<host::Fabric> fabric_;
  std::vector<std::unique_ptr<CellState>> cells_;
};

}  // namespace underlap::bench
