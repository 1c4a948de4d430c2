// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "profiler/analysis/trace_summary.hpp"
#include "profiler/graph/details/details.hpp"
#include "profiler/tables/column_table.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::tables {

/// What the tables of a job are made of.
struct Job {
  const Trace& trace;
  const analysis::Summary& summary;  ///< with exposure reasons
  const graph::Details* details;     ///< null: not found yet
};

/// A table of a job.
struct JobTable {
  std::string_view name;
  bool needs_details;
  ColumnTable (*make)(const Job&);
};

/// The tables by name: kernels, collectives, steps, ranks, exposure_reasons, idle, critical_path. All times are whole
/// nanoseconds; those of `ranks` are medians.
const std::vector<JobTable>& job_tables();

/// The rows of `analyze --by NAME --csv`, with its columns and units. Throws std::invalid_argument for another name.
ColumnTable breakdown_table(const Job&, const std::string& name);

}  // namespace underlap::tables
