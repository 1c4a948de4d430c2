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

/// What kernels and transfers of one cell took in all of its blocks.
struct CellTimes {
  analysis::ComputeTimes compute;
  analysis::PlaceTimes places;  ///< a median of each block
  analysis::TransfersAlone alone;
};

/// What kernels and transfers took in each finished block of a run's cells, in its folder's kernels/: conclusions are
/// drawn from it at the end, when it is known which steps stood still, and whichever traces were kept.
class KernelFiles {
 public:
  /// Of the cells of a run in `folder`; a name for each of them, empty for one that records nothing.
  KernelFiles(std::filesystem::path folder, std::vector<std::string> names);

  /// Keeps the first `blocks` blocks of a cell's file and lets go of what comes after them. Throws
  /// std::invalid_argument, naming the file, where one of them is missing or left the cell's trace at another length
  /// than `trace_bytes`, MachineError where it cannot be written.
  void open(std::size_t cell, std::int32_t blocks, std::int64_t trace_bytes);
  bool records(std::size_t cell) const { return !names_[cell].empty(); }

  /// Of a block beside its times.
  struct Kept {
    std::int64_t block = 0;
    std::int64_t last_ns = 0;      ///< where its trace ends; 0 where none is kept
    std::int64_t trace_bytes = 0;  ///< of the cell, behind it
  };
  /// Adds a block of a cell. Throws MachineError where it cannot be written.
  void append(std::size_t cell, Kept kept, const report::KernelTimes& times);

  /// The latest of a cell's blocks; 0 without any.
  std::int64_t last_ns(std::size_t cell) const { return last_ns_[cell]; }

  /// Compute without the steps that are `left_out`. Nothing of a cell that records nothing.
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
