// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "profiler/report/cell_summary.hpp"
#include "profiler/report/results.hpp"

namespace underlap::report {

/// A run as one page for a browser: a description of the run, whether its times are measured or modelled, pictures of
/// steps and communication, and all tables. The page needs no other files.
std::string report_html(const RunResults& results);

/// The pictures of a run's page. For each cell with overlap off and the cells compared with it: steps with their
/// intervals, and communication by mode, hidden and exposed. A row is a line of HTML with a small SVG, so names of any
/// length and any number of cells fit.
std::string pictures(const RunResults& results, const std::vector<CellSummary>& summaries);

}  // namespace underlap::report
