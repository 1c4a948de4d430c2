// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/windows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace underlap::analysis {
namespace {

std::string where(const Mark& mark) {
  return fmt::format("rank {} block {}: the mark of step {} at {} ns", mark.rank, mark.block, mark.step, mark.time_ns);
}

// Why `next` may not follow `last`; empty where it may.
std::string fault(const Mark& last, const Mark& next) {
  if (next.step == last.step) return fmt::format("{} repeats step {}", where(next), last.step);
  if (next.step < last.step)
    return fmt::format("{} is out of order: it follows that of step {}", where(next), last.step);
  if (std::int64_t{next.step} - last.step > 1)
    return fmt::format("{} follows step {}: a mark is missing", where(next), last.step);
  if (next.time_ns < last.time_ns)
    return fmt::format("{} is earlier than that of step {} at {} ns", where(next), last.step, last.time_ns);
  return {};
}

void add_block(const std::vector<Mark>& marks, WindowList& list) {
  std::vector<Window> windows;
  for (std::size_t i = 1; i < marks.size(); ++i) {
    if (std::string error = fault(marks[i - 1], marks[i]); !error.empty()) {
      list.errors.push_back(std::move(error));
      return;
    }
    windows.push_back({marks[i].rank, marks[i].block, marks[i].step, marks[i - 1].time_ns, marks[i].time_ns});
  }
  list.windows.insert(list.windows.end(), windows.begin(), windows.end());
}

}  // namespace

WindowList find_windows(const Trace& trace) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<Mark>> blocks;
  for (const Mark& mark : trace.marks) blocks[{mark.rank, mark.block}].push_back(mark);
  WindowList list;
  for (const auto& [key, marks] : blocks) add_block(marks, list);
  return list;
}

std::optional<Window> span_of_rank(const Trace& trace, std::int32_t rank) {
  std::optional<Window> span;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (!trace.is_work(i) || trace.track_of(i).rank != rank) continue;
    const std::int64_t begin = trace.start_ns()[i];
    const std::int64_t end = trace.end_ns(i);
    if (!span) span = Window{rank, -1, -1, begin, end};
    span->begin_ns = std::min(span->begin_ns, begin);
    span->end_ns = std::max(span->end_ns, end);
  }
  return span;
}

std::vector<std::int32_t> ranks_of(const Trace& trace) {
  std::set<std::int32_t> ranks;
  for (const Track& track : trace.tracks) ranks.insert(track.rank);
  for (const Mark& mark : trace.marks) ranks.insert(mark.rank);
  return {ranks.begin(), ranks.end()};
}

}  // namespace underlap::analysis
