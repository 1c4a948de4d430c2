// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "platform/table.hpp"
#include "profiler/gate/gate.hpp"

namespace underlap::gate {

/// How many of a report's rows a text shows.
enum class Rows : std::uint8_t {
  notable,    ///< those that did not pass, and those that changed for certain
  unchanged,  ///< the others
  all
};

/// For a terminal: what the sides do not have in common, the verdict as a sentence, the table, what moved.
std::string gate_text(const GateReport&, const TableFormat&, Rows rows = Rows::notable);

/// For a comment on a pull request: verdict, one table, and the rest folded. At most 60,000 characters, since hosts of
/// code take 65,536; rows that do not fit are counted. `picture`: a file or address to show below the verdict.
std::string gate_markdown(const GateReport&, const std::string& picture = "");

/// For machines: schema underlap.gate/1.
std::string gate_json(const GateReport&);
/// The JSON Schema of gate_json(), as JSON text.
std::string gate_json_schema();

/// A test suite of one test a row, as JUnit's XML: a regression is a failure, an inconclusive row an error where it
/// decides and `inconclusive_passes` is false, else a skipped test.
std::string gate_junit(const GateReport&, bool inconclusive_passes);

/// Lines that GitHub Actions turns into annotations: an error for each regression, a warning where it is inconclusive.
/// At most ten of each, which is all that it shows.
std::string gate_annotations(const GateReport&);

/// Whether a file begins as what gate_json() wrote.
bool is_gate_file(const std::filesystem::path&);

/// Reads what gate_json() wrote (schema underlap.gate/1). Throws std::invalid_argument naming the file, and the place
/// where something is missing or of another type; also for another version of the schema.
GateReport read_gate(const std::filesystem::path&);

/// "+5.2 %", of "efficiency" "-0.12": as the figure itself changed.
std::string change_text(const GateRow&);

/// "[+3.1, +7.3]", in the unit of the change; empty where the limits are not known.
std::string limits_text(const GateRow&);

/// A row in a sentence, after its cell's name: "the step takes 5.2 % longer [+3.1, +7.3]: 114.4 ms -> 120.3 ms".
std::string row_sentence(const GateRow&);

/// What would have a run report a metric: "measure with run.trace: true".
std::string how_to_tell(const std::string& metric);

/// What an inconclusive row needs: "these runs can detect 6.1 %; about 9 runs per side needed".
std::string what_would_decide(const GateRow&);

/// "grad_reduce_scatter +4.9 ms exposed, fc1_dgrad +0.3 ms"; empty where nothing moved.
std::string moved_text(const std::vector<MovedOperation>&);

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
