// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace underlap::analysis {

/// Half-open [begin, end), nanoseconds.
struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t length() const { return end - begin; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// A set of moments: sorted intervals, none empty, none touching the next.
///
/// Built from any intervals in O(n log n); the operations on two sets are linear in their sizes.
class IntervalSet {
 public:
  IntervalSet() = default;
  /// The union of `intervals`, in any order, overlapping or not; those with end <= begin count as nothing.
  explicit IntervalSet(std::vector<Interval> intervals);

  std::span<const Interval> intervals() const { return intervals_; }
  bool empty() const { return intervals_.empty(); }
  std::int64_t length() const;

  friend IntervalSet unite(const IntervalSet&, const IntervalSet&);
  friend IntervalSet intersect(const IntervalSet&, const IntervalSet&);
  /// What is in the first set and not in the second.
  friend IntervalSet subtract(const IntervalSet&, const IntervalSet&);
  friend bool operator==(const IntervalSet&, const IntervalSet&) = default;

 private:
  std::vector<Interval> intervals_;
};

IntervalSet unite(const IntervalSet&, const IntervalSet&);
IntervalSet intersect(const IntervalSet&, const IntervalSet&);
IntervalSet subtract(const IntervalSet&, const IntervalSet&);

}  // namespace underlap::analysis
