// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "profiler/compare/sides.hpp"
#include "profiler/gate/gate.hpp"

namespace underlap::gate {

using compare::Runs;

/// What a person should know before reading a number: swapped sides, cells without baseline, several commits.
std::vector<std::string> warnings_of(const Runs& baseline, const Runs& candidate);

/// Whether the runs took turns: each run of a side has its counterpart in the same series.
bool are_paired(const Runs& baseline, const Runs& candidate);

SideInfo info_of(const Runs&);

/// What moved in a cell, in the direction of the step's change, the most first: at most five, and none that is less
/// than a twentieth of the first.
std::vector<MovedOperation> moved_operations(const Runs& baseline, const Runs& candidate, const std::string& cell);

}  // namespace underlap::gate
