// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/kineto/splitter.hpp"

#include <algorithm>
#include <utility>

namespace underlap::formats {
namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr std::string_view kEventSeparators = " \t\r\n,";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

constexpr std::string_view kCut = "the file is cut off inside its last event or member";
constexpr std::string_view kTooLong = "rest of the file after a member larger than 256 MiB";
constexpr std::string_view kTorn = "rest of the file after an event larger than 16 MiB";
constexpr std::string_view kNoMember = "rest of the file after an invalid object member";

// How often a torn event is looked past: each may cost a look at all that an event may hold.
constexpr std::int64_t kMostTorn = 1000;

// Keys that an event begins with.
constexpr std::array<std::string_view, 7> kEventKeys{"\"ph\"",  "\"cat\"", "\"name\"", "\"pid\"",
                                                     "\"tid\"", "\"ts\"",  "\"args\""};

std::string_view without_space_behind(std::string_view text) {
  const std::size_t last = text.find_last_not_of(kSpace);
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

}  // namespace

bool begins_kineto_event(std::string_view text, std::size_t at) {
  std::string_view before = without_space_behind(text.substr(0, at));
  if (!before.ends_with(',')) return false;
  before.remove_suffix(1);
  if (!without_space_behind(before).ends_with('}')) return false;
  std::string_view behind = text.substr(at + 1);
  behind.remove_prefix(std::min(behind.find_first_not_of(kSpace), behind.size()));
  return std::ranges::any_of(kEventKeys, [&](std::string_view key) { return behind.starts_with(key); });
}

KinetoSplitter::KinetoSplitter(Read read, std::size_t block_bytes)
    : read_(std::move(read)), block_bytes_(block_bytes), buffer_(block_bytes + 2 * kMarginBytes) {}

std::vector<char> KinetoSplitter::buffer_of(std::size_t bytes) {
  std::vector<char> buffer;
  if (!free_.empty()) {
    buffer = std::move(free_.back());
    free_.pop_back();
  }
  if (buffer.size() < bytes) buffer.resize(bytes);
  return buffer;
}

// Appends a block to the buffer. false at the end of the stream.
bool KinetoSplitter::extend() {
  if (read_all_) return false;
  if (begin_ > kMarginBytes && buffer_.size() < filled_ + block_bytes_ + kMarginBytes) {
    std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
              buffer_.begin() + static_cast<std::ptrdiff_t>(filled_), buffer_.begin() + kMarginBytes);
    scanned_ -= std::min(scanned_, begin_ - kMarginBytes);
    filled_ -= begin_ - kMarginBytes;
    begin_ = kMarginBytes;
  }
  const std::size_t wanted = filled_ + block_bytes_ + kMarginBytes;
  if (buffer_.size() < wanted) buffer_.resize(std::max(wanted, filled() > block_bytes_ ? 2 * buffer_.size() : 0));
  const std::size_t count = read_({buffer_.data() + filled_, block_bytes_});
  read_all_ = count < block_bytes_;
  filled_ += count;
  return count > 0;
}

// Skips to the first character that is not one of `separators`. false at the end of the stream.
bool KinetoSplitter::skip(std::string_view separators) {
  for (;;) {
    const std::size_t found = rest().find_first_not_of(separators);
    begin_ = found == std::string_view::npos ? filled_ : begin_ + found;
    if (begin_ < filled_) return true;
    if (!extend()) return false;
  }
}

KinetoSplitter::Found KinetoSplitter::finish(std::string_view fault) {
  fault_ = fault;
  at_ = At::end;
  return Found::end;
}

// {"schemaVersion": 1, "traceEvents": [{...}, {...}], "baseTimeNanoseconds": 1711964646000000000}, or [{...}, {...}]
KinetoSplitter::Found KinetoSplitter::next() {
  if (at_ == At::begin) {
    while (filled() < kByteOrderMark.size() && extend()) continue;
    if (rest().starts_with(kByteOrderMark)) begin_ += kByteOrderMark.size();
    if (!skip(kSpace)) return finish("");
    in_object_ = rest().front() == '{';
    is_json_ = in_object_ || rest().front() == '[';
    if (!is_json_) return finish("");
    ++begin_;
    at_ = in_object_ ? At::members : At::events;
    scanned_ = begin_;
  }
  if (at_ == At::events) return next_events();
  return at_ == At::members ? next_member() : Found::end;
}

