// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "platform/input/byte_stream.hpp"

namespace underlap::formats {

/// Reads a stream on its own thread, a few blocks early, so that decompression overlaps with the use of the bytes. If
/// no thread can be started, read() reads the stream itself.
class ReadAhead {
 public:
  /// The stream outlives this.
  explicit ReadAhead(ByteStream&);
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// As ByteStream::read, with its exceptions.
  std::size_t read(std::span<char> into);

 private:
  struct Block {
    std::vector<char> bytes;
    std::size_t size = 0;
  };

  void run(const std::stop_token&);
  bool take_block();

  ByteStream& stream_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Block> filled_;
  std::vector<std::vector<char>> free_;
  std::exception_ptr failure_;
  bool ended_ = false;
  Block current_;
  std::size_t used_ = 0;  ///< of current_
  std::jthread thread_;   ///< is stopped before what it uses ends
};

}  // namespace underlap::formats
