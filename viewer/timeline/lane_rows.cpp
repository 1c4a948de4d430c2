// SPDX-License-Identifier: Apache-2.0
#include "viewer/timeline/lane_rows.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace underlap::viewer {

using Indices = std::vector<std::uint32_t>;

std::vector<Indices> slices_of_tracks(const Trace& trace) {
  std::vector<std::size_t> counts(trace.tracks.size());
  for (std::size_t i = 0; i < trace.size(); ++i) ++counts[trace.track(i)];
  std::vector<Indices> tracks(trace.tracks.size());
  for (std::size_t track = 0; track < tracks.size(); ++track) tracks[track].reserve(counts[track]);
  for (std::size_t i = 0; i < trace.size(); ++i) tracks[trace.track(i)].push_back(static_cast<std::uint32_t>(i));
  const auto& start_ns = trace.start_ns();
  const auto by_start = [&](std::uint32_t a, std::uint32_t b) { return start_ns[a] < start_ns[b]; };
  for (Indices& slices : tracks)
    if (!std::ranges::is_sorted(slices, by_start)) std::ranges::stable_sort(slices, by_start);
  return tracks;
}

// Most fit into the first row, which is what was given, without those that do not.
std::vector<Indices> rows_apart(const Trace& trace, Indices slices) {
  std::vector<Indices> rows(1);
  std::vector<std::int64_t> ends_ns{INT64_MIN};
  std::size_t num_first = 0;
  for (const std::uint32_t slice : slices) {
    const std::int64_t start_ns = trace.start_ns()[slice];
    std::size_t row = 0;
    while (row < rows.size() && ends_ns[row] > start_ns) ++row;
    if (row == rows.size()) {
      rows.emplace_back();
      ends_ns.push_back(0);
    }
    if (row == 0)
      slices[num_first++] = slice;
    else
      rows[row].push_back(slice);
    ends_ns[row] = trace.end_ns(slice);
  }
  slices.resize(num_first);
  slices.shrink_to_fit();
  rows.front() = std::move(slices);
  return rows;
}

std::vector<Indices> rows_nested(const Trace& trace, Indices slices) {
  // The longer of two that begin together is the outer one.
  std::ranges::stable_sort(slices, [&](std::uint32_t a, std::uint32_t b) {
    const std::int64_t first_ns = trace.start_ns()[a], second_ns = trace.start_ns()[b];
    return first_ns != second_ns ? first_ns < second_ns : trace.end_ns(a) > trace.end_ns(b);
  });
  std::vector<Indices> rows(1);
  std::vector<std::int64_t> open_ns;  // ends of those that the next one may be within
  for (const std::uint32_t slice : slices) {
    while (!open_ns.empty() && open_ns.back() <= trace.start_ns()[slice]) open_ns.pop_back();
    if (open_ns.size() == rows.size()) rows.emplace_back();
    rows[open_ns.size()].push_back(slice);
    open_ns.push_back(trace.end_ns(slice));
  }
  return rows;
}

}  // namespace underlap::viewer
