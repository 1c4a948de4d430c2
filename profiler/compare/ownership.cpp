// SPDX-License-Identifier: Apache-2.0
#include "profiler/compare/operations.hpp"

#include <algorithm>
#include <queue>
#include <utility>

#include "profiler/analysis/intervals.hpp"

namespace underlap::compare {
namespace {

using analysis::Interval;
using analysis::Window;

// A slice's part of one window; `place` is its place in the window's slices.
struct Piece {
  Interval time;
  std::size_t place = 0;
  std::size_t rank_of_kind = 0;  // 0: compute, which counts before all others
};

std::size_t rank_of(Kind kind) {
  if (kind == Kind::compute) return 0;
  return kind == Kind::communication ? 1 : 2;
}

// Pieces that run, by kind; the one that began last on top. Pieces that ended are removed when they get there.
class Running {
 public:
  void begin(const Piece& piece) { heaps_[piece.rank_of_kind].push({piece.place, piece.time.end}); }

  // The index of the owner of the time from `now` on; npos if the time has no owner.
  std::size_t owner(std::int64_t now) {
    for (auto& heap : heaps_) {
      while (!heap.empty() && heap.top().second <= now) heap.pop();
      if (!heap.empty()) return heap.top().first;
    }
    return static_cast<std::size_t>(-1);
  }

 private:
  // Places are in the order of starts, so that the highest began last.
  std::array<std::priority_queue<std::pair<std::size_t, std::int64_t>>, 3> heaps_;
};

void give_pieces(const Window& window, const std::vector<Piece>& pieces, OwnedWindow& owned) {
  std::vector<std::int64_t> moments{window.begin_ns, window.end_ns};
  for (const Piece& piece : pieces) moments.insert(moments.end(), {piece.time.begin, piece.time.end});
  std::ranges::sort(moments);
  moments.erase(std::unique(moments.begin(), moments.end()), moments.end());
  Running running;
  auto next = pieces.begin();
  for (std::size_t i = 0; i + 1 < moments.size(); ++i) {
    for (; next != pieces.end() && next->time.begin <= moments[i]; ++next)
      if (next->time.length() > 0) running.begin(*next);
    const std::size_t owner = running.owner(moments[i]);
    const std::int64_t length = moments[i + 1] - moments[i];
    (owner < owned.slices.size() ? owned.slices[owner].own_ns : owned.idle_ns) += length;
  }
}

}  // namespace

std::vector<OwnedWindow> share_out(const Trace& trace, std::span<const std::uint32_t> slices_of_rank,
                                   std::span<const Window> windows) {
  std::vector<OwnedWindow> owned(windows.size());
  std::vector<std::vector<Piece>> pieces(windows.size());
  for (const std::uint32_t slice : slices_of_rank) {
    const std::int64_t start = trace.start_ns()[slice], end = trace.end_ns(slice);
    bool began_before = false;
    auto window = std::ranges::lower_bound(windows, start, {}, &Window::end_ns);
    for (; window != windows.end() && window->begin_ns < end; ++window) {
      const Interval time{std::max(start, window->begin_ns), std::min(end, window->end_ns)};
      const bool ends_here = end <= window->end_ns;
      if (time.length() <= 0 && !ends_here) continue;
      const auto w = static_cast<std::size_t>(window - windows.begin());
      pieces[w].push_back({time, owned[w].slices.size(), rank_of(trace.tag(slice).kind)});
      owned[w].slices.push_back({slice, time.length(), 0, ends_here, std::exchange(began_before, true)});
    }
  }
  for (std::size_t w = 0; w < windows.size(); ++w) {
    give_pieces(windows[w], pieces[w], owned[w]);
    pieces[w] = {};
  }
  return owned;
}

}  // namespace underlap::compare
