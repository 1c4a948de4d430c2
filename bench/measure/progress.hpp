// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>

namespace underlap::bench {

/// Where progress is shown, and what it is paced by. A test gives its own clock and stream.
struct ProgressOptions {
  std::ostream* stream = nullptr;  ///< usually std::cerr; must outlive the Progress
  bool terminal = false;           ///< a line that is rewritten, at most 5 times a second; else a line per block
  int width = 80;                  ///< columns of the terminal
  std::function<std::chrono::nanoseconds()> now;  ///< empty: the steady clock
};

/// Progress of a run through its blocks, with the time left as estimated from the blocks finished by this process.
class Progress {
 public:
  /// `blocks_done` of `blocks_planned` were finished earlier, by the run that --resume continues.
  Progress(std::int32_t blocks_done, std::int32_t blocks_planned, ProgressOptions options);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Cell `index` of `count` begins in the block after the last finished one. Shown on a terminal only.
  void start_cell(const std::string& name, std::int32_t index, std::int32_t count);

  void finish_block();

  /// nullopt before a block was finished.
  std::optional<std::chrono::nanoseconds> time_left() const;

 private:
  void show(const std::string& line, bool always);
  std::string left_text() const;

  ProgressOptions options_;
  std::int32_t first_block_;
  std::int32_t done_;
  std::int32_t planned_;
  std::chrono::nanoseconds begin_;
  std::chrono::nanoseconds last_finished_;
  std::optional<std::chrono::nanoseconds> last_shown_;
  bool line_is_open_ = false;
};

/// "45 s", "3 min 05 s", "2 h 10 min".
std::string duration_text(std::chrono::nanoseconds duration);

}  // namespace underlap::bench
