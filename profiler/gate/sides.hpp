// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/compare/sides.hpp"
#include "profiler/gate/gate.hpp"

namespace underlap::gate {

/// The report before any row is judged: its sides, in what they differ, whether the runs took turns, and what a person
/// should know before reading a number. Throws as run_gate() where the sides cannot be compared.
GateReport report_of_sides(const Runs& baseline, const Runs& candidate, const GateOptions& options);

}  // namespace underlap::gate
