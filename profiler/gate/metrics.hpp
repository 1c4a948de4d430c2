// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "profiler/compare/sides.hpp"
#include "profiler/gate/gate.hpp"

namespace underlap::gate {

using compare::Runs;

/// A metric's figures of a cell, of the runs that tell it. Of a mode that nothing was sent of it is 0.
std::vector<double> values_of(const Runs&, const std::string& cell, const std::string& metric);

/// Of values above 0 alone.
double geometric_mean(const std::vector<double>& values);
double mean(const std::vector<double>& values);

/// A metric that the baseline tells and that cannot be judged all the same.
struct MissingMetric {
  std::string metric = {};
  std::string why = {};  ///< "the candidate does not tell it"
};

/// A cell's metrics but for "numerics".
struct CellMetrics {
  std::vector<std::string> told = {};  ///< by every run of both sides, in the order of the report
  std::vector<MissingMetric> missing = {};
};

/// A mode whose exposed time is all that is exposed, in every run, is no further metric, unless its rule asks for more
/// than that of "exposed".
CellMetrics metrics_of(const Runs& baseline, const Runs& candidate, const std::string& cell, const Rules& rules);

/// All names of metrics that a cell of some run has.
std::vector<std::string> known_metrics(const Runs& baseline, const Runs& candidate);

/// What would have a run tell it: "measure with run.trace: true".
std::string how_to_tell(const std::string& metric);

/// A warning for each kind of missing metrics, with the cells: those of rows, and what the candidate alone tells, which
/// has nothing to be judged by.
std::vector<std::string> missing_warnings(const std::vector<GateRow>& rows, const Runs& baseline,
                                          const Runs& candidate);

}  // namespace underlap::gate
