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

// The lines above the numbers.
std::string head(const GateReport& report, const TableFormat& format) {
  std::string text;
  if (!report.forced.empty()) text += wrap("not comparable, forced: " + report.forced, format.width, "  ");
  for (const std::string& warning : report.warnings) text += wrap("note: " + warning, format.width, "  ");
  if (!report.baseline.sources.empty())
    text += wrap("baseline   " + side_text(report.baseline), format.width, "           ");
  text += wrap("candidate  " + side_text(report.candidate), format.width, "           ");
  if (!report.differences.empty()) text += "\n" + render(compare::differences_table(report.differences), format);
  return text + "\n";
}

bool is_said(const GateRow& row) {
  return row.verdict == Verdict::regression || (row.verdict == Verdict::inconclusive && row.decides);
}

// The number of other cells with such rows, after five were listed.
std::string not_said(const GateReport& report, const std::set<std::string>& said) {
  std::set<std::string> regressed, undecided;
  for (const GateRow& row : report.rows)
    if (is_said(row) && !said.contains(row.cell))
      (row.verdict == Verdict::regression ? regressed : undecided).insert(row.cell);
  for (const std::string& cell : regressed) undecided.erase(cell);
  const auto cells = [](std::size_t count) { return fmt::format("{} more cell{}", count, count == 1 ? "" : "s"); };
  if (regressed.empty() && undecided.empty()) return "";
  if (undecided.empty()) return fmt::format("  {} regressed: see the table", cells(regressed.size()));
  if (regressed.empty()) return fmt::format("  {} inconclusive: see the table", cells(undecided.size()));
  return fmt::format("  {} regressed and {} inconclusive: see the table", cells(regressed.size()), undecided.size());
}

// The regressions, each with what moved in its cell; of one cell the first row alone, which is its step where that is
// one.
std::string sentences(const GateReport& report, const TableFormat& format) {
  std::string text;
  std::set<std::string> said;
  for (const GateRow& row : report.rows) {
    if (!is_said(row) || said.size() == kMostSentences || !said.insert(row.cell).second) continue;
    text += wrap(fmt::format("  {}{}: {}", stamp_of(report), row.cell, row_sentence(row)), format.width, "    ");
    const std::string moved = moved_text(row.moved);
    if (row.verdict == Verdict::inconclusive)
      text += wrap("    " + what_would_decide(row), format.width, "    ");
    else if (!moved.empty())
      text += wrap("    what moved: " + moved, format.width, "    ");
  }
  if (const std::string more = not_said(report, said); !more.empty()) text += wrap(more, format.width, "    ");
  return text;
}

}  // namespace

std::string gate_text(const GateReport& report, const TableFormat& format, Rows rows) {
  std::string text = head(report, format);
  text += wrap(stamp_of(report) + verdict_sentence(report), format.width, "  ") + sentences(report, format);
  if (const std::string schedules = schedules_text(report); !schedules.empty())
    text += wrap("  " + stamp_of(report) + schedules, format.width, "    ");
  const Table table = rows_table(report, rows, report.baseline.sources.empty());
  if (!table.rows.empty()) text += "\n" + render(table, format);
  const std::size_t left_out = report.rows.size() - table.rows.size();
  if (left_out > 0 && !table.rows.empty())
    text += wrap(fmt::format("{} more passed; --details lists them", left_out), format.width);
  return text + wrap(method_text(report), format.width);
}

}  // namespace underlap::gate
