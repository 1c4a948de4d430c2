// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstddef>
#include <string>

#include "platform/text/escape.hpp"
#include "profiler/gate/reports.hpp"
#include "profiler/gate/words.hpp"

namespace underlap::gate {
namespace {

constexpr std::size_t kMostCharacters = 60'000;

// Leaves as many rows as fit in so many characters; returns how many went.
std::size_t cut(Table& table, std::size_t most) {
  std::size_t characters = 0, rows = 0;
  for (; rows < table.rows.size() && characters <= most; ++rows)
    for (const TableCell& cell : table.rows[rows]) characters += cell.text.size() + 3;
  const std::size_t left_out = table.rows.size() - rows;
  table.rows.resize(rows);
  return left_out;
}

std::string folded(const std::string& title, const std::string& body) {
  return fmt::format("\n<details><summary>{}</summary>\n\n{}\n</details>\n", title, body);
}

std::string moved_list(const GateReport& report) {
  std::string text;
  std::string last;
  for (const GateRow& row : report.rows) {
    if (row.verdict != Verdict::regression || row.cell == last) continue;
    last = row.cell;
    const std::string moved = moved_text(row.moved);
    text += fmt::format("- {}**{}**: {}\n", markdown_text(stamp_of(report)), markdown_text(row.cell),
                        markdown_text(row_sentence(row) + (moved.empty() ? "" : "; what moved: " + moved)));
  }
  return text;
}

std::string runs_text(const GateReport& report) {
  std::string text;
  if (!report.baseline.sources.empty())
    text += fmt::format("- baseline: {}\n", markdown_text(side_text(report.baseline)));
  text += fmt::format("- candidate: {}\n- {}\n", markdown_text(side_text(report.candidate)),
                      markdown_text(method_text(report)));
  if (!report.baseline.command.empty())
    text += fmt::format("- baseline's command: {}\n", markdown_code(report.baseline.command));
  for (const GateRow& row : report.rows)
    if (row.verdict == Verdict::inconclusive)
      text += fmt::format("- {}\n", markdown_text(fmt::format("{}{}, {}: {}", stamp_of(report), row.cell, row.metric,
                                                              what_would_decide(row))));
  return text;
}

}  // namespace

std::string gate_markdown(const GateReport& report, const std::string& picture) {
  Table notable = rows_table(report, Rows::notable);
  const Table rest = rows_table(report, Rows::unchanged);
  for (std::vector<TableCell>& row : notable.rows)
    if (row.back().style == Style::bad) row.back().style = Style::strong;
  std::string text =
      fmt::format("### Overlap gate: {}\n\n", markdown_text(stamp_of(report) + verdict_sentence(report)));
  if (!report.forced.empty()) text += fmt::format("> not comparable, forced: {}\n\n", markdown_text(report.forced));
  for (const std::string& warning : report.warnings) text += fmt::format("> {}\n", markdown_text(warning));
  if (!picture.empty()) text += fmt::format("\n![verdicts of all metrics]({})\n\n", picture);
  text += moved_list(report);
  if (const std::string schedules = schedules_text(report); !schedules.empty())
    text += "- " + markdown_text(stamp_of(report) + schedules) + "\n";
  const std::size_t left_out = cut(notable, kMostCharacters / 2);
  if (!notable.rows.empty()) text += "\n" + markdown(notable);
  if (left_out > 0) text += fmt::format("\n{} rows more\n", left_out);
  if (!report.differences.empty())
    text += folded("What differs", markdown(compare::differences_table(report.differences)));
  text += folded("Runs", runs_text(report));
  const std::string passed = folded(fmt::format("{} metrics that passed", rest.rows.size()), markdown(rest));
  if (!rest.rows.empty() && text.size() + passed.size() <= kMostCharacters) text += passed;
  if (text.size() > kMostCharacters) text = text.substr(0, text.rfind('\n', kMostCharacters)) + "\n(cut)\n";
  return text;
}

}  // namespace underlap::gate
