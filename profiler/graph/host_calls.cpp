// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "profiler/graph/draft.hpp"

namespace underlap::graph {
namespace {

// Clocks of host and device agree to about this. Fails when they differ more: a wait then counts as one for earlier
// work.
constexpr std::int64_t kClockNs = 2'000;

enum class CallKind : std::uint8_t { other, copy, wait_for_stream, wait_for_device, event_record, stream_wait };

// "cudaStreamWaitEvent", "hipStreamWaitEvent", "cuStreamWaitEvent", with or without a version.
CallKind kind_of(std::string_view name) {
  for (const std::string_view prefix : {"cuda", "hip", "cu"})
    if (name.starts_with(prefix)) {
      name.remove_prefix(prefix.size());
      constexpr std::array<std::pair<std::string_view, CallKind>, 7> kNames{{
          {"Memcpy", CallKind::copy},
          {"StreamSynchronize", CallKind::wait_for_stream},
          {"EventSynchronize", CallKind::wait_for_stream},
          {"DeviceSynchronize", CallKind::wait_for_device},
          {"CtxSynchronize", CallKind::wait_for_device},
          {"EventRecord", CallKind::event_record},
          {"StreamWaitEvent", CallKind::stream_wait},
      }};
      for (const auto& [start, kind] : kNames)
        if (name.starts_with(start)) return kind;
      break;
    }
  return CallKind::other;
}

class CallAdder {
 public:
  explicit CallAdder(Draft& draft) : draft_(draft), launched_(draft.trace.size(), Draft::kNone) {}

  void add() {
    for (const Flow& flow : draft_.trace.flows) {
      if (flow.kind != FlowKind::launch || draft_.trace.is_work(flow.from) || !draft_.trace.is_work(flow.to)) continue;
      if (draft_.start(flow.from) > draft_.start(flow.to)) continue;
      draft_.call_of[flow.to] = flow.from;
      launched_[flow.from] = flow.to;
    }
    sort_calls();
    for (const auto& [track, calls] : threads_) add_thread(calls);
    add_launches();
    for (auto& [rank, calls] : ranks_) add_hand_overs(calls);
    for (const auto& [track, calls] : threads_)
      if (!draft_.has_events.contains(draft_.trace.tracks[track].rank)) guess_waits(calls);
  }

 private:
  struct Call {
    std::uint32_t slice = 0;
    CallKind kind = CallKind::other;
  };
  struct HostNode {
    std::uint32_t node = 0;
    std::uint32_t edge = Draft::kNone;  ///< from the call before on its thread
    std::uint32_t track = 0;
    std::int64_t start_ns = 0;
  };

  void sort_calls() {
    for (std::uint32_t i = 0; i < draft_.trace.size(); ++i) {
      if (draft_.trace.is_work(i) || draft_.trace.track_of(i).kind != TrackKind::thread) continue;
      const CallKind kind = kind_of(name_of(draft_.trace.name(i)));
      if (launched_[i] == Draft::kNone && (kind == CallKind::other || kind == CallKind::copy)) continue;
      threads_[draft_.trace.track(i)].push_back({i, kind});
    }
    for (auto& [track, calls] : threads_)
      std::ranges::stable_sort(calls, {}, [&](const Call& call) { return draft_.start(call.slice); });
  }

  void add_thread(const std::vector<Call>& calls) {
    for (const Call& call : calls) {
      const std::int64_t start = draft_.start(call.slice), end = draft_.end(call.slice);
      switch (call.kind) {
        case CallKind::event_record:
        case CallKind::stream_wait: break;
        case CallKind::wait_for_stream:
        case CallKind::wait_for_device:
          add_wait(call.slice, last_end(call.slice), call.kind == CallKind::wait_for_stream);
          break;
        default: {
          const std::uint32_t work = launched_[call.slice];
          const bool blocks = call.kind == CallKind::copy && draft_.end(work) <= end && draft_.start(work) >= start;
          add_call(call.slice, start, blocks ? start : end);
          draft_.entry[call.slice] = draft_.exit[call.slice];
          if (blocks) add_wait(call.slice, work, false);
        }
      }
    }
  }

  // A node of its thread, after the one before. What the host does between its calls is work, not a gap.
  std::uint32_t add_call(std::uint32_t slice, std::int64_t start, std::int64_t end, std::int64_t called = INT64_MAX) {
    const std::uint32_t node = draft_.add_node(slice, NodeKind::call, start, end);
    const std::uint32_t track = draft_.trace.track(slice);
    std::vector<HostNode>& rank = ranks_[draft_.rank(slice)];
    HostNode host{.node = node, .track = track, .start_ns = start};
    if (const auto before = last_of_thread_.find(track); before != last_of_thread_.end()) {
      const std::int64_t work = std::min(start, called) - draft_.nodes[before->second].end_ns();
      host.edge = static_cast<std::uint32_t>(draft_.edges.size());
      draft_.edges.push_back({.from = before->second, .to = node, .kind = EdgeKind::host_order, .work_ns = work});
    }
    last_of_thread_[track] = node;
    rank.push_back(host);
    draft_.exit[slice] = node;
    return node;
  }

