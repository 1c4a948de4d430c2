// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "platform/room.hpp"

namespace underlap {
class Reading;
}

namespace underlap::formats {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

/// The bytes of a file, decompressed where they begin as gzip or a zstd frame does.
struct FileBytes {
  std::string bytes;
  std::string fault;  ///< why the compressed data ends early ("" where it does not); what came before is in `bytes`

  std::span<const std::byte> span() const { return std::as_bytes(std::span(bytes)); }
};

/// How much of a file is read.
struct ReadLimits {
  std::size_t bytes = std::numeric_limits<std::size_t>::max();  ///< from its begin, decompressed; what follows is left
  std::int64_t free_memory = memory_room().amount;              ///< a file of more than a third of it is refused
};

/// Reads a file, or its first bytes.
///
/// Throws std::invalid_argument for what is no file, cannot be opened, or unpacks to more than memory holds (told from
/// the frames' headers where they say it, else on the way); MachineError where reading fails.
FileBytes read_bytes(const std::filesystem::path&, const ReadLimits& = {});

/// The same, watched: it tells how much of the file was taken. Throws Cancelled, too.
FileBytes read_bytes(const std::filesystem::path&, const ReadLimits&, Reading&);

/// Throws std::invalid_argument naming the file where `bytes` of it are more than a third of what is free: they may be
/// there twice for a moment, and a trace is made beside them.
void require_room(const std::filesystem::path&, std::uint64_t bytes, std::int64_t free_memory = memory_room().amount);

/// One whole zstd frame of `bytes`, at level 3, with a checksum of its content.
std::string zstd_frame(std::string_view bytes);

}  // namespace underlap::formats
