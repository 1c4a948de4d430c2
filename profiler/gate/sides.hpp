// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "profiler/gate/gate.hpp"

namespace underlap::gate {

using Runs = std::vector<RunFigures>;

/// Throws std::invalid_argument where the sides cannot be held against each other at all: no run, the same run twice,
/// a cell that the candidate, or another run of its side, lacks.
void check_sides(const Runs& baseline, const Runs& candidate);

/// Why the sides did not do the same: another backend, kind of link, model or size; empty where they are comparable.
std::string not_comparable(const Runs& baseline, const Runs& candidate);

/// Versions, machine and knobs that differ; knobs with the cells where they do.
std::vector<Difference> differences_of(const Runs& baseline, const Runs& candidate);

/// What a person should know before reading a number: swapped sides, cells without baseline, several commits.
std::vector<std::string> warnings_of(const Runs& baseline, const Runs& candidate);

/// Whether the runs took turns: each run of a side has its counterpart in the same series.
bool are_paired(const Runs& baseline, const Runs& candidate);

SideInfo info_of(const Runs&);

/// The cell of that name; null where the run has none.
const CellFigures* find_cell(const RunFigures&, const std::string& name);

/// What moved in a cell, in the direction of the step's change, the most first: at most five, and none that is less
/// than a twentieth of the first.
std::vector<MovedOperation> moved_operations(const Runs& baseline, const Runs& candidate, const std::string& cell);

}  // namespace underlap::gate
