// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "impl/plan/plan.hpp"
#include "platform/file_lock.hpp"
#include "profiler/report/results.hpp"

namespace underlap::bench {

/// The folder of a run, held by this process: no other run writes into it during the lifetime of this object.
class HeldRunFolder {
 public:
  /// Creates the folder with its traces/ and kernels/, and removes the temporary files of killed runs. Throws
  /// std::invalid_argument naming the run that holds it, if any. Throws MachineError with the path and the system's
  /// reason if it cannot be created or written.
  explicit HeldRunFolder(std::filesystem::path folder);
  /// Removes what the constructor created, if it is still empty.
  ~HeldRunFolder();
  HeldRunFolder(const HeldRunFolder&) = delete;
  HeldRunFolder& operator=(const HeldRunFolder&) = delete;

  /// Why other runs are not kept out, if the file system does not support locks; empty otherwise.
  const std::string& why_not_locked() const { return lock_->why_not_locked(); }

 private:
  std::filesystem::path folder_;
  std::unique_ptr<FileLock> lock_;
};

/// The results in `folder`, to continue as `now`: with its blocks_planned, and without blocks if none was finished.
/// Throws std::invalid_argument if they are not results, if they belong to another run, with every difference, or if a
/// block that they count as finished is incomplete.
report::RunResults take_up(const std::filesystem::path& folder, const report::RunResults& now, std::int64_t steps);

/// Hashes of the files that a matrix names (train.data, run.hardware), by path. Skips files that cannot be read: their
/// users report that.
std::map<std::string, std::string> hash_inputs(const plan::Matrix& matrix);

/// A hash of everything that a matrix measures: its cells, their effective settings except the number of blocks, and
/// its files.
std::string matrix_hash(const plan::Matrix& matrix, const std::map<std::string, std::string>& input_hashes);

/// A cell's trace file in a run folder: traces/NN-NAME.pftrace. Characters that some file system does not allow are
/// replaced. A long name is cut after its first letters, with a hash to keep it unique.
std::string trace_file_name(std::size_t index, const std::string& cell);

/// The same for the times of its kernels: kernels/NN-NAME.bin.
std::string kernel_file_name(std::size_t index, const std::string& cell);
/// For each cell of a matrix; empty for a cell that records nothing.
std::vector<std::string> kernel_file_names(std::span<const plan::Cell> cells);

}  // namespace underlap::bench
