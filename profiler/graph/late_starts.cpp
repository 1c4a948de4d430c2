// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "profiler/graph/draft.hpp"

namespace underlap::graph {
namespace {

// Work is late where its call started this long ago: twice the launch latency of data center GPUs, and what a busy
// device adds to it.
constexpr std::int64_t kLateNs = 70'000;
// A stream that was idle for longer than this did not hold its next work up.
constexpr std::int64_t kIdleNs = 20'000;
// Work that waited for multiprocessors starts this close to the end of what held them.
constexpr std::int64_t kBeforeNs = 4'000;
constexpr std::int64_t kAfterNs = 3'000;

class LateStarts {
 public:
  explicit LateStarts(Draft& draft) : draft_(draft), event_ns_(draft.trace.size(), kNever) {
    for (const Edge& edge : draft.edges)
      if (edge.kind == EdgeKind::event) {
        std::int64_t& latest = event_ns_[draft.nodes[edge.to].slice];
        latest = std::max(latest, draft.nodes[edge.from].end_ns());
      }
  }

  void add() {
    for (const auto& [track, slices] : draft_.streams)
      for (const std::uint32_t slice : slices) {
        if (draft_.call_of[slice] != Draft::kNone)
          add_resource(slice);
        else if (!draft_.has_events.contains(draft_.rank(slice)))
          add_last_end(slice);
      }
  }

 private:
  static constexpr std::int64_t kNever = INT64_MIN;

  std::int64_t stream_ns(std::uint32_t slice) const {
    const std::uint32_t previous = draft_.previous_on_stream(slice);
    return previous == Draft::kNone ? kNever : draft_.end(previous);
  }

  // Launched long before, with an idle stream and no wait: it starts when a kernel of another stream ends. Fails
  // when it waited for something that the trace lacks, and a kernel happened to end then: the edge is wrong.
  void add_resource(std::uint32_t slice) {
    const std::int64_t start = draft_.start(slice);
    if (draft_.start(draft_.call_of[slice]) + kLateNs > start || stream_ns(slice) > start - kIdleNs) return;
    if (event_ns_[slice] > start - kIdleNs) return;
    std::uint32_t best = Draft::kNone;
    for (auto other = first_end_after(slice, start - kBeforeNs); other != draft_.by_end.at(draft_.rank(slice)).end();
         ++other) {
      if (draft_.end(*other) > start + kAfterNs) break;
      if (draft_.trace.track(*other) == draft_.trace.track(slice) || draft_.start(*other) >= start) continue;
      if (best == Draft::kNone || draft_.end(*other) <= start) best = *other;
    }
    if (best != Draft::kNone) draft_.add_edge(best, slice, EdgeKind::resource, true);
  }

  // Neither its launch nor any event of its rank is known: it follows what ended last on the rank. Fails when it
  // waited for other work or for its launch.
  void add_last_end(std::uint32_t slice) {
    const std::int64_t start = draft_.start(slice);
    const std::vector<std::uint32_t>& by_end = draft_.by_end.at(draft_.rank(slice));
    for (auto other = first_end_after(slice, start + 1); other != by_end.begin();) {
      --other;
      if (draft_.end(*other) <= stream_ns(slice)) return;
      if (draft_.trace.track(*other) == draft_.trace.track(slice) || *other == slice) continue;
      return draft_.add_edge(*other, slice, EdgeKind::event, true);
    }
  }

  std::vector<std::uint32_t>::const_iterator first_end_after(std::uint32_t slice, std::int64_t time_ns) const {
    return std::ranges::lower_bound(draft_.by_end.at(draft_.rank(slice)), time_ns, {},
                                    [&](std::uint32_t i) { return draft_.end(i); });
  }

  Draft& draft_;
  std::vector<std::int64_t> event_ns_;  ///< by slice: the latest end that an event edge to it comes from
};

}  // namespace

void add_late_starts(Draft& draft) { LateStarts(draft).add(); }

}  // namespace underlap::graph
