// SPDX-License-Identifier: Apache-2.0
#include "platform/status_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "platform/terminal.hpp"
#include "platform/text/escape.hpp"

namespace underlap {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kSmallestPause = std::chrono::milliseconds(200);
constexpr nanoseconds kWorthSaying = std::chrono::seconds(2);
constexpr const char* kClear = "\r\033[K";

nanoseconds steady_now() { return std::chrono::steady_clock::now().time_since_epoch(); }

}  // namespace

StatusOptions status_on_stderr() {
  return {.stream = &std::cerr,
          .terminal = rewrites_lines(STDERR_FILENO),
          .width = terminal_width(STDERR_FILENO),
          .now = {},
          .beat = std::chrono::seconds(1)};
}

StatusLine::StatusLine(StatusOptions options) : options_(std::move(options)) {
  if (options_.stream == nullptr) throw std::invalid_argument("StatusLine: no stream to write to");
  if (!options_.now) options_.now = steady_now;
  if (!options_.terminal || options_.beat.count() == 0) return;
  try {
    thread_ = std::thread([this] { beat_until_the_end(); });
  } catch (const std::system_error&) {  // no thread is left: nothing that is wanted depends on this one
  }
}

StatusLine::~StatusLine() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  if (is_open_) *options_.stream << kClear << std::flush;
}

void StatusLine::beat_until_the_end() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, options_.beat, [this] { return ends_; })) draw();
}

void StatusLine::say(std::string text) {
  if (!options_.terminal) return;
  const std::lock_guard lock(mutex_);
  text_ = visible_text(text);
  since_ = options_.now();
  if (last_shown_ && since_ - *last_shown_ >= kSmallestPause) draw();
}

void StatusLine::print(const std::string& line) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(is_open_, false)) *options_.stream << kClear;
  *options_.stream << laid_out_text(line + "\n") << std::flush;
}

void StatusLine::beat() {
  const std::lock_guard lock(mutex_);
  draw();
}

// One column stays free: many terminals wrap when the last one is written.
void StatusLine::draw() {
  if (!options_.terminal || text_.empty()) return;
  const nanoseconds now = options_.now();
  const nanoseconds since = now - since_;
  const std::string elapsed = since < kWorthSaying ? "" : fmt::format(" ({})", duration_text(since));
  const auto columns = static_cast<std::size_t>(std::max(1, options_.width - 1));
  const std::string text = text_.substr(0, columns - std::min(columns, elapsed.size())) + elapsed;
  *options_.stream << '\r' << text.substr(0, columns) << "\033[K" << std::flush;
  last_shown_ = now;
  is_open_ = true;
}

std::string duration_text(nanoseconds duration) {
  const std::int64_t seconds = (duration.count() + 500'000'000) / 1'000'000'000;
  if (seconds < 60) return fmt::format("{} s", seconds);
  if (seconds < 3600) return fmt::format("{} min {:02} s", seconds / 60, seconds % 60);
  return fmt::format("{} h {:02} min", seconds / 3600, seconds % 3600 / 60);
}

}  // namespace underlap
