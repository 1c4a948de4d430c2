// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "impl/plan/plan.hpp"
#include "profiler/analysis/analysis.hpp"
#include "profiler/report/observed.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::bench {

/// Compares every overlap knob of `plan` with `trace`, as report::observe() does. `summary` is the trace's.
std::vector<report::ObservedKnob> observe(const plan::Plan& plan, const Trace& trace, const analysis::Summary& summary);

/// The cell of `matrix` that a trace belongs to: the one named `wanted`; without that, the one that the trace names, or
/// the only one. Throws std::invalid_argument, listing the cells, if there is no such cell or it is ambiguous.
const plan::Cell& cell_of_trace(const plan::Matrix& matrix, const Trace& trace,
                                const std::optional<std::string>& wanted);

/// A line for people if `trace` names a cell other than `cell`; empty otherwise.
std::string other_cell_text(const plan::Cell& cell, const Trace& trace);

}  // namespace underlap::bench
