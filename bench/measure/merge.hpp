// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "bench/cluster/state_of_array.hpp"
#include "bench/measure/measure.hpp"
#include "platform/status_line.hpp"

namespace underlap::bench {

/// Merges the cells that the tasks of a job array measured into one run, in the folder that they were submitted from.
/// Writes results.json, report.md and traces/ like a run that measured all cells itself. A cell whose task ended early
/// has failed, with the reason. Each cell records where and when it was measured (own_allocation). Labels, bounds and
/// the attribution of compute are computed here, from all cells.
///
/// Losses are compared as long as all cells continue from the same weights: up to the first block before which some,
/// but not all, started with fresh ones.
/// Throws std::invalid_argument if a task is not over, naming it, if no cell has a block, if cells are of several
/// commits or their files differ, and if another process uses the folder; MachineError if it cannot be written.
MeasureOutcome merge_array(const std::filesystem::path& folder, const StateOfArray& state,
                           const StatusOptions& progress);

}  // namespace underlap::bench
