// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "platform/table.hpp"
#include "profiler/report/report.hpp"
#include "profiler/report/scaling/scaling.hpp"

namespace underlap::report {

/// What became of a cell from its smallest to its largest size, measured and modelled apart: "off, measured, 2 to 64
/// ranks: the step takes 1.42 times as long, ...". One or two sentences.
std::vector<std::string> scaling_sentences(const ScaledCell& cell);

/// A row for each cell, size and kind of times.
Table scaling_table(const ScalingReport& report);

/// For a terminal: the sentences, then the table. With details also communication by mode, the spread between ranks,
/// and differences other than the size.
std::string scaling_text(const ScalingReport& report, const TableFormat& format, Details details);

/// For machines: schema underlap.scaling/1.
std::string scaling_json(const ScalingReport& report);
/// The JSON Schema of scaling_json(), as JSON text.
std::string scaling_json_schema();

/// The rows as CSV, each figure's unit in the name of its column.
std::string scaling_csv(const ScalingReport& report);

}  // namespace underlap::report
