// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/summary.hpp"
#include "bench/table.hpp"

namespace underlap::bench {

/// One row a cell: step, exposure, efficiency, bound, numerics.
Table cell_table(const RunResults& results, const std::vector<CellSummary>& summaries);

/// One row a cell and purpose of communication.
Table purpose_table(const std::vector<CellSummary>& summaries);

/// One row a cell that has an off cell: how the parts of the window changed from off to it, in microseconds with all
/// their digits, so that each row adds up.
Table win_table(const RunResults& results);

/// "12.34 [12.10, 12.61]"; "12.34 [-]" where one block gave no interval; "-" where there is no estimate.
std::string estimate_text(const std::optional<Estimate>& estimate, int digits);

/// "1.50 MB" in powers of 1000, as links are rated.
std::string bytes_text(double bytes);

}  // namespace underlap::bench
