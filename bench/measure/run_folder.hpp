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

namespace underlap::bench {

/// The folder of a run, held for this process: no other run writes into it as long as this lives.
class HeldRunFolder {
 public:
  /// Makes the folder with its traces/ and kernels/, and removes the temporary files of killed runs. Throws
  /// std::invalid_argument where another run holds it, naming that, MachineError naming the path and the system's
  /// reason where it cannot be made or written.
  explicit HeldRunFolder(std::filesystem::path folder);
  /// Takes back what was made, as far as nothing was put into it.
  ~HeldRunFolder();
  HeldRunFolder(const HeldRunFolder&) = delete;
  HeldRunFolder& operator=(const HeldRunFolder&) = delete;

  /// Empty, or why nobody is kept out: a file system that locks nothing.
  const std::string& why_not_locked() const { return lock_->why_not_locked(); }

 private:
  std::filesystem::path folder_;
  std::unique_ptr<FileLock> lock_;
};

/// Hashes of what the files hold that a matrix names (train.data, run.hardware), by path; those that cannot be read are
/// left to whoever needs them.
std::map<std::string, std::string> hash_inputs(const plan::Matrix& matrix);

/// A hash of everything that a matrix measures: its cells, their effective settings but how many blocks, and its files.
std::string matrix_hash(const plan::Matrix& matrix, const std::map<std::string, std::string>& input_hashes);

/// Where a cell's trace stands in a run folder: traces/NN-NAME.pftrace, with every character that a file name may not
/// have everywhere replaced, and a long name cut behind its first letters and told apart by a hash.
std::string trace_file_name(std::size_t index, const std::string& cell);

/// The same for what its kernels took: kernels/NN-NAME.bin.
std::string kernel_file_name(std::size_t index, const std::string& cell);
/// Of each cell of a matrix; empty for one that records nothing.
std::vector<std::string> kernel_file_names(std::span<const plan::Cell> cells);

}  // namespace underlap::bench
