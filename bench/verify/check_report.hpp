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

/// Result of checking one cell of a matrix.
struct CheckedCell {
  std::string name;
  std::int32_t steps = 0;
  check::CheckReport report;
};

/// Result of checking a matrix: the schedule of each cell, and the result of comparing losses if they were computed.
struct CheckedMatrix {
  std::vector<CheckedCell> cells;
  std::optional<NumericsCheck> numerics = {};     ///< of the same cells
  std::vector<report::RefusedCell> refused = {};  ///< cells without a schedule, and why
};

/// Whether no cell has a finding, and no label is a mismatch.
bool is_valid(const CheckedMatrix& matrix);

/// One line for each cell and two for each finding: what it is and how to fix it. Lists at most 20 findings of one kind
/// and the number of the rest. Then the label of each cell's losses and of each value of an axis.
std::string check_text(const CheckedMatrix& matrix);

/// All findings as JSON text, schema underlap.check/1.
std::string check_json(const CheckedMatrix& matrix);
std::string check_json_schema();

}  // namespace underlap::bench
