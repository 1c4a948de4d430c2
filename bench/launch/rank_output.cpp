// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/rank_output.hpp"

#include <unistd.h>

#include <cerrno>

namespace underlap::bench {
namespace {

constexpr std::chrono::milliseconds kHeld{200};
constexpr std::size_t kLastLines = 10;
constexpr std::size_t kLongestLine = 4096;

}  // namespace

void RankOutput::read_from(int descriptor) {
  std::array<char, 4096> bytes;
  while (!has_ended_) {
    const ssize_t got = ::read(descriptor, bytes.data(), bytes.size());
    if (got > 0) add({bytes.data(), static_cast<std::size_t>(got)});
    if (got == 0) has_ended_ = true;
    if (got < 0 && errno != EINTR) return;
  }
}

void RankOutput::add(std::string_view bytes) {
  for (const char c : bytes) {
    if (c != '\n') unfinished_ += c;
    if (c == '\n' || unfinished_.size() >= kLongestLine)
      held_.push_back({std::exchange(unfinished_, {}), std::chrono::steady_clock::now() + kHeld});
  }
}

void RankOutput::forward(bool all) {
  const auto now = std::chrono::steady_clock::now();
  for (; !held_.empty() && (all || held_.front().due <= now); held_.pop_front()) sink_(held_.front().text);
}

std::optional<Deadline> RankOutput::next_due() const {
  return held_.empty() ? std::nullopt : std::optional(held_.front().due);
}

std::vector<std::string> RankOutput::take_last_lines() {
  if (!unfinished_.empty()) held_.push_back({std::exchange(unfinished_, {}), {}});
  while (held_.size() > kLastLines) {
    sink_(held_.front().text);
    held_.pop_front();
  }
  std::vector<std::string> lines;
  for (Line& line : held_) lines.push_back(std::move(line.text));
  held_.clear();
  return lines;
}

}  // namespace underlap::bench
