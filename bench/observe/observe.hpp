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

/// Holds every overlap knob of `plan` against `trace`, as report::observe() does. `summary` is the trace's.
std::vector<report::ObservedKnob> observe(const plan::Plan& plan, const Trace& trace, const analysis::Summary& summary);

/// The cell of `matrix` that a trace is of: the one named `wanted`; without that the one that the trace names, or the
/// only one. Throws std::invalid_argument, listing the cells, where none is or it cannot be known.
const plan::Cell& cell_of_trace(const plan::Matrix& matrix, const Trace& trace,
                                const std::optional<std::string>& wanted);

/// A line for people where `trace` says that it is of another cell than `cell`; empty: it does not.
std::string other_cell_text(const plan::Cell& cell, const Trace& trace);

}  // namespace underlap::bench
