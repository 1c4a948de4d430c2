// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/report/results.hpp"

namespace underlap::report {

/// Notes that are printed once above the tables, and referenced by number in rows: requests that are not in effect, and
/// why cells were not run.
struct CellNotes {
  std::vector<std::string> lines;               ///< "NOT AS REQUESTED [1]: on and 2 more: ..."
  std::map<std::string, std::string> of_cells;  ///< name -> "[1] [3]"

  /// The text of a cell's row; "-" for a cell without notes.
  std::string of(std::string_view cell) const;
};
CellNotes notes_of(const RunResults& results);

}  // namespace underlap::report
