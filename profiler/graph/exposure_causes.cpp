// SPDX-License-Identifier: Apache-2.0
#include "profiler/graph/exposure_causes.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "profiler/analysis/communications.hpp"
#include "profiler/analysis/waits/covered_time.hpp"
#include "profiler/graph/graph.hpp"
#include "profiler/graph/replay.hpp"
#include "profiler/trace/communication_parts.hpp"

namespace underlap::graph {
namespace {

using analysis::CoveredTime, analysis::ExposureCause, analysis::ExposureReason;

constexpr int kMostCalls = 32;  // of a host thread that are followed back
// Work that waited for other work starts this soon after it, on data center GPUs.
constexpr std::int64_t kSoonNs = 5'000;
// Neighbors on a stream follow each other within this.
constexpr std::int64_t kNextNs = 50'000;

struct RankWork {
  std::vector<std::uint32_t> compute;  ///< by start
  double compute_ns = 0;               ///< sum
};

// A communication: one slice, or all copies of one collective.
struct Whole {
  std::uint32_t first = 0;
  std::int64_t end_ns = 0;
  std::int64_t exposed_ns = 0;
};

class CauseFinder {
 public:
  CauseFinder(const Trace& trace, const Graph& graph, const Gaps& gaps)
      : trace_(trace),
        graph_(graph),
        gaps_(gaps),
        covered_(analysis::covered_by_compute(trace)),
        entry_(trace.size(), Graph::kNone),
        before_(trace.size(), Graph::kNone),
        after_(trace.size(), Graph::kNone) {
    for (std::uint32_t n = 0; n < graph.nodes().size(); ++n) {
      std::uint32_t& entry = entry_[graph.nodes()[n].slice];
      if (entry == Graph::kNone) entry = n;
    }
    for (std::uint32_t i = 0; i < trace.size(); ++i) {
      if (!trace.is_work(i)) continue;
      streams_[trace.track(i)].push_back(i);
      if (trace.tag(i).kind != Kind::compute) continue;
      const std::int32_t rank = trace.track_of(i).rank;
      ranks_[rank].compute.push_back(i);
      ranks_[rank].compute_ns += static_cast<double>(trace.duration_ns()[i]);
      compute_ns_of_track_[trace.track(i)] += static_cast<double>(trace.duration_ns()[i]);
    }
    const auto start = [&](std::uint32_t i) { return trace.start_ns()[i]; };
    for (auto& [track, slices] : streams_) {
      std::ranges::stable_sort(slices, {}, start);
      for (std::size_t i = 1; i < slices.size(); ++i) {
        before_[slices[i]] = slices[i - 1];
        after_[slices[i - 1]] = slices[i];
      }
    }
    for (auto& [rank, work] : ranks_) std::ranges::stable_sort(work.compute, {}, start);
  }

  std::vector<ExposureCause> find() {
    std::vector<ExposureCause> causes;
    for (const Whole& whole : communications()) causes.push_back(cause_of(whole));
    return causes;
  }

 private:
  std::vector<Whole> communications() const {
    const CommunicationParts parts(trace_);
    std::map<std::uint32_t, Whole> list;
    for (std::uint32_t i = 0; i < trace_.size(); ++i) {
      if (trace_.tag(i).kind != Kind::communication) continue;
      const auto first = static_cast<std::uint32_t>(parts.first_of(i));
      Whole& whole = list.try_emplace(first, Whole{.first = first}).first->second;
      whole.end_ns = std::max(whole.end_ns, trace_.end_ns(i));
      whole.exposed_ns += trace_.duration_ns()[i] - covered(i).within(trace_.start_ns()[i], trace_.end_ns(i));
    }
    std::vector<Whole> all;
    for (const auto& [first, whole] : list) all.push_back(whole);
    return all;
  }

  const CoveredTime& covered(std::uint32_t slice) const {
    static const CoveredTime kNothing;
    const auto of_rank = covered_.find(trace_.track_of(slice).rank);
    return of_rank == covered_.end() ? kNothing : of_rank->second;
  }

  bool computes_at(std::uint32_t slice, std::int64_t time) const { return covered(slice).within(time, time + 1) > 0; }

