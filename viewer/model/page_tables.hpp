// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/analysis/figure_table.hpp"
#include "profiler/compare/trace_change.hpp"
#include "viewer/timeline/slice_facts.hpp"

namespace underlap::viewer {

/// What operations did to the step, a row each, largest first; nanoseconds of a mean step.
analysis::FigureTable operations_table(const compare::TraceChange&);

/// The parts of the step on both sides, and their differences.
analysis::FigureTable parts_table(const compare::TraceChange&);

/// What is known of a slice of one side.
struct FactsOfSide {
  std::string side;
  std::vector<Fact> facts;
};

/// The facts about a slice: one label and one value per row. For corresponding slices, one value per side. A label that
/// a side has twice gets two rows, matched in order.
analysis::FigureTable facts_table(const std::vector<FactsOfSide>& sides);

}  // namespace underlap::viewer
