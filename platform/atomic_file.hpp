// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

namespace underlap {

/// Replaces `path` by a file that holds `text`: whole or not at all, also when the machine stops halfway. Writes a
/// temporary file in the same folder, syncs it, renames it over `path`, syncs the folder.
/// Throws MachineError with the path and the system's reason; then `path` is as it was, and no temporary file is left.
void write_file_atomically(const std::filesystem::path& path, std::string_view text);

}  // namespace underlap
