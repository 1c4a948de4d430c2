// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/intervals.hpp"

#include <algorithm>

namespace underlap::analysis {
namespace {

// Appends to a sorted list, joining what overlaps or touches its last interval.
void append_joined(std::vector<Interval>& sorted, const Interval& next) {
  if (!sorted.empty() && next.begin <= sorted.back().end)
    sorted.back().end = std::max(sorted.back().end, next.end);
  else
    sorted.push_back(next);
}

}  // namespace

IntervalSet::IntervalSet(std::vector<Interval> intervals) {
  std::erase_if(intervals, [](const Interval& i) { return i.end <= i.begin; });
  // What comes from slices in order of time is in order, unless several streams or an arrival are among it.
  if (!std::ranges::is_sorted(intervals, {}, &Interval::begin)) std::ranges::sort(intervals, {}, &Interval::begin);
  for (const Interval& i : intervals) append_joined(intervals_, i);
}

std::int64_t IntervalSet::length() const {
  std::int64_t sum = 0;
  for (const Interval& i : intervals_) sum += i.length();
  return sum;
}

IntervalSet unite(const IntervalSet& a, const IntervalSet& b) {
  std::vector<Interval> merged(a.intervals_.size() + b.intervals_.size());
  std::merge(a.intervals_.begin(), a.intervals_.end(), b.intervals_.begin(), b.intervals_.end(), merged.begin(),
             [](const Interval& x, const Interval& y) { return x.begin < y.begin; });
  IntervalSet result;
  for (const Interval& i : merged) append_joined(result.intervals_, i);
  return result;
}

IntervalSet intersect(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet result;
  auto x = a.intervals_.begin();
  auto y = b.intervals_.begin();
  while (x != a.intervals_.end() && y != b.intervals_.end()) {
    const Interval common{std::max(x->begin, y->begin), std::min(x->end, y->end)};
    if (common.begin < common.end) result.intervals_.push_back(common);
    if (x->end < y->end)
      ++x;
    else
      ++y;
  }
  return result;
}

IntervalSet subtract(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet result;
  auto hole = b.intervals_.begin();
  for (Interval rest : a.intervals_) {
    while (hole != b.intervals_.end() && hole->end <= rest.begin) ++hole;
    // A hole that reaches past this interval may cut the next one too, so `hole` itself stays.
    for (auto cut = hole; cut != b.intervals_.end() && cut->begin < rest.end; ++cut) {
      if (rest.begin < cut->begin) result.intervals_.push_back({rest.begin, cut->begin});
      rest.begin = std::min(cut->end, rest.end);
      hole = cut;
    }
    if (rest.begin < rest.end) result.intervals_.push_back(rest);
  }
  return result;
}

}  // namespace underlap::analysis
