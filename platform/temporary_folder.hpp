// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace underlap {

/// A new, empty folder under the system's folder for temporary files, removed with all in it at the end.
class TemporaryFolder {
 public:
  /// Throws MachineError where it cannot be made.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace underlap
