// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "profiler/compare/sides.hpp"
#include "profiler/gate/gate.hpp"

namespace underlap::gate {

/// One metric of one cell on both sides.
struct PairedMetric {
  std::string name = {};
  std::vector<double> baseline = {};  ///< one value for each run that reports it; empty for "numerics"
  std::vector<double> candidate = {};
  const Rule* rule = nullptr;  ///< judges it; null: no rule does
  std::string missing = {};    ///< "missing from the candidate": why it is not judged; empty: every run has it
};

/// One cell on both sides: all that a gate reads of it.
struct PairedCell {
  std::string name = {};
  std::vector<const CellFigures*> baseline = {};  ///< one for each run; empty where the side lacks the cell
  std::vector<const CellFigures*> candidate = {};
  /// In the order of the report, "step" first. A mode whose exposed time is all that is exposed in every run is not
  /// listed, unless its rule is stricter than that of "exposed".
  std::vector<PairedMetric> metrics = {};
  double baseline_step_ns = 0;  ///< geometric mean over the runs
  double candidate_step_ns = 0;
  std::string_view baseline_label = {};  ///< the worst numerics label of the runs; empty where a run has none
  std::string_view candidate_label = {};
  bool is_label_worse = false;
  /// What each operation takes of the step, and the bytes that it sends: means over the runs. Copies are listed where
  /// every run reports them.
  std::vector<MovedOperation> operations = {};
};

/// The baseline's cells, then those that the candidate alone has. The cells, and the rules of the metrics, are borrowed
/// from the arguments. All runs of a side must have the same cells (compare::check_sides()).
std::vector<PairedCell> pair_cells(const Runs& baseline, const Runs& candidate, const Rules& rules);

/// Adds to `report` the baseline's cells, a row for each metric that the baseline reports and a rule judges, and
/// warnings about metrics that cannot be judged and about exposed time that grew in a faster step. Throws
/// std::invalid_argument where no row is left.
void judge_by_baseline(const std::vector<PairedCell>& cells, GateReport& report);

/// Adds a row for each cell of the candidate: whether communication is exposed for at most `report.max_exposed` of the
/// step. Of one run, and in virtual time (`is_exact`), the share itself decides; of several runs its one-sided limits,
/// over all cells.
void judge_by_target(const std::vector<PairedCell>& cells, bool is_exact, GateReport& report);

}  // namespace underlap::gate
