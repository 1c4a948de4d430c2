// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "impl/plan/schema/settings.hpp"

namespace underlap::plan {

/// One cell before its rules: a name, its axis values, and what is requested.
struct CellRequest {
  std::string name;
  std::vector<std::pair<std::string, std::string>> values;
  Settings settings;
};

/// The most cells that a matrix may have.
inline constexpr std::size_t kMostCells = 4096;

/// Multiplies `matrix:` out over `base`, the first axis slowest; a list of mappings is one product after another, for
/// cells that do not all have the same choices. `matrix` is null where the file has none: one cell named "cell". Where
/// the matrix is wrong there are no cells, and why is in `problems`.
std::vector<CellRequest> expand_matrix(const Node* matrix, const Settings& base, Problems& problems);

}  // namespace underlap::plan
