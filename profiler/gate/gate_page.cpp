// SPDX-License-Identifier: Apache-2.0
#include "profiler/gate/gate_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "platform/text/escape.hpp"
#include "profiler/gate/reports.hpp"
#include "profiler/page/bars.hpp"

namespace underlap::gate {
namespace {

constexpr std::size_t kMostBars = 60;
constexpr std::size_t kMostSentencesOfPage = 30;

constexpr page::Term kTerms[]{
    {"baseline, candidate", "The reference runs, and the runs that are checked against them."},
    {"metric",
     "step: time of the typical step. exposed: exposed communication in it, of all modes or of one. "
     "efficiency: the part of the cost of communication that overlap removed."},
    {"change", "Candidate against baseline. Positive is worse, except for efficiency."},
    {"limits", "Confidence limits of the change: each is one-sided. They need several runs per side."},
    {"tolerance", "The largest change that passes."},
    {"pass", "The change is within the tolerance, with confidence."},
    {"regression", "The change is significantly worse, and not shown to be within the tolerance."},
    {"inconclusive", "Neither is shown. More runs decide."}};

std::string verdict_box(const GateReport& report) {
  const std::string sentence = verdict_sentence(report);
  const std::string word(to_string(report.verdict));
  const std::string rest = sentence.starts_with(word) ? sentence.substr(word.size()) : ": " + sentence;
  return fmt::format("<p class=\"kind verdict {0}\"><strong>{0}</strong>{1}</p>\n", word,
                     markup_text(rest + (report.forced.empty() ? "" : " (forced)")));
}

// Sentences of the rows with a verdict.
std::vector<std::string> sentences_of(const GateReport& report, Verdict verdict) {
  std::vector<std::string> sentences;
  std::size_t count = 0;
  for (const GateRow& row : report.rows) {
    if (row.verdict != verdict || ++count > kMostSentencesOfPage) continue;
    const std::string more = verdict == Verdict::inconclusive ? what_would_decide(row) : moved_text(row.moved);
    const char* label = verdict == Verdict::inconclusive ? "" : "what moved: ";
    sentences.push_back(
        fmt::format("{}: {}{}", row.cell, row_sentence(row), more.empty() ? "" : fmt::format("; {}{}", label, more)));
  }
  if (count > kMostSentencesOfPage)
    sentences.push_back(fmt::format("{} more: see the table of all metrics", count - kMostSentencesOfPage));
  return sentences;
}

// Rows whose change is a share of the step, so that one axis fits all.
bool has_bar(const GateRow& row) {
  return !row.is_missing && (row.metric == "step" || row.metric.starts_with("exposed")) && !is_target(row);
}

std::string bar_of(const GateRow& row, const page::Scale& scale) {
  const double change = 100 * row.change;
  std::string drawing = page::change_bar(scale, change);
  if (row.lower && row.upper) {
    const double low = scale.percent(100 * *row.lower);
    drawing += page::rect("range", low, scale.percent(100 * *row.upper) - low, 7, 8, "limits " + limits_text(row));
  }
  return drawing + page::mark("off", scale.percent(100 * row.tolerance), 0, page::kRowHeight, 2);
}

std::string changes_picture(const GateReport& report) {
  std::vector<const GateRow*> rows;
  for (const GateRow& row : report.rows)
    if (has_bar(row)) rows.push_back(&row);
  if (rows.empty()) return "";
  const std::size_t all = rows.size();
  rows.resize(std::min(all, kMostBars));
  double largest = 0;
  for (const GateRow* row : rows)
    for (const double share : {row->change, row->lower.value_or(0), row->upper.value_or(0), row->tolerance})
      largest = std::max(largest, 100 * std::abs(share));
  const page::Scale scale = page::Scale::around_zero(largest);
  std::string text = page::axis_row("change, % of the step", scale);
  for (const GateRow* row : rows) {
    const std::string limits = limits_text(*row);
    text += page::picture_row(
        fmt::format("{}, {}", row->cell, row->metric), bar_of(*row, scale),
        fmt::format("{}{}{}, {}", change_text(*row), limits.empty() ? "" : " ", limits, to_string(row->verdict)));
  }
  const std::string keys = page::key("more", "", "worse") + page::key("less", "", "better") +
                           page::key("range", "", "limits") + page::key(page::mark("off", 50, 0, 14, 2), "tolerance");
  std::string picture = page::heading(2, "Changes") + "<p class=\"soft\">" + keys + "</p>\n" + page::picture(text);
  if (rows.size() < all) picture += page::paragraph(fmt::format("First {} of {} metrics.", rows.size(), all), "soft");
  return picture;
}

std::vector<page::Fact> side_facts(const GateReport& report) {
  std::vector<page::Fact> facts;
  if (!report.baseline.sources.empty()) facts.push_back({"baseline", side_text(report.baseline)});
  facts.push_back({"candidate", side_text(report.candidate)});
  if (!report.baseline.command.empty()) facts.push_back({"baseline's command", report.baseline.command});
  if (!report.candidate.command.empty()) facts.push_back({"candidate's command", report.candidate.command});
  return facts;
}

std::string titled_list(std::string_view title, const std::vector<std::string>& sentences) {
  return sentences.empty() ? "" : page::heading(2, title) + page::list(sentences);
}

}  // namespace

std::string gate_html(const GateReport& report, const std::vector<page::Fact>& facts) {
  std::string text = verdict_box(report);
  if (!report.forced.empty()) text += page::paragraph("Not comparable, forced: " + report.forced, "kind warning");
  text += page::list(report.warnings) + page::facts_section("Sides", side_facts(report));
  text += titled_list("Regressions", sentences_of(report, Verdict::regression));
  text += titled_list("What would decide", sentences_of(report, Verdict::inconclusive));
  if (const std::string schedules = schedules_text(report); !schedules.empty())
    text += page::paragraph(page::sentence(schedules));
  text += changes_picture(report);
  text += page::html_section(2, {"All metrics", rows_table(report, Rows::all, report.baseline.sources.empty())},
                             {.name = "metrics"});
  if (!report.differences.empty())
    text += page::html_section(2, {"What differs", compare::differences_table(report.differences)},
                               {.name = "differences"});
  text += page::heading(2, "How it was judged") + page::paragraph(page::sentence(method_text(report)));
  return page::html_page("Underlap gate: " + std::string(to_string(report.verdict)),
                         text + page::glossary(kTerms) + page::facts_section("About this page", facts));
}

}  // namespace underlap::gate
