// SPDX-License-Identifier: Apache-2.0
#include "profiler/graph/graph.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "profiler/graph/draft.hpp"
#include "profiler/trace/saturating.hpp"

namespace underlap::graph {

Draft::Draft(const Trace& of, const analysis::Communications& communications)
    : trace(of), entry(of.size(), kNone), exit(of.size(), kNone), call_of(of.size(), kNone) {
  for (const Track& track : trace.tracks) offset_ns_.push_back(communications.offset_ns(track.rank));
  for (std::uint32_t i = 0; i < trace.size(); ++i) {
    if (!trace.is_work(i)) continue;
    streams[trace.track(i)].push_back(i);
    by_end[rank(i)].push_back(i);
  }
  for (auto& [track, slices] : streams)
    std::ranges::stable_sort(slices, {}, [&](std::uint32_t i) { return std::pair(start(i), end(i)); });
  for (auto& [rank, slices] : by_end) std::ranges::stable_sort(slices, {}, [&](std::uint32_t i) { return end(i); });
}

std::int64_t Draft::start(std::uint32_t slice) const {
  return saturating_subtract(trace.start_ns()[slice], offset_ns_[trace.track(slice)]);
}

std::int64_t Draft::end(std::uint32_t slice) const {
  return std::max(start(slice), saturating_subtract(trace.end_ns(slice), offset_ns_[trace.track(slice)]));
}

std::uint32_t Draft::next_on_stream(std::uint32_t track, std::int64_t time_ns) const {
  const auto stream = streams.find(track);
  if (stream == streams.end()) return kNone;
  const auto next = std::ranges::lower_bound(stream->second, time_ns, {}, [&](std::uint32_t i) { return start(i); });
  return next == stream->second.end() ? kNone : *next;
}

std::uint32_t Draft::previous_on_stream(std::uint32_t slice) const {
  const std::vector<std::uint32_t>& stream = streams.at(trace.track(slice));
  const auto next = std::ranges::lower_bound(stream, start(slice), {}, [&](std::uint32_t i) { return start(i); });
  return next == stream.begin() ? kNone : *(next - 1);
}

std::uint32_t Draft::add_node(std::uint32_t slice, NodeKind kind, std::int64_t start_ns, std::int64_t end_ns) {
  const Tag& tag = trace.tag(slice);
  nodes.push_back({.rank = rank(slice),
                   .slice = slice,
                   .kind = kind,
                   .work = tag.kind,
                   .mode = tag.mode,
                   .step = tag.step,
                   .start_ns = start_ns,
                   .duration_ns = std::max<std::int64_t>(saturating_subtract(end_ns, start_ns), 0)});
  return static_cast<std::uint32_t>(nodes.size() - 1);
}

// From the end of one slice to the start of another. One that ends later than the other starts overlaps it by as much
// from then on. What the host did between two operations is its work.
void Draft::add_edge(std::uint32_t from_slice, std::uint32_t to_slice, EdgeKind kind, bool is_guessed) {
  const std::uint32_t from = exit[from_slice], to = entry[to_slice];
  if (from == kNone || to == kNone || from == to) return;
  const std::int64_t distance = nodes[to].start_ns - nodes[from].end_ns();
  const bool is_host_work = kind == EdgeKind::host_wait && nodes[to].kind != NodeKind::call;
  edges.push_back({.from = from,
                   .to = to,
                   .kind = kind,
                   .is_guessed = is_guessed,
                   .work_ns = is_host_work ? distance : std::min<std::int64_t>(distance, 0)});
}

namespace {

struct Joined {
  std::vector<std::uint32_t> matches;  ///< for which it waited
  std::int64_t last_arrival_ns = 0;
  bool is_message = false;
};

class WorkAdder {
 public:
  WorkAdder(Draft& draft, const analysis::Matching& matching) : draft_(draft), matching_(matching) {}

  void add() {
    read_matches();
    for (const auto& [track, slices] : draft_.streams)
      for (const std::uint32_t slice : slices) add_slice(slice);
    add_joins();
    for (const auto& [track, slices] : draft_.streams) order(slices);
  }

 private:
  void read_matches() {
    for (std::uint32_t m = 0; m < matching_.matches.size(); ++m) {
      const auto& members = matching_.matches[m].members;
      std::int64_t last = draft_.start(members.front().slice);
      for (const analysis::MatchMember& member : members) last = std::max(last, draft_.start(member.slice));
      last_arrival_ns_.push_back(last);
      for (const analysis::MatchMember& member : members) {
        Joined& joined = joined_[member.slice];
        joined.is_message = matching_.matches[m].is_message();
        if (last > draft_.end(member.slice)) continue;  // it did not wait: a send that was buffered
        joined.matches.push_back(m);
        joined.last_arrival_ns = joined.matches.size() == 1 ? last : std::max(joined.last_arrival_ns, last);
      }
    }
  }

