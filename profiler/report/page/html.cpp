// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/page/html.hpp"

#include <fmt/format.h>

#include "platform/text/escape.hpp"
#include "profiler/report/answer.hpp"
#include "profiler/report/report.hpp"

namespace underlap::report {
namespace {

// Two colors that also differ in lightness, and patterns over one of them: readers need not see colors.
constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1c1e21; --soft: #5c6370; --line: #d4d8de; --panel: #f4f6f8;
        --hidden: #7fb2dc; --exposed: #c04a00; --stripe: #ffffff; --step: #33475b; --good: #00639c; --bad: #a83c00; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14171a; --ink: #e6e8ea; --soft: #a3abb5; --line: #3a4149; --panel: #1e2328;
          --hidden: #2f6a96; --exposed: #ff9a52; --stripe: #14171a; --step: #b9c7d6; --good: #6fb9ec; --bad: #ffa66b; } }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.45 system-ui, sans-serif; }
main { max-width: 1100px; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.5rem; margin: 0 0 .5rem; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .4rem; }
h3 { font-size: 1rem; margin: 1.4rem 0 .3rem; }
p { margin: .4rem 0; } .found { font-size: 1.1rem; font-weight: 600; margin: .9rem 0 .4rem; }
ul { margin: .3rem 0; padding-left: 1.3rem; } .soft { color: var(--soft); }
.kind { border-left: .4rem solid var(--step); background: var(--panel); padding: .6rem .9rem; margin: .8rem 0; }
.modelled { border-left-style: dashed; border-left-color: var(--exposed); }
pre, code { font: 13px/1.4 ui-monospace, monospace; } pre { background: var(--panel); padding: .6rem .9rem; overflow-x: auto; }
pre.wrap { white-space: pre-wrap; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; }
.figures th, .figures td { padding: .22rem .6rem; border-bottom: 1px solid var(--line); text-align: right;
                           white-space: nowrap; font-variant-numeric: tabular-nums; font-weight: normal; }
.figures th { color: var(--soft); vertical-align: bottom; } .figures .left { text-align: left; }
.figures td.long { white-space: normal; min-width: 16rem; }
.good { color: var(--good); } .bad { color: var(--bad); font-weight: 600; } .dim { color: var(--soft); }
.picture { width: 100%; table-layout: fixed; margin-bottom: .6rem; }
.picture th { width: 24%; text-align: left; font-weight: normal; padding: .1rem .6rem .1rem 0; overflow-wrap: anywhere; }
.picture td.plot { padding: 0; } .picture td.says { width: 27%; padding: .1rem 0 .1rem .7rem; white-space: nowrap;
                    font-variant-numeric: tabular-nums; font-size: 13px; }
.picture .axis th, .picture .axis td { color: var(--soft); font-size: 13px; padding-top: .5rem; }
svg { display: block; width: 100%; overflow: visible; } svg text { fill: var(--soft); font-size: 12px; }
.grid { fill: var(--line); } .hidden { fill: var(--hidden); } .exposed { fill: var(--exposed); }
.stripes { fill: url(#stripes); } .dots { fill: url(#dots); } .dot { fill: var(--stripe); } .stripe { stroke: var(--stripe); stroke-width: 1.6; }
.step { fill: var(--step); } .range { fill: var(--step); opacity: .38; } .off { fill: var(--exposed); }
.entry { white-space: nowrap; margin-right: 1rem; } .key { display: inline-block; width: 1.6rem; vertical-align: -2px; margin-right: .4rem; }
)";

// What the pictures of one page share.
constexpr const char* kPatterns =
    "<svg width=\"0\" height=\"0\" style=\"position:absolute\" aria-hidden=\"true\"><defs>"
    "<pattern id=\"stripes\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
    "patternTransform=\"rotate(45)\"><line class=\"stripe\" x1=\"0\" y1=\"0\" x2=\"0\" y2=\"6\"/></pattern>"
    "<pattern id=\"dots\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\">"
    "<circle class=\"dot\" cx=\"2.5\" cy=\"2.5\" r=\"1\"/></pattern>"
    "</defs></svg>\n";

std::string paragraph(const std::string& text, const char* kind = "") {
  return fmt::format("<p class=\"{}\">{}</p>\n", kind, markup_text(text));
}

std::string kind_of_times(const RunInfo& info) {
  const BackendTraits& backend = traits_of(info.backend);
  const std::string link = fmt::format("Backend {}; link {}.", backend.name, markup_text(info.link));
  if (!backend.measures_time)
    return fmt::format(
        "<p class=\"kind modelled\"><strong>Simulated:</strong> nothing ran; all times are computed. {}</p>\n", link);
  return fmt::format("<p class=\"kind\"><strong>Measured</strong> on {}. {}</p>\n",
                     backend.runs_on_gpus ? "GPUs" : "the CPUs of one machine", link);
}

std::string facts(const RunInfo& info) {
  const std::vector<std::pair<const char*, std::string>> facts{
      {"command", info.command},
      {"Underlap", fmt::format("{}, commit {}", info.version, info.commit)},
      {"started", info.started_utc},
      {"machine", fmt::format("{}, {} CPUs, host {}", info.cpu_model, info.num_cpus, info.host_name_hash)},
      {"system", fmt::format("{}; {}", info.operating_system, info.compiler)},
      {"clock", info.clock},
      {"seed", std::to_string(info.seed)},
      {"configuration", info.config_hash}};
  Table table{{{"what", Align::left}, {"value", Align::left}}, {}};
  for (const auto& [what, value] : facts) table.rows.push_back({std::string(what), value});
  return html_table(table);
}

// What the run showed, in sentences.
std::string answers_html(const RunResults& results, const std::vector<CellSummary>& summaries) {
  const std::vector<PairAnswer> answers = answers_of(results, summaries);
  if (answers.empty()) return "";
  std::string text = fmt::format("<p class=\"found\">{}</p>\n", markup_text(headline(answers)));
  if (answers.size() == 1) return text;
  text += "<ul>\n";
  for (const PairAnswer& answer : answers) text += fmt::format("<li>{}</li>\n", markup_text(answer_text(answer)));
  return text + "</ul>\n";
}

std::string tables(const RunResults& results, const std::vector<CellSummary>& summaries) {
  std::string text;
  for (const ReportSection& section : report_sections(results, summaries))
    text += fmt::format("<h2>{}</h2>\n{}{}", markup_text(section.title), paragraph(section.about, "soft"),
                        html_table(section.table));
  return text;
}

std::string notes(const RunResults& results) {
  std::string text;
  for (const CellResult& cell : results.cells)
    for (const std::string& note : cell.notes) text += fmt::format("{}: {}\n", cell.name, note);
  return text.empty() ? text : fmt::format("<h2>Notes</h2>\n<pre class=\"wrap\">{}</pre>\n", markup_text(text));
}

const char* class_of(Style style) {
  switch (style) {
    case Style::good: return " good";
    case Style::bad: return " bad";
    case Style::dim: return " dim";
    case Style::plain:
    case Style::strong:
    case Style::code: return "";
  }
  return "";
}

}  // namespace

std::string html_table(const Table& table) {
  constexpr std::size_t kLong = 60;  // characters from which a text may be broken
  std::string text = "<div class=\"scroll\"><table class=\"figures\">\n<thead><tr>";
  const auto side = [&](std::size_t column) { return table.columns[column].align == Align::left ? "left" : ""; };
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    text += fmt::format("<th scope=\"col\" class=\"{}\">{}</th>", side(c), markup_text(table.columns[c].title));
  text += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    text += "<tr>";
    for (std::size_t c = 0; c < row.size(); ++c)
      text += fmt::format("<td class=\"{}{}{}\">{}</td>", side(c), class_of(row[c].style),
                          row[c].text.size() > kLong ? " long" : "", markup_text(row[c].text));
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

std::string report_html(const RunResults& results) {
  const std::vector<CellSummary> summaries = summarize(results);
  const std::string title = fmt::format("Underlap run: {} backend, {} cell{}", to_string(results.info.backend),
                                        results.cells.size(), results.cells.size() == 1 ? "" : "s");
  std::string text = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{0}</title>\n"
      "<style>{1}</style>\n</head>\n<body>\n{2}<main>\n<h1>{0}</h1>\n{3}",
      title, kStyle, kPatterns, kind_of_times(results.info));
  text += fmt::format("<pre class=\"wrap\">{}</pre>\n", markup_text(results.info.command));
  const std::string note = interval_note(results);
  text += paragraph(fmt::format("{} of {} block{}{}{}. Commit {}; {}, {} CPUs; {}.", results.blocks_done,
                                results.blocks_planned, results.blocks_planned == 1 ? "" : "s",
                                note.empty() ? "" : "; ", note, results.info.commit, results.info.cpu_model,
                                results.info.num_cpus, results.info.started_utc));
  if (const std::string warnings = report_warnings(results); !warnings.empty())
    text += fmt::format("<pre class=\"wrap\">{}</pre>\n", markup_text(warnings));
  text += answers_html(results, summaries) + pictures(results, summaries) + tables(results, summaries) + notes(results);
  return text + "<h2>Machine</h2>\n" + facts(results.info) +
         paragraph("Underlap's bench/METRICS.md defines every term with formula and source.", "soft") +
         "</main>\n</body>\n</html>\n";
}

}  // namespace underlap::report
