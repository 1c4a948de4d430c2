// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

namespace underlap {

/// Replaces `path` by a file that holds `text`: whole or not at all, also when the machine stops halfway. Writes a
/// temporary file in the same folder, syncs it, renames it over `path`, syncs the folder.
/// Throws MachineError with the path and the system's reason; then `path` is as it was, and no temporary file is left.
void write_file_atomically(const std::filesystem::path& path, std::string_view text);

/// Removes from `folder` the temporary files that writers left who were killed: those of processes that are no more,
/// and with `own` those of this process. What cannot be removed stays.
void remove_temporary_files(const std::filesystem::path& folder, bool own = false) noexcept;

}  // namespace underlap
