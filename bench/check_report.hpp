// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "impl/device/check/check.hpp"

namespace underlap::bench {

/// A cell of a matrix, checked.
struct CheckedCell {
  std::string name;
  std::int32_t steps = 0;
  check::CheckReport report;
};

/// Whether no cell has a finding.
bool is_well(const std::vector<CheckedCell>& cells);

/// A line for each cell and two for each finding, what it is and how to mend it; of one kind at most 20 findings and
/// the number of the rest.
std::string check_text(const std::vector<CheckedCell>& cells);

/// All findings as JSON text, schema underlap.check/1.
std::string check_json(const std::vector<CheckedCell>& cells);

}  // namespace underlap::bench
