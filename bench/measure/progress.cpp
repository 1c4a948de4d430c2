// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/progress.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace underlap::bench {

using std::chrono::nanoseconds;

Progress::Progress(std::int32_t blocks_done, std::int32_t blocks_planned, StatusLine& line)
    : line_(line), first_block_(blocks_done), done_(blocks_done), planned_(blocks_planned) {
  begin_ = last_finished_ = line_.now();
}

std::string Progress::start_cell(const std::string& name, std::size_t index, std::size_t count) {
  std::string where = fmt::format("block {} of {}, {}", done_ + 1, planned_, cell_text(name, index, count));
  line_.say(where + left_text());
  return where;
}

void Progress::finish_block() {
  ++done_;
  last_finished_ = line_.now();
  const std::string text = fmt::format("block {} of {} done{}", done_, planned_, left_text());
  line_.is_shown() ? line_.say(text) : line_.print(text);
}

// Fails when blocks differ in length: the rest is taken to be as long as the mean of those done.
std::optional<nanoseconds> Progress::time_left() const {
  if (done_ == first_block_) return std::nullopt;
  const nanoseconds per_block = (last_finished_ - begin_) / (done_ - first_block_);
  const nanoseconds since = line_.now() - last_finished_;
  return std::max(nanoseconds(0), per_block * std::max(0, planned_ - done_) - since);
}

std::string Progress::left_text() const {
  const auto left = time_left();
  return left && done_ < planned_ ? fmt::format(", {} left", duration_text(*left)) : "";
}

std::string cell_text(const std::string& name, std::size_t index, std::size_t count) {
  return fmt::format("cell {} of {}: {}", index + 1, count, name);
}

}  // namespace underlap::bench
