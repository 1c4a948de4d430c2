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

/// Why traces of virtual time are no counterpart of a run of it: they hold one rank of all that do the same, and do not
/// say of how many. Empty where that is not so.
std::string trace_against_run(const Runs& baseline, const Runs& candidate);

SideInfo info_of(const Runs&);

/// What of a cell's operations moved, the most first: at most five, and none that is less than a twentieth of the
/// first. Of exposed time what is exposed of communication, of "bytes" what it sends, of "numerics" nothing; of other
/// metrics compute and copies as well. `direction` is below 0 for what became less, else of what became more.
std::vector<MovedOperation> moved_operations(const Runs& baseline, const Runs& candidate, const std::string& cell,
                                             const std::string& metric, double direction);

}  // namespace underlap::gate
