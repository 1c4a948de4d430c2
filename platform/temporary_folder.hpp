// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "platform/file_descriptor.hpp"

namespace underlap {

/// A new, empty folder under the system's folder for temporary files, removed with all in it at the end. That of a
/// process that was killed is removed by the next one made.
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
  FileDescriptor held_;  // locked as long as this lives: how others tell it from one that was left
};

}  // namespace underlap
