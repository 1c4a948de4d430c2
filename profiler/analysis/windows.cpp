// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/windows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "platform/threads/on_all_cores.hpp"

namespace underlap::analysis {
namespace {

constexpr std::size_t kManyToSort = 200'000;  ///< fewer slices are sorted before other threads have started

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

std::vector<std::int32_t> ranks_of(const Trace& trace) {
  std::set<std::int32_t> ranks;
  for (const Track& track : trace.tracks) ranks.insert(track.rank);
  for (const Mark& mark : trace.marks) ranks.insert(mark.rank);
  return {ranks.begin(), ranks.end()};
}

std::map<std::int32_t, std::vector<Window>> windows_by_rank(std::span<const Window> windows) {
  std::map<std::int32_t, std::vector<Window>> ranks;
  for (const Window& window : windows) ranks[window.rank].push_back(window);
  for (auto& [rank, of_rank] : ranks) std::ranges::stable_sort(of_rank, {}, &Window::end_ns);
  return ranks;
}

const Window* window_of_end(std::span<const Window> windows, std::int64_t end_ns) {
  const auto found = std::ranges::lower_bound(windows, end_ns, {}, &Window::end_ns);
  return found != windows.end() && found->begin_ns < end_ns ? &*found : nullptr;
}

std::map<std::int32_t, std::vector<std::uint32_t>> work_by_rank(const Trace& trace) {
  std::map<std::int32_t, std::vector<std::uint32_t>> ranks;
  std::vector<std::vector<std::uint32_t>*> of_track;
  for (const Track& track : trace.tracks) of_track.push_back(&ranks[track.rank]);
  for (std::size_t i = 0; i < trace.size(); ++i)
    if (trace.is_work(i)) of_track[trace.track(i)]->push_back(static_cast<std::uint32_t>(i));
  std::erase_if(ranks, [](const auto& rank) { return rank.second.empty(); });
  std::vector<std::vector<std::uint32_t>*> of_rank;
  for (auto& [rank, slices] : ranks) of_rank.push_back(&slices);
  const auto start_of = [&](std::uint32_t i) { return trace.start_ns()[i]; };
  on_all_cores(
      of_rank.size(), [&](std::size_t i) { std::ranges::stable_sort(*of_rank[i], {}, start_of); },
      trace.size() < kManyToSort ? 1 : 0);
  return ranks;
}

}  // namespace underlap::analysis
