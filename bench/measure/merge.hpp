// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "bench/cluster/state_of_array.hpp"
#include "bench/measure/measure.hpp"
#include "platform/status_line.hpp"

namespace underlap::bench {

/// Makes one run of the cells that the tasks of a job array measured, in the folder that they were submitted from:
/// results.json, report.md and traces/ as a run leaves them that measured all cells itself. A cell whose task ended
/// before it was done has failed, with the reason; each says where and when it was measured (own_allocation). Labels,
/// bounds and the attribution of compute are made here, from all cells.
///
/// Losses are compared as far as cells went from the same weights: up to the first block before which one of them, and
/// not all, began with fresh ones.
/// Throws std::invalid_argument where a task is not over, naming it, no cell has a block, cells are of several commits
/// or their files held several things, and for a folder that another process is at; MachineError where it cannot be
/// written.
MeasureOutcome merge_array(const std::filesystem::path& folder, const StateOfArray& state,
                           const StatusOptions& progress);

}  // namespace underlap::bench
