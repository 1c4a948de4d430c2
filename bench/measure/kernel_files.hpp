// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "profiler/report/block_figures.hpp"
#include "profiler/report/stalls.hpp"

namespace underlap::bench {

/// Times of one cell's kernels and transfers in all of its blocks.
struct CellTimes {
  analysis::ComputeTimes compute;
  analysis::PlaceTimes places;  ///< one median per block
  analysis::TransfersAlone alone;
};

/// Times of kernels and transfers in each finished block of a run's cells, in its folder's kernels/. Conclusions are
/// drawn from these files at the end, when it is known which steps stalled. They do not depend on which traces were
/// kept.
class KernelFiles {
 public:
  /// For the cells of a run in `folder`: the name of each cell's file, empty for a cell that records nothing.
  KernelFiles(std::filesystem::path folder, std::vector<std::string> names);

  /// Keeps the first `blocks` blocks of a cell's file and drops the rest. Throws std::invalid_argument, naming the
  /// file, if one of them is missing or was written for a trace of another length than `trace_bytes`. Throws
  /// MachineError if the file cannot be written.
  void open(std::size_t cell, std::int32_t blocks, std::int64_t trace_bytes);
  bool records(std::size_t cell) const { return !names_[cell].empty(); }

  /// Stored with a block's times.
  struct Kept {
    std::int64_t block = 0;
    std::int64_t last_ns = 0;      ///< end of its trace; 0 if no trace is kept
    std::int64_t trace_bytes = 0;  ///< length of the cell's trace after this block
  };
  /// Adds a block of a cell. Throws MachineError if it cannot be written.
  void append(std::size_t cell, Kept kept, const report::KernelTimes& times);

  /// The latest trace end of a cell's blocks; 0 without any.
  std::int64_t last_ns(std::size_t cell) const { return last_ns_[cell]; }

  /// Times without the steps in `left_out` for compute. Empty for a cell that records nothing.
  CellTimes times_of(std::size_t cell, const report::Steps& left_out = {}) const;

 private:
  struct Block {
    Kept kept;
    std::string times;
  };
  std::vector<Block> read(std::size_t cell) const;
  std::filesystem::path path(std::size_t cell) const { return folder_ / names_[cell]; }

  std::filesystem::path folder_;
  std::vector<std::string> names_;
  std::vector<std::int64_t> last_ns_;
};

}  // namespace underlap::bench