// Length of the string that begins here, with its quotes. false: it has no end.
bool KinetoSplitter::take_string(std::size_t& length) {
  bool escape = false;
  for (std::size_t at = 1;; ++at) {
    if (at >= filled() && (filled() > kMostBytes || !extend())) return false;
    const char c = rest()[at];
    if (!escape && c == '"') {
      length = at + 1;
      return true;
    }
    escape = !escape && c == '\\';
  }
}

bool KinetoSplitter::take_value(std::size_t& length) {
  const char first = rest().front();
  if (first == '"') return take_string(length);
  const bool is_container = first == '{' || first == '[';
  JsonBrackets brackets;
  std::size_t depth = 0;
  for (std::size_t done = 0; is_container || done < filled();) {
    if (is_container) {
      done += brackets.scan(
          rest().substr(done), [&](std::size_t) { ++depth; }, [&](std::size_t) { return --depth != 0; });
      length = done;
      if (depth == 0) return true;
    } else if (length = rest().find_first_of(",}] \t\r\n", done); length != std::string_view::npos) {
      return true;
    } else {
      done = filled();
    }
    if (filled() > kMostBytes || !extend()) return false;
  }
  return false;
}

KinetoSplitter::Found KinetoSplitter::next_member() {
  if (!skip(kEventSeparators)) return finish(kCut);
  if (rest().front() == '}') return finish("");
  std::size_t length = 0;
  if (rest().front() != '"') return finish(kNoMember);
  if (!take_string(length)) return finish(filled() > kMostBytes ? kTooLong : kCut);
  key_ = rest().substr(1, length - 2);
  begin_ += length;
  if (!skip(kSpace)) return finish(kCut);
  if (rest().front() != ':') return finish(kNoMember);
  ++begin_;
  if (!skip(kSpace)) return finish(kCut);
  if (key_ == "traceEvents" && rest().front() == '[') {
    ++begin_;
    scanned_ = begin_;
    depth_ = 0;
    brackets_ = JsonBrackets();
    at_ = At::events;
    return next_events();
  }
  if (!take_value(length)) return finish(filled() > kMostBytes ? kTooLong : kCut);
  value_ = rest().substr(0, length);
  begin_ += length;
  return Found::member;
}

// Hands out the bytes before `end`; the rest moves to the start of a new buffer.
void KinetoSplitter::hand_over(std::size_t end) {
  const std::size_t tail = filled_ - end;
  std::vector<char> next = buffer_of(tail + block_bytes_ + 2 * kMarginBytes);
  std::copy_n(buffer_.begin() + static_cast<std::ptrdiff_t>(end), tail, next.begin() + kMarginBytes);
  batch_ = {.buffer = std::move(buffer_), .begin = begin_, .end = end};
  buffer_ = std::move(next);
  scanned_ = scanned_ - end + kMarginBytes;
  begin_ = kMarginBytes;
  filled_ = kMarginBytes + tail;
}

// If a quote is missing, strings and other text are swapped from there on. The next event is then found by the text
// between two events. false: there is none.
bool KinetoSplitter::find_next_event() {
  if (num_torn_ == kMostTorn) return false;
  const std::string_view text = rest();
  for (std::size_t at = text.find('{', 1); at != std::string_view::npos; at = text.find('{', at + 1)) {
    if (!begins_kineto_event(text, at)) continue;
    begin_ += at;
    scanned_ = begin_;
    brackets_ = JsonBrackets();
    depth_ = 0;
    ++num_torn_;
    return true;
  }
  return false;
}

KinetoSplitter::Found KinetoSplitter::next_events() {
  std::size_t last_end = 0;  // of an event
  for (;;) {
    bool ends_here = false;
    const std::size_t from = scanned_;
    scanned_ += brackets_.scan(
        {buffer_.data() + from, filled_ - from}, [&](std::size_t) { ++depth_; },
        [&](std::size_t at) {
          if (depth_ == 0) {
            ends_here = true;
            last_end = from + at;
            return false;
          }
          if (--depth_ == 0) last_end = from + at + 1;
          return true;
        });
    if (ends_here) {
      at_ = in_object_ ? At::members : At::end;
      hand_over(last_end);
      ++begin_;  // the bracket
      return Found::events;
    }
    if (last_end > begin_) {
      hand_over(last_end);
      return Found::events;
    }
    if (filled() <= kMostEventBytes && extend()) continue;
    if (!find_next_event()) return finish(filled() > kMostEventBytes ? kTorn : kCut);
    last_end = 0;
  }
}

}  // namespace underlap::formats
