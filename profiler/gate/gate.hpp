// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/compare/sides.hpp"
#include "profiler/gate/rules.hpp"
#include "profiler/gate/verdict.hpp"

namespace underlap::gate {

using compare::CellFigures, compare::Difference, compare::OperationFigure, compare::RunFigures, compare::Runs;

struct GateOptions {
  Rules rules = default_rules({.share = 0.05});
  double level = 0.95;
  std::optional<double> run_sd = {};  ///< standard deviation between runs that a person states, as a share of the step
  std::optional<double> max_exposed = {};  ///< target of exposed time, as a share of the step
  bool is_forced = false;                  ///< judge sides that are not comparable, and report why they are not
};

/// What of an operation a figure counts.
enum class Counted : std::uint8_t {
  compute,  ///< nanoseconds that it runs
  exposed,  ///< of communication: nanoseconds under no compute
  copy,     ///< nanoseconds of copies under neither compute nor communication
  bytes     ///< on the wire
};

/// A change of one operation between the sides, in a step, mean over the runs.
struct MovedOperation {
  std::string name = {};
  Counted counted = Counted::compute;
  double baseline = 0;
  double candidate = 0;
  double delta() const { return candidate - baseline; }
};

/// One metric of one cell. Times in nanoseconds, "efficiency" of 1, "bytes" in bytes; means over the runs, of "step"
/// the geometric one, whose ratio the change is.
struct GateRow {
  std::string cell = {};
  std::string metric = {};
  Verdict verdict = Verdict::inconclusive;
  bool decides = true;  ///< inconclusive, it leaves the gate inconclusive
  double baseline = 0;
  double candidate = 0;
  /// Positive is worse: a share of the step, of "bytes" of themselves, of "efficiency" the difference.
  double change = 0;
  std::optional<double> lower = {};  ///< one-sided limits of the change; absent where the spread is not known
  std::optional<double> upper = {};
  double tolerance = 0;                      ///< in the unit of the change
  double p_family = 1;                       ///< chance of such a change without one, among all rows
  bool is_beyond_chance = false;             ///< worse, over the whole family
  std::optional<double> smallest_seen = {};  ///< the least change that these runs would find in four of five cases
  std::optional<std::int32_t> runs_to_decide = {};
  std::string words = {};   ///< of "numerics": the change of the label; of a missing metric: the side that lacks it
  bool is_missing = false;  ///< the baseline has it, and not every run does: no figure but perhaps `baseline`
  std::vector<MovedOperation> moved = {};  ///< what can have moved it, in the direction of its change, the most first
};

/// The metric of rows that are compared with a target instead of a baseline: exposed time as a share of the step.
inline constexpr std::string_view kExposedShare = "exposed_share";

inline bool is_target(const GateRow& row) { return row.metric == kExposedShare; }

/// One cell: what moved in it, in the direction of its step's change, the most first.
struct GateCell {
  std::string name = {};
  bool has_other_schedule = false;  ///< virtual time, and not every nanosecond is as it was
  std::vector<MovedOperation> moved = {};
};

/// One side, in words.
struct SideInfo {
  std::vector<std::string> sources = {};
  std::vector<std::string> commits = {};  ///< each once
  std::string command = {};               ///< of its first run
};

struct GateReport {
  SideInfo baseline = {};
  SideInfo candidate = {};
  std::string forced = {};  ///< why the sides are not comparable, where that was asked to be passed over
  std::vector<std::string> warnings = {};
  std::vector<Difference> differences = {};
  bool is_paired = false;  ///< the runs took turns on one machine
  bool is_exact = false;   ///< virtual time
  double level = 0.95;
  std::optional<double> run_sd = {};
  std::optional<double> max_exposed = {};  ///< the target, where there is one
  std::vector<GateCell> cells = {};
  std::vector<GateRow> rows = {};  ///< regressions first, then inconclusive, then the rest; by change
  Verdict verdict = Verdict::pass;
};

/// Judges a candidate by its baseline, each one or more runs, and by `options.max_exposed`. Without runs of a baseline
/// only the target decides. Throws std::invalid_argument, with the run and the reason, if a required side has no run,
/// if one run is on both sides, or if the candidate lacks a cell. Throws NotComparable if the sides differ in backend,
/// kind of link or work.
GateReport run_gate(const Runs& baseline, const Runs& candidate, const GateOptions& options);

}  // namespace underlap::gate
