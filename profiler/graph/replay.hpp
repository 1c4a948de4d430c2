// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "profiler/analysis/communications.hpp"
#include "profiler/analysis/windows.hpp"
#include "profiler/graph/graph.hpp"

namespace underlap::graph {

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
/// gaps_ns  by edge, from Gaps::of
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

}  // namespace underlap::graph
