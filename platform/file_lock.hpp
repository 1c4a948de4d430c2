// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>

#include "platform/file_descriptor.hpp"

namespace underlap {

/// Another process holds a file. what(): "process 4711 on HOST", as the holder wrote it.
class FileIsHeld : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// A file that one process at a time holds. The system lets go of it when the process ends, however it ends; children
/// that are started as ChildProcess do not have it.
class FileLock {
 public:
  /// Takes the file, making it where there is none, and writes into it who holds it. Throws FileIsHeld where another
  /// process does, MachineError where the file cannot be made.
  explicit FileLock(std::filesystem::path path);
  /// Removes the file.
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  /// The holder of that file, as the holder wrote it. nullopt if it is not locked, does not exist, or if this is
  /// unknown. On a network file system that shares locks, the holder may be a process of another machine.
  static std::optional<std::string> holder(const std::filesystem::path& path);

  /// Empty, or why this file system does not lock. The lock then keeps no other process out.
  const std::string& why_not_locked() const { return why_not_locked_; }

 private:
  std::filesystem::path path_;
  FileDescriptor file_;
  std::string why_not_locked_;
};

}  // namespace underlap