  ExposureCause cause_of(const Whole& whole) {
    ExposureCause result{.slice = whole.first};
    const std::uint32_t next = next_compute(whole);
    const Held held = next == Graph::kNone ? Held{} : held_up(next, whole);
    if (held.is_held) result.holds_up = trace_.name(next);
    if (is_on_compute_stream(whole))
      result.reason = ExposureReason::same_stream;
    else if (!is_launched_late(whole, result))
      explain_by_dependencies(whole, held, result);
    return result;
  }

  // Whether the stream has most of the rank's compute, and some of it directly before or after the communication.
  bool is_on_compute_stream(const Whole& whole) {
    const std::uint32_t slice = whole.first;
    const auto computing = compute_ns_of_track_.find(trace_.track(slice));
    if (computing == compute_ns_of_track_.end()) return false;
    if (2 * computing->second < ranks_[trace_.track_of(slice).rank].compute_ns) return false;
    const std::uint32_t before = before_[slice], after = after_[slice];
    const auto computes = [&](std::uint32_t i) { return i != Graph::kNone && trace_.tag(i).kind == Kind::compute; };
    return (computes(before) && trace_.end_ns(before) + kNextNs >= trace_.start_ns()[slice]) ||
           (computes(after) && trace_.start_ns()[after] <= whole.end_ns + kNextNs);
  }

  std::uint32_t next_compute(const Whole& whole) {
    const std::vector<std::uint32_t>& compute = ranks_[trace_.track_of(whole.first).rank].compute;
    const auto next =
        std::ranges::lower_bound(compute, whole.end_ns, {}, [&](std::uint32_t i) { return trace_.start_ns()[i]; });
    return next == compute.end() ? Graph::kNone : *next;
  }

  const Edge* binding_of(std::uint32_t node) const {
    const std::uint32_t edge = node == Graph::kNone ? Graph::kNone : gaps_.binding[node];
    return edge == Graph::kNone ? nullptr : &graph_.edges()[edge];
  }

  struct Held {
    bool is_held = false;
    bool is_guessed = false;
  };

  Held held_up(std::uint32_t compute, const Whole& whole) const {
    const Held held = waited_for(compute, whole.first);
    if (held.is_held || !starts_at_end(compute, whole)) return held;
    return {.is_held = true, .is_guessed = true};
  }

  // Whether compute waited for a communication: by an event, or because the host waited for it before the launch.
  Held waited_for(std::uint32_t compute, std::uint32_t communication) const {
    Held held{.is_held = true};
    std::uint32_t node = entry_[compute];
    for (int i = 0; i < kMostCalls; ++i) {
      const Edge* const edge = binding_of(node);
      if (edge == nullptr) return {};
      held.is_guessed = held.is_guessed || edge->is_guessed;
      const Node& from = graph_.nodes()[edge->from];
      if (from.slice == communication && from.kind != NodeKind::call) return held;
      if (from.kind != NodeKind::call) return {};
      node = edge->from;
    }
    return {};
  }

  // Whether compute starts right after a communication ends, although it was launched earlier.
  bool starts_at_end(std::uint32_t compute, const Whole& whole) const {
    if (trace_.start_ns()[compute] > whole.end_ns + kSoonNs) return false;
    const std::uint32_t node = entry_[compute];
    for (std::uint32_t e = graph_.first_edge(node); e < graph_.last_edge(node); ++e) {
      const Edge& edge = graph_.edges()[e];
      const std::uint32_t call = graph_.nodes()[edge.from].slice;
      if (edge.kind == EdgeKind::launch && trace_.start_ns()[call] < whole.end_ns) return true;
    }
    return false;
  }

  // Whether a communication starts while nothing computes because its launch came late: the host had waited for work
  // before, or the delay since its dependencies is at least half of its exposed time.
  bool is_launched_late(const Whole& whole, ExposureCause& result) {
    const std::int64_t start = trace_.start_ns()[whole.first];
    const std::uint32_t entry = entry_[whole.first];
    const Edge* const edge = binding_of(entry);
    if (edge == nullptr || edge->kind != EdgeKind::launch || computes_at(whole.first, start)) return false;
    const NameId waited = call_that_waited(edge->from);
    const std::optional<std::int64_t> ready = ready_ns(entry);
    const std::int64_t delay =
        ready ? graph_.nodes()[entry].start_ns - *ready : start - end_of_compute_before(whole.first);
    if (waited == kNoName && 2 * delay < whole.exposed_ns) return false;
    result.reason = ExposureReason::late_launch;
    result.waits_for = waited;
    result.is_guessed = edge->is_guessed || (waited == kNoName && !ready);
    return true;
  }

