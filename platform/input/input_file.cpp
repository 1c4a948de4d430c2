// SPDX-License-Identifier: Apache-2.0
#include "platform/input/input_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace underlap {

FileBytes read_bytes(ByteStream& stream, const ReadLimits& limits, const std::function<void()>& before_each_piece) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  const std::uint64_t stated = std::min<std::uint64_t>(stream.stated_length(), limits.bytes);
  require_room(stream.path(), stated, limits);
  FileBytes file;
  std::string& bytes = file.bytes;
  bytes.reserve(stated);
  for (bool is_at_end = false; !is_at_end && bytes.size() < limits.bytes;) {
    if (before_each_piece) before_each_piece();
    const std::size_t start = bytes.size();
    bytes.resize(start + std::min(kPiece, limits.bytes - start));
    const std::size_t count = stream.read(std::span(bytes).subspan(start));
    is_at_end = count < bytes.size() - start;
    bytes.resize(start + count);
    require_room(stream.path(), bytes.size(), limits);
  }
  file.fault = stream.fault();
  return file;
}

std::string read_input_file(const std::filesystem::path& file, const ReadLimits& limits, GivenPipes given_pipes) {
  ByteStream stream(file, given_pipes);
  FileBytes read = read_bytes(stream, limits);
  if (!read.fault.empty()) throw std::invalid_argument(fmt::format("{}: {}", file.string(), read.fault));
  return std::move(read.bytes);
}

void require_room(const std::filesystem::path& file, std::uint64_t bytes, const ReadLimits& limits) {
  const auto free = static_cast<std::uint64_t>(limits.free_memory);
  if (bytes <= free / static_cast<std::uint64_t>(limits.memory_factor)) return;
  throw std::invalid_argument(fmt::format(
      "{}: has {} or more unpacked, and reading it takes {} times that, but {} of memory is free. Read it on a machine "
      "with more",
      file.string(), in_bytes(static_cast<std::int64_t>(bytes)), limits.memory_factor, in_bytes(limits.free_memory)));
}

}  // namespace underlap
