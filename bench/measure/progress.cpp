// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <stdexcept>
#include <utility>

namespace underlap::bench {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kSmallestPause = std::chrono::milliseconds(200);

nanoseconds steady_now() { return std::chrono::steady_clock::now().time_since_epoch(); }

}  // namespace

Progress::Progress(std::int32_t blocks_done, std::int32_t blocks_planned, ProgressOptions options)
    : options_(std::move(options)), first_block_(blocks_done), done_(blocks_done), planned_(blocks_planned) {
  if (options_.stream == nullptr) throw std::invalid_argument("Progress: no stream to write to");
  if (!options_.now) options_.now = steady_now;
  begin_ = last_finished_ = options_.now();
}

Progress::~Progress() {
  // What is printed next must not stand behind a half-rewritten line.
  if (line_is_open_) *options_.stream << '\n' << std::flush;
}

void Progress::start_cell(const std::string& name, std::int32_t index, std::int32_t count) {
  if (!options_.terminal) return;
  show(fmt::format("block {} of {}, cell {} of {}: {}{}", done_ + 1, planned_, index + 1, count, name, left_text()),
       false);
}

void Progress::finish_block() {
  ++done_;
  last_finished_ = options_.now();
  show(fmt::format("block {} of {} done{}", done_, planned_, left_text()), true);
}

std::optional<nanoseconds> Progress::time_left() const {
  if (done_ == first_block_) return std::nullopt;
  const nanoseconds per_block = (last_finished_ - begin_) / (done_ - first_block_);
  const nanoseconds since = options_.now() - last_finished_;
  return std::max(nanoseconds(0), per_block * std::max(0, planned_ - done_) - since);
}

std::string Progress::left_text() const {
  const auto left = time_left();
  return left && done_ < planned_ ? fmt::format(", {} left", duration_text(*left)) : "";
}

void Progress::show(const std::string& line, bool always) {
  if (!options_.terminal) {
    *options_.stream << line << '\n' << std::flush;
    return;
  }
  const nanoseconds now = options_.now();
  if (!always && last_shown_ && now - *last_shown_ < kSmallestPause) return;
  last_shown_ = now;
  // One column stays free: many terminals wrap when the last one is written. "\033[K" clears what was there before.
  const auto columns = static_cast<std::size_t>(std::max(1, options_.width - 1));
  *options_.stream << '\r' << line.substr(0, columns) << "\033[K" << std::flush;
  line_is_open_ = true;
}

std::string duration_text(nanoseconds duration) {
  const std::int64_t seconds = (duration.count() + 500'000'000) / 1'000'000'000;
  if (seconds < 60) return fmt::format("{} s", seconds);
  if (seconds < 3600) return fmt::format("{} min {:02} s", seconds / 60, seconds % 60);
  return fmt::format("{} h {:02} min", seconds / 3600, seconds % 3600 / 60);
}

}  // namespace underlap::bench
