// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "platform/table.hpp"
#include "profiler/analysis/breakdown.hpp"
#include "profiler/analysis/summary.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

/// The summary as one line of JSON, schema underlap.analysis/1 (bench/METRICS.md defines its keys). `files` are those
/// that the trace was read from.
/// With `asked`, those tables too, as `by`.
std::string analysis_json(const Trace&, const Summary&, const std::vector<std::string>& files = {},
                          std::span<const Breakdown> asked = {});
/// Its schema, to which the details and others add their keys.
nlohmann::ordered_json analysis_json_schema();

/// The text of an analysis: warnings about the trace, three sentences on its step (analysis/headline.hpp), the source
/// of its steps, and a table of its ranks. Then follow the tables that were asked for, and last the reader's advice.
std::string analysis_table(const Trace&, const Summary&, const TableFormat&, std::span<const Breakdown> asked = {});

}  // namespace underlap::analysis
