// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "platform/file_descriptor.hpp"

namespace underlap {

/// A file that is being written, and is to be renamed to another one.
struct TemporaryFile {
  std::filesystem::path path;
  FileDescriptor file;  ///< open for writing, empty
};

/// Creates a temporary file in the folder of `path`. Its name has 64 random bits, and the file must be new. So other
/// users who can write to the folder cannot put a file or a symbolic link in its place. The caller renames or removes
/// it.
/// Throws MachineError with the path and the system's reason.
TemporaryFile create_temporary_file(const std::filesystem::path& path);

/// Replaces `path` by a file that holds `text`: whole or not at all, also when the machine stops halfway. Writes a
/// temporary file in the same folder, syncs it, renames it over `path`, syncs the folder.
/// Throws MachineError with the path and the system's reason; then `path` is as it was, and no temporary file is left.
void write_file_atomically(const std::filesystem::path& path, std::string_view text);

/// The same, or for "-" on standard output, byte by byte. Does nothing for an empty path.
void write_output(const std::string& file, std::string_view text);

/// Creates a folder and those above it. Returns whether it is new. Throws MachineError if it cannot be made.
bool make_folder(const std::filesystem::path& folder);

/// Throws std::invalid_argument, naming `option` and the path, where no file can be written there: before work is done
/// whose result would be lost. "-" and an empty path are none. Leaves no file that was not there.
void check_output_file(const std::string& option, const std::string& path);

/// The same of a file in a folder, which is made where it is not there.
void check_output_folder(const std::string& option, const std::string& folder);

/// Removes from `folder` the temporary files that writers left who were killed: those of processes that are no more,
/// and with `own` those of this process. What cannot be removed stays.
void remove_temporary_files(const std::filesystem::path& folder, bool own = false) noexcept;

}  // namespace underlap
