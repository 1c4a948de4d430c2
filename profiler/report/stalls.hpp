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

/// A measured step that stood still, as where a rank was stopped or swapped out: it says nothing of the cell, and one
/// of them moves a mean by as much as it likes.
struct Stall {
  std::int32_t block = 0;
  std::int32_t step = 0;
  std::int64_t took_ns = 0;          ///< the longer of the step and its longest window
  std::int64_t usual_ns = 0;         ///< the same, median over the cell's steps
  std::optional<std::int32_t> rank;  ///< that stood, by its place among those that ran; absent where none stood alone
  std::string part;                  ///< in which: "compute", "copy", "idle", "communication"; empty without recorder
  std::int64_t longer_ns = 0;        ///< by how much that part of the rank's window is longer than its median
};

/// The steps of a cell that stood still, in their order: those that took more than twice the median step, and more than
/// 8 median absolute deviations beyond it.
std::vector<Stall> stalls_of(const CellResult& cell);

/// "block 3, step 27 took 8153 ms and not 153: rank 1 stood in compute".
std::string stall_text(const Stall& stall);

/// Steps by block and number.
using Steps = std::set<std::pair<std::int32_t, std::int32_t>>;

/// Those that no mean over a cell's steps counts.
Steps stalled_steps(const CellResult& cell);

/// Those that no mean counts that compares two cells: as many steps are left of both.
Steps stalled_steps(const CellResult& one, const CellResult& other);

}  // namespace underlap::report
