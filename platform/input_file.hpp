// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace underlap {

/// The first `most` bytes of a file that a person named, or all where it has fewer. A pipe that this process was given
/// (/dev/stdin, or /dev/fd/63 of a shell's <(...)) is read to its end.
///
/// Throws std::invalid_argument, "NAME: why", where there is no such file, where it cannot be read, and at once for
/// what has no end or may never begin: a folder, a device, a socket, a named pipe.
std::string read_input_file(const std::filesystem::path& file, std::size_t most);

}  // namespace underlap
