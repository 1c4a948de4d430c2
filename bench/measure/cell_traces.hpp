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

/// Of which ranks of a block, which is not yet in `result`, the trace is kept (run.traces).
std::vector<std::int32_t> kept_ranks(const plan::KeptTraces& kept, const report::BlockRun& run,
                                     const report::CellResult& result);

/// The trace files of a run's cells: they grow block by block, or hold one block that another takes the place of.
class CellTraces {
 public:
  /// Of a run in `folder`. `cells` outlive this.
  CellTraces(std::filesystem::path folder, std::span<const plan::Cell> cells);

  /// Opens the file of every cell that keeps one, behind what finished blocks took (CellResult::trace_bytes): what a
  /// run that was killed, or a block that failed, wrote after them is cut off. Where its time ends say `times`: virtual
  /// time begins at 0 anew, and the clock of a machine when it starts. Throws as the format's writer does.
  void open(const std::vector<report::CellResult>& cells, const KernelFiles& times);
  /// Lets go of all files, and removes what was kept for commit(); open() takes them up again.
  void close();

  /// Keeps a block, and says in `result` how long the file then is. Where it takes the place of another block, that one
  /// stays until commit().
  void keep(std::size_t cell, std::int32_t block, Trace& trace, report::CellResult& result);
  /// Told when results.json holds the block.
  void commit(const std::vector<report::CellResult>& cells);

 private:
  /// By how much the blocks of these ranks are put later, to come after those of earlier ones.
  struct Delay {
    std::int64_t earlier_end_ns = 0;
    std::optional<std::int64_t> ns;  ///< known with the first block
  };

  bool replaces(std::size_t cell) const;
  void follow_earlier(std::size_t cell, Trace& trace);

  std::filesystem::path folder_;
  std::span<const plan::Cell> cells_;
  std::vector<std::optional<Delay>> delays_ns_;                    // by cell
  std::vector<std::unique_ptr<formats::PerfettoWriter>> writers_;  // by cell; null where nothing is appended
  std::vector<std::filesystem::path> pending_;  // by cell: what is to take the place of its file; empty: nothing is
};

/// Ends what commit() would have done where a run was killed before it: of a block that `results` have, its file takes
/// its place. Throws MachineError where that fails.
void settle_traces(const std::filesystem::path& folder, const report::RunResults& results);

}  // namespace underlap::bench
