// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "profiler/report/results.hpp"

namespace underlap::report {

/// A measured step that took far longer than the others of its cell, as where a rank was stopped or swapped out. No
/// figure of the cell counts it.
struct Stall {
  std::int32_t block = 0;
  std::int32_t step = 0;
  std::int64_t took_ns = 0;          ///< the longer of the step and its longest window
  std::int64_t usual_ns = 0;         ///< the same, median over the cell's steps
  std::optional<std::int32_t> rank;  ///< that stood, by its place among those that ran; absent where none stood alone
  std::string part;                  ///< in which: "compute", "copy", "idle", "communication"; empty without recorder
  std::int64_t longer_ns = 0;        ///< by how much that part of the rank's window is longer than its median
};

/// The stalled steps of a cell in their order, as analysis::stalled_steps() has them.
std::vector<Stall> stalls_of(const CellResult& cell);

/// "block 3 step 27 took 8153 ms (typically 153 ms): rank 1 was stopped during compute".
std::string stall_text(const Stall& stall);

/// Steps by block and number.
using Steps = std::set<std::pair<std::int32_t, std::int32_t>>;

/// The stalled steps of a cell, which no figure counts.
Steps stalled_steps(const CellResult& cell);

/// The stalled steps of either cell. A mean that compares two cells leaves them out of both: as many steps are left.
Steps stalled_steps(const CellResult& one, const CellResult& other);

}  // namespace underlap::report
