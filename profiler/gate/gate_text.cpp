// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <vector>

#include "profiler/gate/reports.hpp"
#include "profiler/gate/words.hpp"

namespace underlap::gate {
namespace {

constexpr std::size_t kMostSentences = 5;

Style style_of(Verdict verdict) {
  if (verdict == Verdict::pass) return Style::plain;
  return verdict == Verdict::regression ? Style::bad : Style::dim;
}

Table table_of(const GateReport& report, Rows shown) {
  Table table{{{"cell", Align::left},
               {"metric", Align::left},
               {"baseline", Align::right, 3},
               {"candidate", Align::right, 2},
               {"change", Align::right},
               {"limits", Align::right, 1},
               {"tolerance", Align::right, 4},
               {"verdict", Align::left}},
              {}};
  for (const GateRow& row : report.rows)
    if (shown == Rows::all || row.verdict != Verdict::pass || is_notable(row))
      table.rows.push_back({row.cell,
                            row.metric,
                            value_text(row, row.baseline),
                            value_text(row, row.candidate),
                            change_text(row),
                            limits_text(row),
                            tolerance_text(row),
                            {std::string(to_string(row.verdict)), style_of(row.verdict)}});
  return table;
}

Table differences_table(const GateReport& report) {
  Table table{{{"differs", Align::left}, {"baseline", Align::left}, {"candidate", Align::left}}, {}};
  for (const Difference& difference : report.differences)
    table.rows.push_back({difference.what, difference.baseline, difference.candidate});
  return table;
}

// What stands above the numbers.
std::string head(const GateReport& report, const TableFormat& format) {
  std::string text;
  if (!report.forced.empty()) text += wrap("not comparable, forced: " + report.forced, format.width, "  ");
  for (const std::string& warning : report.warnings) text += wrap("note: " + warning, format.width, "  ");
  text += wrap("baseline   " + side_text(report.baseline), format.width, "           ");
  text += wrap("candidate  " + side_text(report.candidate), format.width, "           ");
  if (!report.differences.empty()) text += "\n" + render(differences_table(report), format);
  return text + "\n";
}

// The regressions, each with what moved in its cell; of one cell the first row alone, which is its step where that is
// one.
std::string sentences(const GateReport& report, const TableFormat& format) {
  std::string text;
  std::set<std::string> said;
  for (const GateRow& row : report.rows) {
    if (row.verdict == Verdict::pass || (row.verdict == Verdict::inconclusive && !row.decides)) continue;
    if (said.size() == kMostSentences || !said.insert(row.cell).second) continue;
    text += wrap(fmt::format("  {}: {}", row.cell, row_sentence(row)), format.width, "    ");
    const std::string moved = moved_text(cell_of(report, row.cell));
    if (row.verdict == Verdict::inconclusive)
      text += wrap("    " + what_would_decide(row), format.width, "    ");
    else if (!moved.empty())
      text += wrap("    what moved: " + moved, format.width, "    ");
  }
  return text;
}

}  // namespace

std::string gate_text(const GateReport& report, const TableFormat& format, Rows rows) {
  std::string text = head(report, format);
  const std::string forced = report.forced.empty() ? "" : "[forced] ";
  text += wrap(forced + verdict_sentence(report), format.width, "  ") + sentences(report, format);
  if (const std::string schedules = schedules_text(report); !schedules.empty())
    text += wrap("  " + schedules, format.width, "    ");
  const Table table = table_of(report, rows);
  if (!table.rows.empty()) text += "\n" + render(table, format);
  const std::size_t left_out = report.rows.size() - table.rows.size();
  if (left_out > 0 && !table.rows.empty())
    text += wrap(fmt::format("{} more passed; --details lists them", left_out), format.width);
  return text + wrap(method_text(report), format.width);
}

}  // namespace underlap::gate
