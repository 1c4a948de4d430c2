// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "platform/text/escape.hpp"
#include "profiler/gate/reports.hpp"

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

constexpr std::size_t kMostAnnotations = 10;

std::string outcome(const GateReport& report, const GateRow& row, bool inconclusive_passes) {
  const std::string moved = moved_text(row.moved);
  const std::string sentence = stamp_of(report) + row_sentence(row);
  if (row.verdict == Verdict::regression)
    return fmt::format("<failure type=\"regression\" message=\"{}\">{}</failure>", markup_text(sentence),
                       markup_text(moved.empty() ? sentence : stamp_of(report) + "what moved: " + moved));
  const std::string undecided = markup_text(sentence + "; " + what_would_decide(row));
  if (row.verdict == Verdict::inconclusive && row.decides && !inconclusive_passes)
    return fmt::format("<error type=\"inconclusive\" message=\"{}\"/>", undecided);
  if (row.verdict == Verdict::inconclusive) return fmt::format("<skipped message=\"{}\"/>", undecided);
  return "";
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

std::string gate_junit(const GateReport& report, bool inconclusive_passes) {
  std::string cases;
  std::size_t failures = 0, errors = 0, skipped = 0;
  for (const GateRow& row : report.rows) {
    const std::string inner = outcome(report, row, inconclusive_passes);
    failures += inner.starts_with("<failure");
    errors += inner.starts_with("<error");
    skipped += inner.starts_with("<skipped");
    cases += fmt::format("    <testcase classname=\"{}\" name=\"{}\">{}</testcase>\n", markup_text(row.cell),
                         markup_text(stamp_of(report) + row.metric), inner);
  }
  std::string notes = method_text(report);
  for (const std::string& warning : report.warnings) notes += "\n" + warning;
  if (!report.forced.empty()) notes += "\nnot comparable, forced: " + report.forced;
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"underlap gate\" tests=\"{}\" "
      "failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n{}    <system-out>{}</system-out>\n  </testsuite>\n"
      "</testsuites>\n",
      report.rows.size(), failures, errors, skipped, cases, markup_text(notes));
}

std::string gate_annotations(const GateReport& report) {
  std::string text;
  std::size_t errors = 0, warnings = 0;
  for (const GateRow& row : report.rows) {
    const bool is_error = row.verdict == Verdict::regression;
    if (!is_error && (row.verdict == Verdict::pass || !row.decides)) continue;
    if ((is_error ? errors : warnings)++ >= kMostAnnotations) continue;
    const std::string moved = is_error ? moved_text(row.moved) : what_would_decide(row);
    text +=
        fmt::format("::{} title={}::{}\n", is_error ? "error" : "warning",
                    annotation_text(fmt::format("overlap {}, {}", to_string(row.verdict), row.cell), true),
                    annotation_text(stamp_of(report) + row_sentence(row) + (moved.empty() ? "" : "; " + moved), false));
  }
  return text;
}

}  // namespace underlap::gate
