// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "profiler/gate/reports.hpp"

namespace underlap::gate {

/// "12.3 ms", "0.42", "1.2 GB"; of a row's metric.
std::string value_text(const GateRow&, double value);

/// The baseline's value; "-" for rows that are compared with a target.
std::string baseline_text(const GateRow&);

/// The candidate's value; "-" if it is unknown.
std::string candidate_text(const GateRow&);

/// "+5.2 %", of "efficiency" "-0.12": as the figure itself changed.
std::string change_text(const GateRow&);

/// "[+3.1, +7.3]", in the unit of the change; empty where the limits are not known.
std::string limits_text(const GateRow&);

/// "5 %", of "efficiency" "0.05".
std::string tolerance_text(const GateRow&);

/// A row in a sentence, after its cell's name: "the step takes 5.2 % longer [+3.1, +7.3]: 114.4 ms -> 120.3 ms".
std::string row_sentence(const GateRow&);

/// What would have a run report a metric: "measure with run.trace: true".
std::string how_to_tell(const std::string& metric);

/// What an inconclusive row needs: "these runs can detect 6.1 %; about 9 runs per side needed".
std::string what_would_decide(const GateRow&);

/// "grad_reduce_scatter +4.9 ms exposed, fc1_dgrad +0.3 ms"; empty where nothing moved.
std::string moved_text(const std::vector<MovedOperation>&);

/// "regression", followed by "(forced)" if the sides are not comparable.
std::string verdict_text(const GateReport&, const GateRow&);

/// "[forced] " where the sides are not comparable, else empty.
std::string stamp_of(const GateReport&);

/// The verdict in a sentence: "regression: 1 of 40 metrics in 10 cells is worse than the tolerance allows".
std::string verdict_sentence(const GateReport&);

/// "5 runs, commit abc: baselines/main"; of a side that has at least one run.
std::string side_text(const SideInfo&);

/// How it was judged: "runs are interleaved and compared in pairs; limits are one-sided at 95 %".
std::string method_text(const GateReport&);

/// Cells of virtual time whose schedule changed though their step passes; empty where there is none.
std::string schedules_text(const GateReport&);

/// The rows that are shown, with their verdicts, regressions as Style::bad. `are_targets`: without the columns of a
/// baseline.
Table rows_table(const GateReport&, Rows shown, bool are_targets = false);

}  // namespace underlap::gate
