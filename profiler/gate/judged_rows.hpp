// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "profiler/gate/paired_cells.hpp"

namespace underlap::gate {

/// Adds to `report` the baseline's cells, a row for each metric that the baseline reports and a rule judges, and
/// warnings about metrics that cannot be judged and about exposed time that grew in a faster step. Throws
/// std::invalid_argument where no row is left.
void judge_by_baseline(const std::vector<PairedCell>& cells, GateReport& report);

/// Adds a row for each cell of the candidate: whether communication is exposed for at most `report.max_exposed` of the
/// step. Of one run, and in virtual time (`is_exact`), the share itself decides; of several runs its one-sided limits,
/// over all cells.
void judge_by_target(const std::vector<PairedCell>& cells, bool is_exact, GateReport& report);

}  // namespace underlap::gate
