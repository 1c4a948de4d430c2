// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>

#include "viewer/timeline/timeline.hpp"

namespace underlap::viewer {

/// The slices that a search found, in the places where they are marked.
class FoundSlices {
 public:
  FoundSlices(const Timeline&, const std::vector<std::uint32_t>& slices);

  /// Of a row of a lane, by time; they do not overlap.
  std::span<const TimeRange> in_row(std::size_t lane, std::size_t row) const { return in(rows_, std::pair(lane, row)); }
  /// Of the streams of a rank, or else of its other lanes, by time; those that overlap are one.
  std::span<const TimeRange> in_rank(std::int32_t rank) const { return in(ranks_, rank); }
  /// The starts of all, in order.
  const std::vector<std::int64_t>& starts_ns() const { return starts_ns_; }

 private:
  template <class Key>
  static std::span<const TimeRange> in(const std::map<Key, std::vector<TimeRange>>& ranges, const Key& key) {
    const auto found = ranges.find(key);
    return found == ranges.end() ? std::span<const TimeRange>() : found->second;
  }

  std::map<std::pair<std::size_t, std::size_t>, std::vector<TimeRange>> rows_;
  std::map<std::int32_t, std::vector<TimeRange>> ranks_;
  std::vector<std::int64_t> starts_ns_;
};

}  // namespace underlap::viewer
