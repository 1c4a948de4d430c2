// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace underlap {

/// Turns the bytes of a file into its content, piece by piece.
class Decoder {
 public:
  virtual ~Decoder() = default;
  /// Fills `into`. Returns how many bytes it filled; fewer than `into` holds mean that the end is reached.
  virtual std::size_t read(std::span<char> into) = 0;
  /// Why the data ends early; "" where it does not.
  virtual std::string_view fault() const { return {}; }
};

/// Whether a stream reads a pipe that this process was given (/dev/stdin, or /dev/fd/63 of a shell's <(...)). It has
/// no length and cannot be opened twice.
enum class GivenPipes : bool { refused, read };

/// The content of a file from start to end, in bounded memory: decompressed where the file starts as gzip or zstd do.
class ByteStream {
 public:
  /// Throws std::invalid_argument, "NAME: why", where there is no such file or it cannot be read, and at once for what
  /// has no end or may never start: a folder, a device, a socket, a named pipe.
  explicit ByteStream(const std::filesystem::path&, GivenPipes = GivenPipes::refused);

  /// Fills `into`; fewer bytes than it holds mean that the end is reached. Throws MachineError where reading fails.
  std::size_t read(std::span<char> into) { return decoder_->read(into); }
  /// Why compressed data ends early, "" where it does not. What came before it was read.
  std::string fault() const { return std::string(decoder_->fault()); }

  const std::filesystem::path& path() const { return path_; }
  /// Bytes of the file on the disk; 0 for a pipe.
  std::uint64_t file_length() const { return file_length_; }
  /// Bytes that were read from the disk so far. May be called on any thread.
  std::uint64_t bytes_taken() const { return taken_->load(std::memory_order_relaxed); }
  /// Bytes of content that the file states before it is read: its length, or the content size in the header of its
  /// first zstd frame. 0: unknown.
  std::uint64_t stated_length() const { return stated_length_; }
  bool is_compressed() const { return is_compressed_; }

 private:
  std::filesystem::path path_;
  std::uint64_t file_length_ = 0;
  std::uint64_t stated_length_ = 0;
  std::unique_ptr<std::atomic<std::uint64_t>> taken_;  ///< where the decoder finds it, wherever this moves
  bool is_compressed_ = false;
  std::unique_ptr<Decoder> decoder_;
};

}  // namespace underlap
