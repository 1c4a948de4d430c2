// SPDX-License-Identifier: Apache-2.0
#include "profiler/gate/reports.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "platform/memory_room.hpp"
#include "profiler/compare/compare_report.hpp"

namespace underlap::gate {
namespace {

Style style_of(Verdict verdict) {
  if (verdict == Verdict::pass) return Style::plain;
  return verdict == Verdict::regression ? Style::bad : Style::dim;
}

// Whether a reader should see the row: it did not pass, is worse beyond chance, or is a step whose limits show that it
// is faster.
bool is_notable(const GateRow& row) {
  const bool is_better = row.metric == "step" && row.upper && *row.upper < 0;
  return row.verdict != Verdict::pass || row.is_beyond_chance || is_better;
}

std::string time_text(double ns) {
  const double size = std::abs(ns);
  if (size >= 1e9) return fmt::format("{:.3f} s", ns / 1e9);
  if (size >= 1e6) return fmt::format("{:.{}f} ms", ns / 1e6, size >= 1e8 ? 1 : 2);
  return size >= 1e3 ? fmt::format("{:.1f} us", ns / 1e3) : fmt::format("{:.0f} ns", ns);
}

bool is_efficiency(const GateRow& row) { return row.metric == "efficiency"; }

// A change of a nanosecond is one, and not 0.0.
std::string figure(double value, int decimals, const char* sign) {
  const bool is_small = value != 0 && std::abs(value) < 0.5 * std::pow(10, -decimals);
  if (is_small) return fmt::format(fmt::runtime(fmt::format("{{:{}.1g}}", sign)), value);
  return fmt::format(fmt::runtime(fmt::format("{{:{}.{}f}}", sign, decimals)), value);
}

// As the figure itself changed: efficiency falls where it gets worse.
std::string signed_text(const GateRow& row, double worse) {
  return is_efficiency(row) ? figure(0 - worse, 3, "+") : figure(100 * worse, 1, "+");
}

std::string size_text(const GateRow& row, double change) {
  return is_efficiency(row) ? figure(std::abs(change), 3, "") : figure(100 * std::abs(change), 1, "") + " %";
}

std::string mode_of(const GateRow& row) {
  const std::size_t dot = row.metric.find('.');
  return dot == std::string::npos ? "communication" : row.metric.substr(dot + 1) + " communication";
}

std::string value_text(const GateRow& row, double value) {
  if (row.metric == "numerics") return "";
  if (is_efficiency(row)) return fmt::format("{:.3f}", value);
  if (is_target(row)) return figure(100 * value, 1, "") + " %";
  return row.metric == "bytes" ? in_bytes(std::llround(value)) : time_text(value);
}

std::string from_to(const GateRow& row) {
  const std::string from = value_text(row, row.baseline), to = value_text(row, row.candidate);
  const bool is_time = row.metric == "step" || row.metric.starts_with("exposed");
  const std::int64_t ns = std::llround(row.candidate - row.baseline);
  if (from == to && is_time && ns != 0) return fmt::format("{}, {:+d} ns", from, ns);
  return from == to ? from : fmt::format("{} -> {}", from, to);
}

// Figures that are one another's to the last digit that is shown: no change is to be named of them.
bool is_same(const GateRow& row) {
  if (row.change == 0) return true;
  const bool is_time = row.metric == "step" || row.metric.starts_with("exposed");
  return is_time && std::llround(row.candidate - row.baseline) == 0;
}

std::string same_text(const GateRow& row) {
  if (row.metric == "step") return "the step takes the same time";
  if (row.metric == "bytes") return "the same number of bytes on the wire";
  if (is_efficiency(row)) return "efficiency is the same";
  return "exposed " + mode_of(row) + " is the same";
}

std::string target_clause(const GateRow& row) {
  const std::string limits = limits_text(row);
  return fmt::format("communication is exposed for {} of the step{}{}", value_text(row, row.candidate),
                     limits.empty() ? "" : " ", limits);
}

std::string baseline_text(const GateRow& row) { return is_target(row) ? "-" : value_text(row, row.baseline); }

std::string candidate_text(const GateRow& row) { return row.is_missing ? "-" : value_text(row, row.candidate); }

std::string tolerance_text(const GateRow& row) {
  if (row.metric == "numerics") return "";
  return is_efficiency(row) ? fmt::format("{:.2f}", row.tolerance) : fmt::format("{:.3g} %", 100 * row.tolerance);
}

std::string verdict_text(const GateReport& report, const GateRow& row) {
  return std::string(to_string(row.verdict)) + (report.forced.empty() ? "" : " (forced)");
}

std::size_t count_of(const GateReport& report, Verdict verdict) {
  return static_cast<std::size_t>(std::ranges::count(report.rows, verdict, &GateRow::verdict));
}

std::string metrics_of_cells(const GateReport& report, std::size_t count) {
  return fmt::format("{} of {} metrics in {} cell{}", count, report.rows.size(), report.cells.size(),
                     report.cells.size() == 1 ? "" : "s");
}

}  // namespace

std::string change_text(const GateRow& row) {
  if (row.is_missing || is_target(row)) return "-";
  if (row.metric == "numerics") return row.words;
  return signed_text(row, row.change) + (is_efficiency(row) ? "" : " %");
}

std::string limits_text(const GateRow& row) {
  if (!row.lower || !row.upper || *row.lower == *row.upper) return "";
  if (is_target(row)) return fmt::format("[{}, {}]", figure(100 * *row.lower, 1, ""), figure(100 * *row.upper, 1, ""));
  const double low = is_efficiency(row) ? *row.upper : *row.lower;
  const double high = is_efficiency(row) ? *row.lower : *row.upper;
  return fmt::format("[{}, {}]", signed_text(row, low), signed_text(row, high));
}

std::string row_sentence(const GateRow& row) {
  if (row.is_missing) return fmt::format("{} is not judged: {}", row.metric, row.words);
  if (row.metric == "numerics") return fmt::format("values: {}", row.words);
  if (is_target(row)) return target_clause(row) + fmt::format("; the target is {}", tolerance_text(row));
  const std::string how_much = size_text(row, row.change);
  const std::string limits = limits_text(row);
  const std::string rest = fmt::format("{}{}: {}", limits.empty() ? "" : " ", limits, from_to(row));
  const bool is_worse = row.change > 0;
  if (is_same(row)) return same_text(row) + rest;
  if (row.metric == "step")
    return fmt::format("the step takes {} {}{}", how_much, is_worse ? "longer" : "less time", rest);
  if (row.metric == "bytes")
    return fmt::format("{} {} on the wire{}", how_much, is_worse ? "more bytes" : "fewer bytes", rest);
  if (is_efficiency(row)) return fmt::format("efficiency {} by {}{}", is_worse ? "falls" : "rises", how_much, rest);
  return fmt::format("exposed {} {} by {} of the step{}", mode_of(row), is_worse ? "grows" : "shrinks", how_much, rest);
}

std::string how_to_tell(const std::string& metric) {
  if (metric == "numerics") return "traces contain no values: name run folders";
  if (metric == "efficiency")
    return "it needs cells with overlap off and without transfers in one run, and communication clearly above the "
           "noise";
  return "measure with run.trace: true";
}

std::string what_would_decide(const GateRow& row) {
  if (row.is_missing) return how_to_tell(row.metric);
  if (row.metric == "numerics") return "values were not compared with a reference";
  if (is_target(row))
    return row.runs_to_decide ? fmt::format("about {} runs needed", *row.runs_to_decide)
                              : std::string("1000 runs would not be enough");
  if (!row.smallest_seen) return "one run per side does not show the run-to-run spread";
  const std::string shown = fmt::format("these runs can detect {}", size_text(row, *row.smallest_seen));
  if (!row.runs_to_decide) return shown + "; 1000 runs per side would not be enough";
  return fmt::format("{}; about {} runs per side needed", shown, *row.runs_to_decide);
}

std::string moved_text(const std::vector<MovedOperation>& operations) {
  std::vector<std::string> moved;
  for (const MovedOperation& operation : operations) {
    const bool is_bytes = operation.counted == Counted::bytes;
    const std::string size =
        is_bytes ? in_bytes(std::llround(std::abs(operation.delta()))) : time_text(std::abs(operation.delta()));
    moved.push_back(fmt::format("{} {}{}{}", compare::short_name(operation.name), operation.delta() > 0 ? "+" : "-",
                                size, operation.counted == Counted::exposed ? " exposed" : ""));
  }
  return fmt::format("{}", fmt::join(moved, ", "));
}

std::string stamp_of(const GateReport& report) { return report.forced.empty() ? "" : "[forced] "; }

// Of the step that changed most, among those with the gravest verdict. Rows are in the order of their verdicts.
std::string step_clause(const GateReport& report) {
  const GateRow* most = nullptr;
  std::size_t cells = 0;
  for (const GateRow& row : report.rows) {
    if (row.metric != "step" || row.is_missing) continue;
    ++cells;
    if (most == nullptr || (row.verdict == most->verdict && std::abs(row.change) > std::abs(most->change))) most = &row;
  }
  if (most == nullptr) return "";
  return row_sentence(*most) +
         (cells == 1 ? "; " : fmt::format(" in {}, the largest change of {} cells; ", most->cell, cells));
}

// Of a gate without a baseline. Rows are in the order of their verdicts, then of their shares.
std::string target_sentence(const GateReport& report) {
  const GateRow& most = report.rows.front();
  const std::size_t cells = report.rows.size();
  std::string text = fmt::format("{}: ", to_string(report.verdict));
  text += most.is_missing ? row_sentence(most) : target_clause(most);
  text += cells == 1 ? "" : fmt::format(" in {}, the largest share of {} cells", most.cell, cells);
  text += fmt::format("; the target is {}", tolerance_text(most));
  for (const Verdict verdict : {Verdict::regression, Verdict::inconclusive})
    if (const std::size_t count = count_of(report, verdict); count > 0 && cells > 1)
      text += fmt::format("; {} cell{} {}", count, count == 1 ? " is" : "s are",
                          verdict == Verdict::regression ? "above it" : "inconclusive");
  return text;
}

std::string verdict_sentence(const GateReport& report) {
  if (report.baseline.sources.empty()) return target_sentence(report);
  const std::string step = step_clause(report);
  const std::size_t regressions = count_of(report, Verdict::regression);
  const std::size_t inconclusive = count_of(report, Verdict::inconclusive);
  const std::string undecided = inconclusive == 0 ? "" : fmt::format("; {} inconclusive", inconclusive);
  // Of what is measured a regression may be within the tolerance: it is one until that is shown.
  if (report.verdict == Verdict::regression)
    return fmt::format("regression: {}{} {} {}{}", step, metrics_of_cells(report, regressions),
                       regressions == 1 ? "is" : "are",
                       report.is_exact ? "worse than the tolerance allows"
                                       : "significantly worse, and not shown to be within the tolerance",
                       undecided);
  if (report.verdict == Verdict::inconclusive)
    return fmt::format("inconclusive: {}{} inconclusive, no regressions", step, metrics_of_cells(report, inconclusive));
  const auto worse = std::ranges::count_if(
      report.rows, [](const GateRow& row) { return row.verdict == Verdict::pass && row.is_beyond_chance; });
  return fmt::format("pass: {}{} within the tolerance{}{}", step,
                     metrics_of_cells(report, count_of(report, Verdict::pass)),
                     worse == 0 ? "" : fmt::format(", {} of them significantly worse", worse), undecided);
}

std::string side_text(const SideInfo& side) {
  const std::size_t runs = side.sources.size();
  const std::string commits = side.commits.empty() ? "" : fmt::format(", commit {}", fmt::join(side.commits, ", "));
  return fmt::format("{} run{}{}: {}{}", runs, runs == 1 ? "" : "s", commits, side.sources.front(),
                     runs > 1 ? " to " + side.sources.back() : "");
}

std::string method_text(const GateReport& report) {
  const bool is_alone = report.baseline.sources.empty();
  if (report.is_exact) return is_alone ? "simulated time is exact" : "simulated time is exact: every change counts";
  if (is_alone && report.candidate.sources.size() == 1) return "one run: no confidence limits; they need several runs";
  std::string text = report.is_paired ? "runs are interleaved and compared in pairs; " : "";
  text += fmt::format("limits are one-sided at {:g} %, regressions corrected over all metrics and cells (Holm)",
                      100 * report.level);
  if (report.run_sd) text += fmt::format("; the run-to-run spread was set to {:.3g} %", 100 * *report.run_sd);
  return text;
}

std::string schedules_text(const GateReport& report) {
  std::vector<std::string> cells;
  for (const GateCell& cell : report.cells) {
    const auto row = std::ranges::find_if(
        report.rows, [&](const GateRow& r) { return r.cell == cell.name && r.verdict != Verdict::pass; });
    if (!cell.has_other_schedule || row != report.rows.end()) continue;
    const std::string moved = moved_text(cell.moved);
    cells.push_back(cell.name + (moved.empty() ? "" : fmt::format(" ({})", moved)));
  }
  return cells.empty() ? "" : fmt::format("schedule changed, within the tolerance: {}", fmt::join(cells, ", "));
}

Table rows_table(const GateReport& report, Rows shown, bool are_targets) {
  struct Column {
    TableColumn title;
    std::string (*text)(const GateRow&);
  };
  const Column cell{{"cell", Align::left}, [](const GateRow& row) { return row.cell; }};
  const std::vector<Column> columns =
      are_targets ? std::vector<Column>{cell,
                                        {{"exposed"}, candidate_text},
                                        {{"limits", Align::right, 1}, limits_text},
                                        {{"target"}, tolerance_text}}
                  : std::vector<Column>{cell,
                                        {{"metric", Align::left}, [](const GateRow& row) { return row.metric; }},
                                        {{"baseline", Align::right, 3}, baseline_text},
                                        {{"candidate", Align::right, 2}, candidate_text},
                                        {{"change"}, change_text},
                                        {{"limits", Align::right, 1}, limits_text},
                                        {{"tolerance", Align::right, 4}, tolerance_text}};
  Table table;
  for (const Column& column : columns) table.columns.push_back(column.title);
  table.columns.push_back({"verdict", Align::left});
  for (const GateRow& row : report.rows) {
    if (shown != Rows::all && is_notable(row) != (shown == Rows::notable)) continue;
    std::vector<TableCell>& cells = table.rows.emplace_back();
    for (const Column& column : columns) cells.emplace_back(column.text(row));
    cells.emplace_back(verdict_text(report, row), style_of(row.verdict));
  }
  return table;
}

}  // namespace underlap::gate
