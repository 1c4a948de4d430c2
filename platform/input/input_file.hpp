// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>

#include "platform/input/byte_stream.hpp"
#include "platform/memory_room.hpp"

namespace underlap {

/// How much of a file is read.
struct ReadLimits {
  std::size_t bytes = std::numeric_limits<std::size_t>::max();  ///< of its content, from the start; the rest is left
  std::int64_t free_memory = memory_room().amount;
  std::int64_t memory_factor = 3;  ///< bytes of memory that its reader needs for each byte of content
};

/// The content of a file, decompressed where it is compressed.
struct FileBytes {
  std::string bytes;
  std::string fault;  ///< why compressed data ends early ("" where it does not); what came before is in `bytes`
};

/// Reads a stream from its start to its end or to the limit. Calls `before_each_piece` every MiB; it may throw to end
/// reading.
///
/// Throws std::invalid_argument naming the file where its content needs more memory than is free, at once where the
/// file states its length; MachineError where reading fails.
FileBytes read_bytes(ByteStream&, const ReadLimits& = {}, const std::function<void()>& before_each_piece = {});

/// The content of a file that a person named. Throws as ByteStream and read_bytes() do, and std::invalid_argument where
/// compressed data is corrupt or truncated.
std::string read_input_file(const std::filesystem::path& file, const ReadLimits& = {}, GivenPipes = GivenPipes::read);

/// Throws std::invalid_argument naming the file where reading `bytes` of content needs more memory than is free.
void require_room(const std::filesystem::path& file, std::uint64_t bytes, const ReadLimits& = {});

}  // namespace underlap
