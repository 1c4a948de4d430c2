// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profiler/graph/gaps.hpp"
#include "profiler/graph/graph.hpp"
#include "profiler/graph/replay.hpp"

namespace underlap::graph {

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
std::vector<WhatIf> what_if(const Graph&, const Gaps&, const StepTimes&, std::optional<std::int32_t> late_rank);

}  // namespace underlap::graph
