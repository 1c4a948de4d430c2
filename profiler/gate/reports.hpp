// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

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

}  // namespace underlap::gate
