// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/cut_windows.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace underlap::report {
namespace {

/// Walks through the brackets and strings of a JSON text.
class Walk {
 public:
  explicit Walk(std::string_view text) : text_(text) {}

  std::size_t at() const { return at_; }
  bool has_ended() const { return at_ >= text_.size(); }
  char now() const { return text_[at_]; }
  void step() { ++at_; }

  // Skips from a quote past the end of the string; returns the text between the quotes.
  std::string_view take_string() {
    const std::size_t begin = ++at_;
    while (!has_ended() && now() != '"') at_ += now() == '\\' ? 2 : 1;
    const std::size_t end = std::min(at_, text_.size());
    at_ = end + 1;
    return text_.substr(begin, end - begin);
  }

  // Skips from a bracket past the one that closes it.
  std::string_view take_brackets() {
    const std::size_t begin = at_;
    std::size_t depth = 0;
    while (!has_ended()) {
      const char c = now();
      if (c == '"') {
        take_string();
        continue;
      }
      ++at_;
      if (c == '[' || c == '{') ++depth;
      if ((c == ']' || c == '}') && --depth == 0) break;
    }
    return text_.substr(begin, std::min(at_, text_.size()) - begin);
  }

  void skip_spaces() {
    while (!has_ended() && (now() == ' ' || now() == '\n' || now() == '\r' || now() == '\t')) ++at_;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

// How many brackets are open around the keys of the root, of a cell and of a sample.
constexpr std::size_t kInRoot = 1, kInCell = 3, kInSample = 5;

}  // namespace

// "samples": [{"block": 0, "step": 3, "step_ns": 103682654, ..., "ranks": [{...}, {...}]}]: cuts the list of ranks.
CutResults cut_windows(std::string_view text) {
  CutResults cut;
  std::array<std::string_view, kInSample + 1> keys;  // by open brackets, the last that was met
  std::size_t depth = 0;
  std::size_t kept = 0;  // up to here the text is in `rest`, or cut
  Walk walk(text);
  while (!walk.has_ended()) {
    const char c = walk.now();
    if (c == '"') {
      const std::string_view string = walk.take_string();
      walk.skip_spaces();
      if (!walk.has_ended() && walk.now() == ':' && depth < keys.size()) keys[depth] = string;
      continue;
    }
    const bool is_windows = c == '[' && depth == kInSample && keys[kInSample] == "ranks" &&
                            keys[kInCell] == "samples" && keys[kInRoot] == "cells";
    if (is_windows) {
      cut.rest.append(text.substr(kept, walk.at() - kept)).append("[]");
      cut.windows.push_back(walk.take_brackets());
      kept = walk.at();
      continue;
    }
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && depth > 0) --depth;
    walk.step();
  }
  cut.rest.append(text.substr(std::min(kept, text.size())));
  return cut;
}

}  // namespace underlap::report
