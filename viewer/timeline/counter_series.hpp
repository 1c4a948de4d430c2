// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace underlap::viewer {

/// The least and the most of some values; empty where there are none.
struct ValueRange {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();

  bool is_empty() const { return least > most; }
  void take(const ValueRange& more);
};

/// A value over time: it holds from each sample until the next. A tree above the samples gives the least and the
/// largest of any range of them without visiting each.
class CounterSeries {
 public:
  /// Adds samples in any order; call finish() once, when all are added.
  void add(std::int64_t time_ns, double value) { samples_.push_back({time_ns, value}); }
  void finish();

  std::size_t size() const { return samples_.size(); }
  double value(std::size_t i) const { return samples_[i].value; }
  /// The first at `time_ns` or later; size() if there is no such sample.
  std::size_t first_at(std::int64_t time_ns) const;
  /// Of those of [from, to).
  ValueRange range(std::size_t from, std::size_t to) const;

 private:
  static constexpr std::size_t kFanOut = 16;

  struct Sample {
    std::int64_t time_ns;
    double value;
  };

  std::vector<Sample> samples_;
  std::vector<std::vector<ValueRange>> levels_;  ///< of kFanOut samples each, then of kFanOut of the level below
};

}  // namespace underlap::viewer
