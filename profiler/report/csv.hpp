// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "profiler/report/results.hpp"

namespace underlap::report {

/// The summary of a run as one table, quoted as in RFC 4180: a row a cell, a column a figure, its unit last in the
/// column's name
/// (_ms, _bytes, _percent; a _ratio has none). An interval is two columns, _low and _high. `axis.NAME` is the cell's
/// value on that axis of the matrix, `mode.NAME.` and `purpose.NAME.` begin the figures of one kind of communication.
/// A figure that could not be formed is empty.
std::string report_csv(const RunResults& results);

}  // namespace underlap::report
