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
  /// std::invalid_argument, naming the file, where one of them is missing, MachineError where it cannot be written.
  void open(std::size_t cell, std::int32_t blocks);
  bool records(std::size_t cell) const { return !names_[cell].empty(); }

  /// Adds a block of a cell. `last_ns`: where its kept trace ends, 0 where none is. Throws MachineError where it
  /// cannot be written.
  void append(std::size_t cell, std::int32_t block, std::int64_t last_ns, const report::KernelTimes& times);

  /// The latest of a cell's blocks; 0 without any.
  std::int64_t last_ns(std::size_t cell) const { return last_ns_[cell]; }

  /// Compute without the steps that are `left_out`. Nothing of a cell that records nothing.
  CellTimes times_of(std::size_t cell, const report::Steps& left_out = {}) const;

 private:
  struct Block {
    std::int32_t block = 0;
    std::int64_t last_ns = 0;
    std::string times;
  };
  std::vector<Block> read(std::size_t cell) const;
  std::filesystem::path path(std::size_t cell) const { return folder_ / names_[cell]; }
  void write(std::size_t cell, const Block& block) const;

  std::filesystem::path folder_;
  std::vector<std::string> names_;
  std::vector<std::int64_t> last_ns_;
};

}  // namespace underlap::bench
