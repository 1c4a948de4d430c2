// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/table.hpp"
#include "profiler/analysis/breakdown.hpp"
#include "profiler/analysis/trace_summary.hpp"
#include "profiler/analysis/windows.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::analysis {

/// The summary as one line of JSON, schema underlap.analysis/1 (bench/METRICS.md defines its keys). `files` are those
/// that the trace was read from.
/// With `asked`, those tables too, as `by`.
std::string analysis_json(const Trace&, const Summary&, const std::vector<std::string>& files = {},
                          std::span<const Breakdown> asked = {});
/// Its schema, to which the details and others add their keys.
nlohmann::ordered_json analysis_json_schema();

/// The text of an analysis: warnings about the trace, the sentences of headline(), the source of its steps, and a table
/// of its ranks. Then follow the tables that were asked for, and last the reader's advice.
std::string analysis_table(const Trace&, const Summary&, const TableFormat&, std::span<const Breakdown> asked = {});

/// How headline() names what a user of `underlap analyze` does about communication without a mode.
inline constexpr std::string_view kAssignHint = "assign it: --mode-map";

/// The main result in a few sentences: the time of the typical step, then its costs, the largest
/// first: exposed communication (its mode, its largest purpose, and which rank the others wait for) and idle time from
/// 5 % of the step on (with its cause, where the trace shows one). Where there are no steps, of the whole trace.
std::vector<std::string> headline(const Trace&, const Summary&);

/// The step, its exposed communication, what most of that is, and the rank that it waits for, for a log: "step 812.3
/// ms, exposed communication 61.20 ms (7.5 %), mostly dp grad_reduce_scatter".
std::string one_line(const Summary&);

/// The parts of a trace that could not be used, one sentence each. Empty if all could, or if only host rows could
/// not.
std::vector<std::string> faults(const Trace&, const Summary&);

/// Notes on the trace, one sentence each: clocks that differ, and the advice of the format's reader.
std::vector<std::string> notes_on(const Trace&);

/// Which step a text timeline shows, and how wide.
struct TimelineRequest {
  std::int32_t block = 0;
  std::int32_t step = 0;
  std::int32_t width = 100;        ///< columns of a whole line, at least 40
  std::vector<Window> steps = {};  ///< of a trace without marks
};

/// Draws one step as text: one row per rank and stream, a time axis in milliseconds, a legend.
///
///     rank 0 compute | ######################## |
///     rank 0 dp      |!!! =====  =====  =====!! |
///
/// `#` compute, `=` communication under compute of its rank, `!` exposed communication, `.` copies. A cell with any
/// exposed communication is `!`, so that it never vanishes; one that is idle for more than half is blank; any other
/// takes the first of `=`, `#`, `.` that it holds. Exposed time per rank stands below in numbers.
/// Throws std::invalid_argument where no rank has that step in that block (naming those that there are), or for a width
/// below 40.
std::string text_timeline(const Trace&, const TimelineRequest&);

}  // namespace underlap::analysis
