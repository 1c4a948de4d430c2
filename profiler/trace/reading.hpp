// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>

namespace underlap {

class Trace;

/// The caller ended reading: ReadingWatch::is_cancelled() returned true.
class Cancelled : public std::exception {
 public:
  const char* what() const noexcept override { return "reading was cancelled"; }
};

/// Reports progress while a trace is read, and can cancel reading. The default ignores all reports.
///
/// Each function is called on the thread that reads, every few milliseconds, and holds reading up while it runs. So
/// is_cancelled() asks something that another thread may set.
class ReadingWatch {
 public:
  virtual ~ReadingWatch() = default;

  /// The current activity, as text for a status line: "reading rank0.json (1 of 8)"; "" at the end.
  virtual void say(const std::string& /*what*/) {}
  /// How much of the bytes of all files was read, 0 to 1: never less than before, and 1 once all was.
  virtual void on_progress(double /*fraction*/) {}
  /// Whether reading is to end, which then throws Cancelled.
  virtual bool is_cancelled() const { return false; }
  /// How long from one part to the next, at least; nullopt: no part is wanted. Asked whenever one could be given.
  virtual std::optional<std::chrono::milliseconds> pause_between_parts() const { return std::nullopt; }
  /// The trace as far as it was read, valid during the call. Its slices have their durations, names and tracks, and
  /// keep their places in later parts. Only at the end of a file it is known which ranks the tracks are of and what is
  /// communication, and times may count from another moment until then.
  virtual void on_part(const Trace& /*so_far*/) {}
};

/// A reader's end of a watch. Telling it something costs next to nothing, so that a reader does it at each block that
/// it read, or every thousand records. Not for several threads at once.
class Reading {
 public:
  /// Without a watch.
  Reading() = default;
  /// The watch outlives this.
  explicit Reading(ReadingWatch& watch) : watch_(&watch) {}

  void say(const std::string& what);
  /// What comes next is a file that has `share` of all bytes, 0 to 1. Without this, all is one file.
  void begin_file(double share);
  /// What comes next takes reading from here to there in the file, 0 to 1: of one that is gone through twice.
  void begin_stage(double from, double until);
  /// How far the file or the stage was read, 0 to 1. Throws Cancelled.
  void at(double fraction);
  /// The same as a fraction of bytes or of any other count; 0 of 0 counts as nothing read.
  void at(std::uint64_t done, std::uint64_t all);
  /// All files were read.
  void end();
  /// Throws Cancelled where that was asked for.
  void check() const;

  /// Whether show() does nothing, since what it would be given is not all that was read.
  void hold_parts(bool holds) { holds_parts_ = holds; }
  /// Hands the part that was read so far to a watch that wants one now.
  void show(const Trace& so_far);
  /// Hands what was read to a watch that wants parts, however short ago it had one.
  void show_now(const Trace& so_far);

 private:
  void report(double fraction);

  ReadingWatch* watch_ = nullptr;
  double before_ = 0;  ///< of all bytes those of the files before this one
  double share_ = 1;   ///< that this file has
  double stage_from_ = 0;
  double stage_until_ = 1;
  double reported_ = 0;
  bool holds_parts_ = false;
  std::optional<std::chrono::steady_clock::time_point> last_part_;
};

}  // namespace underlap
