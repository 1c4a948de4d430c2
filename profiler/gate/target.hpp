// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "profiler/gate/gate.hpp"

namespace underlap::gate {

/// The metric of rows that are held against a target and not against a baseline: exposed time as a share of the step.
inline constexpr std::string_view kExposedShare = "exposed_share";

bool is_target(const GateRow&);

/// A row for each cell of the first run: whether communication is exposed for at most `max_exposed` of the step. Of one
/// run, and in virtual time, the share itself decides; of several runs its one-sided limits at `level`, over all cells.
std::vector<GateRow> target_rows(const std::vector<RunFigures>& runs, double max_exposed, double level);

}  // namespace underlap::gate
