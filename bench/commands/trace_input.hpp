// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "profiler/trace/trace.hpp"

namespace underlap::bench {

/// The trace of one cell, and the files that it was read from.
struct CellTrace {
  std::string cell;  ///< as the trace names it; empty where it does not
  std::vector<std::string> files;
  Trace trace;
};

/// Reads traces of one cell, which together hold each rank once. Throws std::invalid_argument where two hold one rank,
/// and for traces that hold nothing.
CellTrace read_cell(const std::vector<std::string>& files);

/// Reads the traces of a run's folder (its traces/, or itself where it has none), cell by cell, in the order of the
/// files' names; of them only the one named `wanted`, where that is given. Only one cell is in memory at a time.
/// Throws as read_cell(), and where there is no trace or no cell of that name.
void for_each_cell(const std::string& folder, const std::optional<std::string>& wanted,
                   const std::function<void(const CellTrace&)>& take);

}  // namespace underlap::bench
