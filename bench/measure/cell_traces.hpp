// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "bench/measure/kernel_files.hpp"
#include "impl/plan/plan.hpp"
#include "profiler/formats/perfetto/writer.hpp"
#include "profiler/report/results.hpp"
#include "profiler/report/samples.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::bench {

/// The ranks of a block whose trace is kept (run.traces); the block is not yet in `result`.
std::vector<std::int32_t> kept_ranks(const plan::KeptTraces& kept, const report::BlockRun& run,
                                     const report::CellResult& result);

/// The trace files of a run's cells: they grow block by block, or hold one block that a later one replaces.
class CellTraces {
 public:
  /// For a run in `folder`. `cells` outlive this.
  CellTraces(std::filesystem::path folder, std::span<const plan::Cell> cells);

  /// Opens the file of every cell that keeps one, after the part of finished blocks (CellResult::trace_bytes): later
  /// data of a killed run, or of a failed block, is cut off. New blocks start after the last times in `times`, since
  /// virtual time restarts at 0, and a machine's clock at its boot. Throws as the format's writer does.
  void open(const std::vector<report::CellResult>& cells, const KernelFiles& times);
  /// Closes all files, and removes what was kept for commit(); open() reopens them.
  void close();

  /// Keeps a block, and stores the new length of the file in `result`. If it replaces another block, that block stays
  /// until commit().
  void keep(std::size_t cell, std::int32_t block, Trace& trace, report::CellResult& result);
  /// Called once results.json contains the block.
  void commit(const std::vector<report::CellResult>& cells);

 private:
  /// Shift of the blocks of these ranks, so that they come after those of earlier ranks.
  struct Delay {
    std::int64_t earlier_end_ns = 0;
    std::optional<std::int64_t> ns;  ///< known with the first block
  };

  bool replaces(std::size_t cell) const;
  void follow_earlier(std::size_t cell, Trace& trace);

  std::filesystem::path folder_;
  std::span<const plan::Cell> cells_;
  std::vector<std::optional<Delay>> delays_ns_;                    // by cell
  std::vector<std::unique_ptr<formats::PerfettoWriter>> writers_;  // by cell; null if nothing is appended
  std::vector<std::filesystem::path> pending_;                     // by cell: replacement of its file; empty: none
};

/// Completes commit() if a run was killed before it: a pending file of a block in `results` replaces the cell's file.
/// Throws MachineError if that fails.
void settle_traces(const std::filesystem::path& folder, const report::RunResults& results);

}  // namespace underlap::bench