  // When the work that a node depends on was over, apart from its launch; nullopt where the trace shows none.
  std::optional<std::int64_t> ready_ns(std::uint32_t node) const {
    std::optional<std::int64_t> latest;
    for (std::uint32_t e = graph_.first_edge(node); e < graph_.last_edge(node); ++e) {
      const Edge& edge = graph_.edges()[e];
      if (edge.kind != EdgeKind::launch) latest = std::max(latest.value_or(INT64_MIN), graph_.measured_ns(edge));
    }
    return latest;
  }

  // The end of the compute of the rank that started last before a communication; without any, the communication's
  // start.
  std::int64_t end_of_compute_before(std::uint32_t slice) {
    const std::vector<std::uint32_t>& compute = ranks_[trace_.track_of(slice).rank].compute;
    const std::int64_t start = trace_.start_ns()[slice];
    const auto next =
        std::ranges::lower_bound(compute, start, {}, [&](std::uint32_t i) { return trace_.start_ns()[i]; });
    return next == compute.begin() ? start : std::min(start, trace_.end_ns(*(next - 1)));
  }

  // By the compute that waits for it; else by the work that it waited for until it started.
  void explain_by_dependencies(const Whole& whole, const Held& held, ExposureCause& result) {
    const Edge* const edge = binding_of(entry_[whole.first]);
    const bool is_of_work = edge != nullptr && (edge->kind == EdgeKind::event || edge->kind == EdgeKind::resource ||
                                                edge->kind == EdgeKind::stream);
    const bool is_close = is_of_work && graph_.nodes()[edge->to].start_ns - graph_.measured_ns(*edge) <= kNextNs;
    const NameId work = is_close ? trace_.name(graph_.nodes()[edge->from].slice) : kNoName;
    if (held.is_held) {
      result.reason = ExposureReason::no_other_work;
      result.waits_for = work;
      result.is_guessed = held.is_guessed;
    } else if (is_close && !computes_at(whole.first, trace_.start_ns()[whole.first])) {
      result.reason = edge->kind == EdgeKind::stream ? ExposureReason::same_stream : ExposureReason::event;
      result.waits_for = work;
      result.is_guessed = edge->is_guessed;
    }
  }

  // The last host call before that of `node` that waited for work, if all calls between followed it at once.
  NameId call_that_waited(std::uint32_t node) const {
    for (int i = 0; i < kMostCalls; ++i) {
      const Edge* const edge = binding_of(node);
      if (edge == nullptr) return kNoName;
      if (edge->kind == EdgeKind::host_wait) return trace_.name(graph_.nodes()[node].slice);
      if (graph_.nodes()[edge->from].kind != NodeKind::call) return kNoName;
      node = edge->from;
    }
    return kNoName;
  }

  const Trace& trace_;
  const Graph& graph_;
  const Gaps& gaps_;
  std::map<std::int32_t, CoveredTime> covered_;                  ///< by rank: by its compute
  std::vector<std::uint32_t> entry_;                             ///< by slice: its first node
  std::map<std::uint32_t, std::vector<std::uint32_t>> streams_;  ///< by track: its work by start
  std::vector<std::uint32_t> before_, after_;                    ///< by slice: its neighbors on its stream
  std::map<std::int32_t, RankWork> ranks_;
  std::map<std::uint32_t, double> compute_ns_of_track_;
};

}  // namespace

// Without matches: of a communication the graph then has no arrival and transfer, but one node.
std::vector<ExposureCause> find_exposure_causes(const Trace& trace) {
  const Graph graph = build_graph(trace, {});
  const Gaps gaps = measure_gaps(graph);
  return CauseFinder(trace, graph, gaps).find();
}

}  // namespace underlap::graph
