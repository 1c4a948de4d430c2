// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/network/message_channel.hpp"

namespace underlap::bench {

/// Takes one finished line, without its end.
using LineSink = std::function<void(const std::string&)>;

/// What a rank prints, line by line. A line is held for a moment before it is handed on: one that comes with the end of
/// the rank belongs to the error that tells of it.
class RankOutput {
 public:
  explicit RankOutput(LineSink sink) : sink_(std::move(sink)) {}

  /// Takes what is there now.
  void read_from(int descriptor);
  /// The same of what was read elsewhere.
  void add(std::string_view bytes);
  /// Nothing more can come.
  bool has_ended() const { return has_ended_; }
  /// Hands on the lines that were held long enough, or with `all` every one.
  void forward(bool all);
  /// When the next line is due.
  std::optional<Deadline> next_due() const;
  /// The last lines that nobody has seen; they are not handed on any more.
  std::vector<std::string> take_last_lines();

 private:
  struct Line {
    std::string text;
    Deadline due;
  };

  LineSink sink_;
  bool has_ended_ = false;
  std::string unfinished_;
  std::deque<Line> held_;
};

}  // namespace underlap::bench
