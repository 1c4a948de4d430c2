// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "impl/plan/plan.hpp"
#include "profiler/report/results.hpp"

namespace underlap::bench {

/// Adds to a matrix without errors what `run` refuses before any rank starts, and what `plan` therefore tells: to the
/// errors a data file or a hardware description that cannot be read, and cells that cannot share their blocks; to what
/// is not run what this build or this machine lacks: the backend, GPUs, memory. Each with its place, and once.
/// Ranks that a launcher started are not all here: what a machine lacks is then asked when it is known where they are.
/// Throws MachineError where the machine's CUDA cannot be used at all.
void find_refusals(plan::Matrix& matrix, bool has_launcher = false);

/// Takes those cells out of `matrix` that have errors or hold what is not run, so that the others can be run; with its
/// errors, which are theirs. What the matrix was read from then names the cells that are left: ranks that read it again
/// have the same. Takes out none where no cell would be left, as where an error is one of the file as a whole.
std::vector<report::RefusedCell> take_out_refused(plan::Matrix& matrix);

/// find_refusals(), and take_out_refused() as long as it finds any; with a launcher only what the plan refuses, which
/// each rank's process tells by itself.
std::vector<report::RefusedCell> keep_runnable(plan::Matrix& matrix, bool has_launcher);

/// Of what find_refusals() finds what `check` refuses too, which runs on no machine: data files that cannot be read, of
/// cells whose values are computed.
void find_unreadable_data(plan::Matrix& matrix);

}  // namespace underlap::bench