  // A call that waited takes no time of its own: it ends after what it waited for.
  void add_wait(std::uint32_t slice, std::uint32_t work, bool is_guessed) {
    const std::int64_t start = draft_.start(slice), end = draft_.end(slice);
    const bool waited = work != Draft::kNone && draft_.end(work) > start;
    const std::uint32_t node = add_call(slice, waited ? end : start, end, start);
    if (work == Draft::kNone || draft_.exit[work] == Draft::kNone) return;
    const Node& from = draft_.nodes[draft_.exit[work]];
    const std::int64_t overlap = std::min<std::int64_t>(draft_.nodes[node].start_ns - from.end_ns(), 0);
    draft_.edges.push_back({.from = draft_.exit[work],
                            .to = node,
                            .kind = EdgeKind::host_wait,
                            .is_guessed = is_guessed,
                            .work_ns = overlap});
  }

  // The work that ended last by the end of a wait, of what was launched before it. Fails when a stream was waited for
  // whose work ended earlier; such an edge is marked as guessed.
  std::uint32_t last_end(std::uint32_t wait) const {
    const auto rank = draft_.by_end.find(draft_.rank(wait));
    if (rank == draft_.by_end.end()) return Draft::kNone;
    const auto end = [&](std::uint32_t i) { return draft_.end(i); };
    auto work = std::ranges::upper_bound(rank->second, draft_.end(wait) + kClockNs, {}, end);
    while (work != rank->second.begin()) {
      --work;
      const std::uint32_t call = draft_.call_of[*work];
      if (call == Draft::kNone || draft_.start(call) <= draft_.start(wait)) return *work;
    }
    return Draft::kNone;
  }

  void add_launches() {
    for (std::uint32_t work = 0; work < draft_.call_of.size(); ++work) {
      const std::uint32_t call = draft_.call_of[work];
      if (call == Draft::kNone || draft_.entry[call] == Draft::kNone) continue;
      draft_.edges.push_back(
          {.from = draft_.entry[call], .to = draft_.entry[work], .kind = EdgeKind::launch, .from_start = true});
    }
  }

  // A thread that continues after calls of another thread, with no calls of its own in between, is assumed to have
  // waited for that thread: PyTorch runs the backward pass on a separate thread. Fails when threads launch
  // independently: one then seems to wait for the other.
  void add_hand_overs(std::vector<HostNode>& calls) {
    std::ranges::stable_sort(calls, {}, &HostNode::start_ns);
    for (std::size_t i = 1; i < calls.size(); ++i) {
      const HostNode &before = calls[i - 1], &after = calls[i];
      if (before.track == after.track) continue;
      const std::int64_t work = after.start_ns - draft_.nodes[before.node].end_ns();
      if (work < 0) continue;
      draft_.edges.push_back(
          {.from = before.node, .to = after.node, .kind = EdgeKind::host_order, .is_guessed = true, .work_ns = work});
      if (after.edge != Draft::kNone)
        draft_.edges[after.edge].work_ns = std::min<std::int64_t>(work, draft_.edges[after.edge].work_ns);
    }
  }

  // Neither call names a stream or an event. The wait is taken to be for the record before it on its thread, of the
  // stream whose work from before that record ended last, and to hold up the next work that its thread launches.
  // Fails when the event is an older one or of another thread: the edge then comes from the wrong work.
  void guess_waits(const std::vector<Call>& calls) {
    std::optional<std::int64_t> recorded;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (calls[i].kind == CallKind::event_record) recorded = draft_.start(calls[i].slice);
      if (calls[i].kind != CallKind::stream_wait) continue;
      const std::int64_t time = recorded.value_or(draft_.start(calls[i].slice));
      for (std::size_t next = i + 1; next < calls.size(); ++next) {
        const std::uint32_t to = launched_[calls[next].slice];
        if (to == Draft::kNone) continue;
        const std::uint32_t from = last_recorded(to, time);
        if (from != Draft::kNone) draft_.add_edge(from, to, EdgeKind::event, true);
        break;
      }
    }
  }

  // Of the other streams' last work that was launched before a moment, what ended last, but not after `to` started.
  std::uint32_t last_recorded(std::uint32_t to, std::int64_t time_ns) const {
    std::uint32_t best = Draft::kNone;
    for (const auto& [track, slices] : draft_.streams) {
      if (track == draft_.trace.track(to) || draft_.trace.tracks[track].rank != draft_.rank(to)) continue;
      const auto launched_before = [&](std::uint32_t i) {
        const std::uint32_t call = draft_.call_of[i];
        return (call == Draft::kNone ? draft_.start(i) : draft_.start(call)) < time_ns;
      };
      const auto next = std::ranges::partition_point(slices, launched_before);
      if (next == slices.begin()) continue;
      const std::uint32_t last = *(next - 1);
      if (draft_.end(last) <= draft_.start(to) && (best == Draft::kNone || draft_.end(last) > draft_.end(best)))
        best = last;
    }
    return best;
  }

  Draft& draft_;
  std::vector<std::uint32_t> launched_;  ///< by slice of a call: the work that it launched, the last of several
  std::map<std::uint32_t, std::vector<Call>> threads_;     ///< by track, in order of time
  std::map<std::int32_t, std::vector<HostNode>> ranks_;    ///< by rank
  std::map<std::uint32_t, std::uint32_t> last_of_thread_;  ///< node by track
};

}  // namespace

void add_calls(Draft& draft) { CallAdder(draft).add(); }

}  // namespace underlap::graph
