// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace underlap::formats {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

/// The bytes of a file, decompressed where they begin as a zstd frame does.
struct FileBytes {
  std::string bytes;
  std::string fault;  ///< why the compressed data ends early ("" where it does not); what came before is in `bytes`

  std::span<const std::byte> span() const { return std::as_bytes(std::span(bytes)); }
};

/// Reads a file, or its first `limit` (decompressed) bytes. Throws MachineError with the path and the system's reason.
FileBytes read_bytes(const std::filesystem::path&, std::size_t limit = std::numeric_limits<std::size_t>::max());

/// One whole zstd frame of `bytes`, at level 3.
std::string zstd_frame(std::string_view bytes);

}  // namespace underlap::formats
