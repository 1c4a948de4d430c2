// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/formats/kineto/json_brackets.hpp"

namespace underlap::formats {

/// Whole events of a trace, as JSON text with the separators between them. The owner of a batch may write one character
/// before and after the text, and may read 64 bytes after it.
struct KinetoBatch {
  std::vector<char> buffer;
  std::size_t begin = 0;
  std::size_t end = 0;

  std::string_view text() const { return {buffer.data() + begin, end - begin}; }
};

/// Whether an event that follows another begins at the bracket `at`, according to the next characters.
/// Fails when a string has such characters: its event then becomes two, and both are skipped.
bool begins_kineto_event(std::string_view text, std::size_t at);

/// Splits the text of a Chrome trace (an object that has its events in the member `traceEvents`, or an array of them)
/// into its other members and batches of events, by brackets and quotes alone. Holds a block and one event at a time.
class KinetoSplitter {
 public:
  /// Fills the span as far as the text goes; fewer bytes mean its end.
  using Read = std::function<std::size_t(std::span<char>)>;
  enum class Found { member, events, end };

  static constexpr std::size_t kMarginBytes = 64;                        ///< before and after the text of a batch
  static constexpr std::size_t kMostBytes = std::size_t{256} << 20;      ///< of a member
  static constexpr std::size_t kMostEventBytes = std::size_t{16} << 20;  ///< of an event

  /// Reads `block_bytes` at a time.
  KinetoSplitter(Read, std::size_t block_bytes);

  /// Advances to the next member or batch.
  Found next();

  const std::string& key() const { return key_; }      ///< of the member, as it is written
  const std::string& value() const { return value_; }  ///< of the member, as it is written
  KinetoBatch take_batch() { return std::move(batch_); }
  /// Takes back the memory of a batch.
  void recycle(std::vector<char> buffer) { free_.push_back(std::move(buffer)); }

  /// Events with an unpaired quote, whose ends were only found at the start of the next event.
  std::int64_t num_torn() const { return num_torn_; }
  /// What is wrong with the end of the text; "" where it ends as it should.
  std::string_view fault() const { return fault_; }
  /// Whether the text began as an object or an array does.
  bool is_json() const { return is_json_; }

 private:
  enum class At { begin, members, events, end };

  std::size_t filled() const { return filled_ - begin_; }
  std::string_view rest() const { return {buffer_.data() + begin_, filled_ - begin_}; }
  bool extend();
  bool skip(std::string_view separators);
  Found finish(std::string_view fault);
  Found next_member();
  bool take_string(std::size_t& length);
  bool take_value(std::size_t& length);
  Found next_events();
  bool find_next_event();
  void hand_over(std::size_t end);
  std::vector<char> buffer_of(std::size_t bytes);

  Read read_;
  std::size_t block_bytes_;
  At at_ = At::begin;
  bool is_json_ = false;
  bool in_object_ = false;
  bool read_all_ = false;
  std::string_view fault_;
  std::vector<char> buffer_;
  std::size_t begin_ = kMarginBytes;   ///< of what was not handed out yet
  std::size_t filled_ = kMarginBytes;  ///< end of what was read
  // Of the array of events: how far its brackets were followed.
  JsonBrackets brackets_;
  std::size_t scanned_ = 0;
  std::size_t depth_ = 0;
  std::int64_t num_torn_ = 0;
  std::string key_;
  std::string value_;
  KinetoBatch batch_;
  std::vector<std::vector<char>> free_;
};

}  // namespace underlap::formats
