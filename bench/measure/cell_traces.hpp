// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "profiler/analysis/compute_change.hpp"
#include "profiler/formats/perfetto_writer.hpp"
#include "profiler/report/results.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::bench {

/// The trace files of a run's cells, which grow block by block, and what compute took in all blocks that they hold.
class CellTraces {
 public:
  /// Of a run in `folder` with so many cells. `measures_time`: on the machine's clock, and not in virtual time.
  CellTraces(std::filesystem::path folder, std::size_t num_cells, bool measures_time);

  /// Opens the file of every cell that records, behind what finished blocks took (CellResult::trace_bytes): what a run
  /// that was killed, or a block that failed, wrote after them is cut off. What is there is read again for its kernels,
  /// and for where its time ends: virtual time begins at 0 anew, and the clock of a machine when it starts. `reads` is
  /// told which cell's. Throws as the format's reader and writer do.
  void open(const std::vector<report::CellResult>& cells, const std::function<void(std::size_t cell)>& reads);
  /// Lets go of all files; open() takes them up again.
  void close();

  bool records(std::size_t cell) const { return writers_[cell] != nullptr; }
  /// Writes a block behind those that are there, and says in `result` how long the file is.
  void append(std::size_t cell, Trace& trace, report::CellResult& result);

  /// What compute took, of all that was read and written.
  const analysis::ComputeTimes& compute(std::size_t cell) const { return compute_[cell]; }

 private:
  /// By how much the blocks of these ranks are put later, to come after those of earlier ones.
  struct Delay {
    std::int64_t earlier_end_ns = 0;
    std::optional<std::int64_t> ns;  ///< known with the first block
  };

  void follow_earlier(std::size_t cell, Trace& trace);
  void add_compute(std::size_t cell, const Trace& trace);

  std::filesystem::path folder_;
  bool measures_time_;
  std::vector<analysis::ComputeTimes> compute_;                    // by cell
  std::vector<std::optional<Delay>> delays_ns_;                    // by cell
  std::vector<std::unique_ptr<formats::PerfettoWriter>> writers_;  // by cell; null without recorder
};

}  // namespace underlap::bench
