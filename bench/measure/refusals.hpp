// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "impl/plan/plan.hpp"
#include "profiler/report/results.hpp"

namespace underlap::bench {

/// Adds to a matrix without errors what `run` refuses before any rank starts, so that `plan` reports it. Errors: a data
/// file or hardware description that cannot be read, and cells that cannot share their blocks. Not run: what this build
/// or this machine lacks, such as the backend, GPUs or memory. Each has its place, and is listed once. With a launcher,
/// not all ranks are on this machine: its resources are checked later, when their placement is known. Throws
/// MachineError if the machine's CUDA cannot be used at all.
void find_refusals(plan::Matrix& matrix, bool has_launcher = false);

/// Removes the cells from `matrix` that have errors or hold what is not run, together with their errors, so that the
/// others can run. The source of the matrix then names the cells that are left, so that ranks that read it again have
/// the same. Removes nothing if no cell would be left, as with an error of the whole file.
std::vector<report::RefusedCell> take_out_refused(plan::Matrix& matrix);

/// find_refusals(), and take_out_refused() until it removes no more. With a launcher, removes only what the plan
/// refuses, which each launched process determines by itself.
std::vector<report::RefusedCell> keep_runnable(plan::Matrix& matrix, bool has_launcher);

/// The part of find_refusals() that `check` refuses too, which runs on no machine: unreadable data files of cells whose
/// values are computed.
void find_unreadable_data(plan::Matrix& matrix);

}  // namespace underlap::bench