  void add_slice(std::uint32_t slice) {
    const std::int64_t start = draft_.start(slice), end = draft_.end(slice);
    const auto joined = joined_.find(slice);
    if (joined == joined_.end()) {
      draft_.entry[slice] = draft_.exit[slice] = draft_.add_node(slice, NodeKind::work, start, end);
      return;
    }
    const std::int64_t transfer = joined->second.matches.empty() ? start : joined->second.last_arrival_ns;
    const std::uint32_t arrival = draft_.add_node(slice, NodeKind::arrival, start, start);
    const std::uint32_t work = draft_.add_node(slice, NodeKind::work, transfer, end);
    draft_.entry[slice] = arrival;
    draft_.exit[slice] = work;
    draft_.edges.push_back({.from = arrival, .to = work, .kind = kind_of(joined->second.is_message)});
  }

  static EdgeKind kind_of(bool is_message) { return is_message ? EdgeKind::message : EdgeKind::collective; }

  void add_joins() {
    for (std::uint32_t m = 0; m < matching_.matches.size(); ++m) {
      const auto& members = matching_.matches[m].members;
      const EdgeKind kind = kind_of(matching_.matches[m].is_message());
      const auto last =
          std::ranges::max_element(members, {}, [&](const auto& member) { return draft_.start(member.slice); });
      const std::uint32_t join = draft_.add_node(last->slice, NodeKind::join, last_arrival_ns_[m], last_arrival_ns_[m]);
      for (const analysis::MatchMember& member : members) {
        draft_.edges.push_back({.from = draft_.entry[member.slice], .to = join, .kind = kind});
        if (std::ranges::find(joined_.at(member.slice).matches, m) != joined_.at(member.slice).matches.end())
          draft_.edges.push_back({.from = join, .to = draft_.exit[member.slice], .kind = kind});
      }
    }
  }

  // Work follows the last to end before it on its stream; where it overlaps the one before, as programmatic dependent
  // launches and nested ranges do, it keeps its distance from that one's start.
  void order(const std::vector<std::uint32_t>& slices) {
    std::uint32_t last = Draft::kNone;
    for (std::size_t i = 0; i < slices.size(); ++i) {
      const std::uint32_t slice = slices[i];
      if (last != Draft::kNone && draft_.end(last) <= draft_.start(slice))
        draft_.add_edge(last, slice, EdgeKind::stream, false);
      else if (i > 0)
        draft_.edges.push_back({.from = draft_.entry[slices[i - 1]],
                                .to = draft_.entry[slice],
                                .kind = EdgeKind::stream,
                                .from_start = true,
                                .work_ns = draft_.start(slice) - draft_.start(slices[i - 1])});
      if (last == Draft::kNone || draft_.end(slice) >= draft_.end(last)) last = slice;
    }
  }

  Draft& draft_;
  const analysis::Matching& matching_;
  std::vector<std::int64_t> last_arrival_ns_;  ///< by match
  std::map<std::uint32_t, Joined> joined_;     ///< by slice
};

}  // namespace

void add_work(Draft& draft, const analysis::Communications& communications) {
  WorkAdder(draft, communications.matching).add();
}

// A wait is no work: what depends is the next work of its stream.
void add_events(Draft& draft) {
  for (const Flow& flow : draft.trace.flows) {
    if (!draft.trace.is_work(flow.from)) continue;
    if (flow.kind == FlowKind::resource || flow.kind == FlowKind::host)
      draft.add_edge(flow.from, flow.to, flow.kind == FlowKind::host ? EdgeKind::host_wait : EdgeKind::resource, false);
    if (flow.kind != FlowKind::dependency) continue;
    const std::uint32_t to =
        draft.trace.is_work(flow.to) ? flow.to : draft.next_on_stream(draft.trace.track(flow.to), draft.start(flow.to));
    draft.has_events.insert(draft.rank(flow.from));
    if (to != Draft::kNone) draft.add_edge(flow.from, to, EdgeKind::event, false);
  }
}

namespace {

// Other cells run between the blocks of a cell, so nothing leads from one block to the next.
void separate_blocks(Draft& draft) {
  std::map<std::int32_t, std::int32_t> block_of;
  for (const Mark& mark : draft.trace.marks) block_of.emplace(mark.step, mark.block);
  std::erase_if(draft.edges, [&](const Edge& edge) {
    const auto from = block_of.find(draft.nodes[edge.from].step), to = block_of.find(draft.nodes[edge.to].step);
    return from != block_of.end() && to != block_of.end() && from->second != to->second;
  });
}

}  // namespace

Graph build_graph(const Trace& trace, const analysis::Communications& communications) {
  Draft draft(trace, communications);
  add_work(draft, communications);
  add_events(draft);
  add_calls(draft);
  add_late_starts(draft);
  separate_blocks(draft);
  return {std::move(draft.nodes), std::move(draft.edges)};
}

}  // namespace underlap::graph
