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

/// Whole events of a trace, as JSON text with what stands between them. Whoever has a batch may write one character
/// before and behind the text, and 64 bytes behind that may be read.
struct KinetoBatch {
  std::vector<char> buffer;
  std::size_t begin = 0;
  std::size_t end = 0;

  std::string_view text() const { return {buffer.data() + begin, end - begin}; }
};

/// Whether an event begins at the bracket `at`, behind the end of another, as far as the next characters tell.
bool begins_kineto_event(std::string_view text, std::size_t at);

/// Splits the text of a Chrome trace (an object that has its events in the member `traceEvents`, or an array of them)
/// into its other members and batches of events, by brackets and quotes alone. Holds a block and one event at a time.
class KinetoSplitter {
 public:
  /// Fills the span as far as the text goes; fewer bytes mean its end.
  using Read = std::function<std::size_t(std::span<char>)>;
  enum class Found { member, events, end };

  static constexpr std::size_t kMarginBytes = 64;                    ///< in front of the text of a batch and behind it
  static constexpr std::size_t kMostBytes = std::size_t{256} << 20;  ///< of a member
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

  /// Events whose quotes do not pair, so that where they end was only seen at the begin of the next.
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
