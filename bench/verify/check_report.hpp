// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/verify/numerics_check.hpp"
#include "impl/device/check/check.hpp"
#include "profiler/report/results.hpp"

namespace underlap::bench {

/// A cell of a matrix, checked.
struct CheckedCell {
  std::string name;
  std::int32_t steps = 0;
  check::CheckReport report;
};

/// A matrix, checked: the schedule of each cell, and what its losses say where they were computed.
struct CheckedMatrix {
  std::vector<CheckedCell> cells;
  std::optional<NumericsCheck> numerics = {};     ///< of the same cells
  std::vector<report::RefusedCell> refused = {};  ///< that have no schedule, and why
};

/// Whether no cell has a finding, and none is a mismatch.
bool is_well(const CheckedMatrix& matrix);

/// A line for each cell and two for each finding, what it is and how to mend it; of one kind at most 20 findings and
/// the number of the rest. Then the label of each cell's losses and of each value of an axis.
std::string check_text(const CheckedMatrix& matrix);

/// All findings as JSON text, schema underlap.check/1.
std::string check_json(const CheckedMatrix& matrix);
std::string check_json_schema();

}  // namespace underlap::bench
