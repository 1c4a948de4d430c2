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

namespace underlap::formats {

/// Turns what a file holds into what it stands for, piece by piece.
class Decoder {
 public:
  virtual ~Decoder() = default;
  /// Fills `into`; what is not filled lies behind the end. Returns how many bytes it filled.
  virtual std::size_t read(std::span<char> into) = 0;
  /// Why the data ends early; "" where it does not.
  virtual std::string_view fault() const { return {}; }
};

/// The bytes of a file from its begin to its end, decompressed where they begin as gzip or zstd do, in bounded memory.
class ByteStream {
 public:
  /// Throws std::invalid_argument for what is no file or cannot be opened.
  explicit ByteStream(const std::filesystem::path&);

  /// Fills `into`; fewer bytes than it holds mean that the end is reached. Throws MachineError where reading fails.
  std::size_t read(std::span<char> into) { return decoder_->read(into); }
  /// Why compressed data ends early, "" where it does not. What came before it was read.
  std::string fault() const { return std::string(decoder_->fault()); }
  /// Bytes of the file as it lies on the disk.
  std::uint64_t file_length() const { return file_length_; }
  /// Those of them that were taken from the disk. On any thread.
  std::uint64_t bytes_taken() const { return taken_->load(std::memory_order_relaxed); }
  bool is_compressed() const { return is_compressed_; }

 private:
  std::uint64_t file_length_ = 0;
  std::unique_ptr<std::atomic<std::uint64_t>> taken_;  ///< where the decoder finds it, wherever this moves
  bool is_compressed_ = false;
  std::unique_ptr<Decoder> decoder_;
};

/// Whether a file that begins with these bytes is gzip's.
bool is_gzip(std::string_view head);

/// Length of the regular file at `path`. Throws std::invalid_argument for anything else: it may hold a reader up for
/// ever, or never end.
std::uint64_t length_of_file(const std::filesystem::path& path);

}  // namespace underlap::formats
