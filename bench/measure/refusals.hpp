// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "impl/plan/plan.hpp"

namespace underlap::bench {

/// Adds to a matrix without errors what `run` refuses before any rank starts, and what `plan` therefore tells: to the
/// errors a data file or a hardware description that cannot be read, and cells that cannot share their blocks; to what
/// is not run what this build or this machine lacks: the backend, GPUs, memory. Each with its place, and once.
/// Ranks that a launcher started are not all here: what a machine lacks is then asked when it is known where they are.
/// Throws MachineError where the machine's CUDA cannot be used at all.
void find_refusals(plan::Matrix& matrix, bool has_launcher = false);

/// Of these what `check` refuses too, which runs on no machine: data files that cannot be read, of cells whose values
/// are computed.
void find_unreadable_data(plan::Matrix& matrix);

}  // namespace underlap::bench
