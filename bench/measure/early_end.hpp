// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "bench/cluster/run_status.hpp"
#include "bench/measure/measure.hpp"
#include "profiler/report/results.hpp"

namespace underlap::bench {

/// Reports a run that ends before all is done: in words, in status.json, and in reply to a signal. The signal thread
/// reads the run's counters from here.
class EarlyEnd {
 public:
  /// `options` outlives this.
  explicit EarlyEnd(const MeasureOptions& options) : options_(options) {}

  /// Number of blocks that are kept, and number planned.
  void set(std::int32_t done, std::int32_t planned) { done_ = done, planned_ = planned; }
  bool is_something_kept() const { return done_ > 0; }
  /// "2 of 5 blocks are kept in DIR; ", then how to continue the run.
  std::string text() const;

  /// From now on status.json shows the state of the run.
  void begin_status();
  void say(std::string where, std::optional<std::int64_t> seconds_left);
  /// `why` it ended; empty: all blocks are done.
  void end_status(const std::string& why);

  /// Whether a signal only requests an end, once. That holds for SIGTERM if a launcher started the ranks: schedulers
  /// send it a while before they kill.
  bool is_heeded(int signal);
  /// Throws StoppedBySignal if there was such a request.
  void end_if_heeded() const;
  /// Runs on the thread that ends the process, and must not block on a locked stream or a reader that does not read.
  void say_last_words(int signal);

 private:
  const MeasureOptions& options_;
  std::atomic<std::int32_t> done_{0}, planned_{0};
  std::atomic<int> heeded_{0};
  std::optional<StatusFile> status_;
  std::atomic<bool> has_status_{false};
};

}  // namespace underlap::bench
