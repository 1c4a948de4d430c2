// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "profiler/analysis/communications.hpp"
#include "profiler/analysis/windows.hpp"
#include "profiler/graph/graph.hpp"

namespace underlap::graph {

/// The gaps of a graph: the times between the edge that a node waited for last and the start of the node. A replay with
/// the measured ones gives the measured times, even of a wrong graph; one with the means tests the graph.
struct Gaps {
  std::vector<std::int64_t> measured_ns;  ///< by edge; of an edge that did not bind, the mean or less
  std::vector<std::int64_t> mean_ns;      ///< by edge: of all edges of its kind that bound
  std::vector<std::uint32_t> binding;     ///< by node: the edge that it waited for last; kNone without edges
};

/// Finds which edge each node waited for last, and how long after it the node started. Edges that the filter leaves out
/// bind nothing.
///
/// Gaps are of one kind where their edges are, on one rank, where their ends do the same (compute, communication, copy,
/// call), and where both or neither cross a step. The edge that binds is the one that is latest with the mean gap of
/// its kind, so it is found again once means are known.
/// Fails when gaps of one kind differ much: an edge that does not bind may then be taken.
Gaps measure_gaps(const Graph&, const EdgeFilter& = {});

/// What a replay changes. Neither: everything as it was.
struct Change {
  std::optional<Mode> without_mode{};          ///< communication of this mode takes no time and waits for no rank
  std::optional<std::int32_t> without_rank{};  ///< this rank reaches no communication later than the other members
};

/// When each node starts and ends in a replay, in nanoseconds on the clock of all ranks.
struct Times {
  std::vector<std::int64_t> start_ns;
  std::vector<std::int64_t> end_ns;
};

/// Replays a graph in one pass: each node starts when the last of its edges lets it, and takes as long as it did. A
/// node without edges starts when it was measured to. Waits are not durations, so they are recomputed.
///
/// gaps_ns  by edge, one for each: those of Gaps, or zeros
/// Without a rank's lateness, what that rank did before a communication that it reached last counts as over when the
/// other members have arrived. The schedule of a pipeline is not lateness.
Times replay(const Graph&, std::span<const std::int64_t> gaps_ns, const EdgeFilter& = {}, const Change& = {});

/// Durations in a replay. Nanoseconds.
struct Durations {
  std::int64_t span_ns = 0;           ///< from the first start to the last end
  std::vector<std::int64_t> step_ns;  ///< of each step, from its last start to its last end on any rank

  friend bool operator==(const Durations&, const Durations&) = default;
  /// The median step; the span where there are no steps.
  std::int64_t typical_ns() const;
};

/// Knows where the steps of a graph start and end. The graph outlives this.
class StepTimes {
 public:
  /// `steps`: windows of the ranks, on their own clocks.
  StepTimes(const Graph&, const analysis::Communications&, std::span<const analysis::Window> steps);

  Durations of(const Times&) const;
  /// As measured.
  Durations measured() const;

 private:
  struct Border {
    std::size_t step = 0;  ///< index into the steps
    bool is_end = false;
    std::size_t first = 0, last = 0;  ///< nodes of by_end_ whose latest end it follows
    std::int64_t after_ns = 0;        ///< by how much
    std::int64_t time_ns = 0;         ///< as measured, where it follows none
  };
  void add_border(std::int32_t rank, std::int64_t time_ns, std::size_t step, bool is_end);

  const Graph& graph_;
  std::map<std::int32_t, std::vector<std::uint32_t>> by_end_;  ///< work of each rank
  std::map<std::int32_t, std::vector<Border>> borders_;        ///< by rank
  std::size_t num_steps_ = 0;
};

/// A question of "what if" with its answer.
struct WhatIf {
  std::string name;                     ///< "without dp", "with rank 7 on time"
  std::string assumption;               ///< one sentence
  std::int64_t before_ns = 0;           ///< median step, or the span of a trace without steps
  std::int64_t after_ns = 0;            ///< likewise
  std::int64_t after_unguessed_ns = 0;  ///< likewise, of a graph without its guessed edges
  bool is_step = false;                 ///< the former

  std::int64_t saved_ns() const { return before_ns - after_ns; }
  std::int64_t saved_unguessed_ns() const { return before_ns - after_unguessed_ns; }
};

/// How well a graph explains the times that were measured.
struct ReplayCheck {
  std::int64_t measured_ns = 0;                       ///< median step, or the span of a trace without steps
  std::int64_t mean_ns = 0;                           ///< likewise, replayed with the mean gap of each kind
  std::int64_t zero_ns = 0;                           ///< likewise, replayed without gaps
  std::array<std::int64_t, kNumEdgeKinds> edges{};    ///< by kind
  std::array<std::int64_t, kNumEdgeKinds> guessed{};  ///< of them
  std::int64_t dropped_edges = 0;                     ///< that contradict the measured times

  /// Relative; 0 of nothing.
  double error() const;
  /// The part of the time that no edge explains, 0 to 1 mostly; 0 of nothing.
  double unexplained() const;
  /// Whether the error is above 5 %, so that no what-if is shown.
  bool is_too_large() const;
};

/// Replays the graph with mean gaps and without gaps.
ReplayCheck check_replay(const Graph&, const Gaps&, const StepTimes&);

/// The step without the exposure of each mode, and without the lateness of `late_rank`; those that save most first.
/// Fails when the program would then run in another order, or compute faster without
/// contention: the replay changes neither.
std::vector<WhatIf> what_if(const Graph&, const Gaps&, const StepTimes&, std::optional<std::int32_t> late_rank);

}  // namespace underlap::graph
