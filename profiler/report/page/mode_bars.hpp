// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "profiler/analysis/figure_table.hpp"
#include "profiler/page/bars.hpp"

namespace underlap::report {

/// A row of a picture: hidden, then exposed communication of a row of modes_figures(). Exposed communication is split
/// into waiting, transfer, and what cannot be split.
std::string mode_bar_row(std::string_view label, const analysis::FigureRow&, const page::Scale&);

/// The largest bar of such rows in milliseconds.
double longest_mode_bar(const analysis::FigureTable& modes);

/// The entries of the legend for what the rows have.
std::string mode_bar_keys(const analysis::FigureTable& modes);

}  // namespace underlap::report
