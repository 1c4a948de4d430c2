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

/// Takes one complete line, without its line break.
using LineSink = std::function<void(const std::string&)>;

/// Output of a rank, line by line. A line is held for a moment before it is forwarded: the last lines before the rank's
/// end belong to the error that reports it.
class RankOutput {
 public:
  explicit RankOutput(LineSink sink) : sink_(std::move(sink)) {}

  /// Reads what is available now.
  void read_from(int descriptor);
  /// Adds bytes that were read elsewhere.
  void add(std::string_view bytes);
  /// No more output can come.
  bool has_ended() const { return has_ended_; }
  /// Forwards the lines that were held long enough, or with `all` every line.
  void forward(bool all);
  /// When the next line is due.
  std::optional<Deadline> next_due() const;
  /// The last lines that were not forwarded; they will not be forwarded any more.
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
