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

/// What a run leaves behind where it ends before all is done: in words, in status.json, and for whoever sent a signal.
/// A run's own counts, which the thread that watches for signals reads.
class EarlyEnd {
 public:
  /// `options` outlives this.
  explicit EarlyEnd(const MeasureOptions& options) : options_(options) {}

  /// Blocks that are kept, of those planned.
  void set(std::int32_t done, std::int32_t planned) { done_ = done, planned_ = planned; }
  bool is_something_kept() const { return done_ > 0; }
  /// "2 of 5 blocks are kept in DIR; go on with: COMMAND".
  std::string text() const;

  /// From now on status.json says how the run stands.
  void begin_status();
  void say(std::string where, std::optional<std::int64_t> seconds_left);
  /// `why` it ended; empty: all is done.
  void end_status(const std::string& why);

  /// Whether a signal is taken as a wish, once: where a launcher started the ranks, SIGTERM, which schedulers send a
  /// while before they kill.
  bool is_heeded(int signal);
  /// Throws StoppedBySignal where there is such a wish.
  void end_if_heeded() const;
  /// On the thread that ends the process: whoever holds a stream's lock, or does not read, must not keep it.
  void say_last_words(int signal);

 private:
  const MeasureOptions& options_;
  std::atomic<std::int32_t> done_{0}, planned_{0};
  std::atomic<int> heeded_{0};
  std::optional<StatusFile> status_;
  std::atomic<bool> has_status_{false};
};

}  // namespace underlap::bench
