// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <iosfwd>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace underlap {

/// Where a StatusLine is shown, and what it is paced by. A test gives its own clock and stream, and beats by hand.
struct StatusOptions {
  std::ostream* stream = nullptr;                      ///< usually std::cerr; must outlive the line
  bool terminal = false;                               ///< false: only what print() is given is shown
  int width = 80;                                      ///< columns of the terminal
  std::function<std::chrono::nanoseconds()> now = {};  ///< empty: the steady clock
  std::chrono::milliseconds beat{1000};                ///< between two beats; 0: none but those by hand
};

/// Those of standard error as it is.
StatusOptions status_on_stderr();

/// One line of a terminal that shows what a program is doing, and for how long. It is redrawn at every beat, whatever
/// the other threads do, so the terminal is never silent for longer than a beat. Work that ends before the first beat
/// is not shown. The line is removed at the end.
class StatusLine {
 public:
  /// Throws std::invalid_argument without a stream.
  explicit StatusLine(StatusOptions options);
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  /// What the program is at from now on. Shown at the next beat; from the first one on at once, unless something was
  /// shown a moment ago.
  void say(std::string text);
  /// A whole line that stays.
  void print(const std::string& line);
  /// Shows the last text of say(), with the time since, from two seconds on.
  void beat();

  /// Whether the texts of say() are ever shown.
  bool is_shown() const { return options_.terminal; }
  std::chrono::nanoseconds now() const { return options_.now(); }

 private:
  void draw();
  void beat_until_the_end();

  StatusOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  std::string text_;
  std::chrono::nanoseconds since_{0};
  std::optional<std::chrono::nanoseconds> last_shown_;
  bool is_open_ = false;
  std::thread thread_;  // last: it uses the above
};

/// "45 s", "3 min 05 s", "2 h 10 min".
std::string duration_text(std::chrono::nanoseconds duration);

}  // namespace underlap
