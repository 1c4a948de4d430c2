// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "platform/input/input_file.hpp"

namespace underlap {
class Reading;
}

namespace underlap::formats {

/// The bytes of a file in one piece of memory, in which they arrive while those before them are used: a thread of its
/// own reads them. A compressed file, whose length is not known before, is unpacked at once; so is any file where no
/// thread can be started.
class ArrivingBytes {
 public:
  /// Pieces of 1 MiB: handing one over costs nothing, and it is in the cache still when it is used.
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

  /// Throws as read_bytes().
  explicit ArrivingBytes(const std::filesystem::path&, std::size_t piece_bytes = kPieceBytes);
  /// The same, with progress. Unpacking, if any, is the first stage of reading the file; the next stage follows it.
  /// Throws Cancelled, too.
  ArrivingBytes(const std::filesystem::path&, Reading&, std::size_t piece_bytes = kPieceBytes);
  ArrivingBytes(const ArrivingBytes&) = delete;
  ArrivingBytes& operator=(const ArrivingBytes&) = delete;
  ~ArrivingBytes();

  /// Waits until more than `known` bytes have arrived, or all have. Returns those that there are, from the first; they
  /// stay where they are. Throws MachineError where reading fails.
  std::string_view beyond(std::size_t known);

  /// How many there will be.
  std::size_t length() const { return stream_ ? length_ : unpacked_.bytes.size(); }

  /// Why the compressed data ends early, "" where it does not; once all have arrived.
  const std::string& fault() const { return unpacked_.fault; }

 private:
  void open(const std::filesystem::path&, Reading&);
  void read();

  std::size_t piece_bytes_;
  FileBytes unpacked_;  ///< of a compressed file
  std::optional<ByteStream> stream_;
  std::size_t length_ = 0;
  std::unique_ptr<char[]> bytes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t arrived_ = 0;
  bool ended_ = false;
  bool stopped_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace underlap::formats
