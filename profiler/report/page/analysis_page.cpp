// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/page/analysis_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "platform/text/escape.hpp"
#include "profiler/analysis/analysis.hpp"
#include "profiler/analysis/breakdown.hpp"
#include "profiler/analysis/details/reasons_table.hpp"
#include "profiler/analysis/steps/shown_step.hpp"
#include "profiler/analysis/waits/late_ranks.hpp"
#include "profiler/page/bars.hpp"
#include "profiler/page/timeline_svg.hpp"
#include "profiler/report/charts/chart_tables.hpp"
#include "profiler/report/page/mode_bars.hpp"

namespace underlap::report {
namespace {

using analysis::Breakdown, analysis::PartOfSplit, analysis::RankSummary, analysis::Split, analysis::Summary;

constexpr std::size_t kMostRows = 100;
constexpr std::size_t kMostReasons = 16;

/// A part of the step in a bar of its rank.
struct PartOfBar {
  const char* kind;
  const char* pattern;
  const char* what;
  std::int64_t (*part)(const Split&);
};

constexpr std::array<PartOfBar, 7> kPartsOfBar{{
    {"compute", "", "compute only", [](const Split& s) { return s.compute_only_ns; }},
    {"hidden", "", "hidden communication", [](const Split& s) { return s.hidden_ns; }},
    {"exposed", "stripes", "exposed, waiting", [](const Split& s) { return s.exposed_wait_ns; }},
    {"exposed", "", "exposed, transferring", [](const Split& s) { return s.exposed_transfer_ns(); }},
    {"exposed", "dots", "exposed, last arrival unknown", [](const Split& s) { return s.exposed_unsplit_ns; }},
    {"copy", "", "copy only", [](const Split& s) { return s.copy_only_ns; }},
    {"idle", "", "idle", [](const Split& s) { return s.idle_ns; }},
}};

// Milliseconds of each part, for a rank or for the mean of all.
using PartsOfBar = std::array<double, kPartsOfBar.size()>;

struct RankBar {
  std::string label;
  double step_ms = 0;
  double exposed_ms = 0;
  PartsOfBar parts{};
};

template <class Of>
RankBar bar_of(std::string label, double step_ns, const Of& of) {
  RankBar bar{
      std::move(label), step_ns / 1e6, analysis::typical(of, [](const Split& s) { return s.exposed_ns(); }) / 1e6, {}};
  for (std::size_t i = 0; i < kPartsOfBar.size(); ++i) bar.parts[i] = analysis::typical(of, kPartsOfBar[i].part) / 1e6;
  return bar;
}

// The ranks that the table of ranks has.
std::vector<RankBar> rank_bars(const Summary& summary) {
  std::vector<RankBar> bars;
  for (const analysis::FigureRow& row : analysis::rank_table(summary).rows) {
    const auto rank = std::ranges::find_if(
        summary.shown(), [&](const RankSummary& one) { return std::to_string(one.rank) == row.names.front(); });
    if (rank == summary.shown().end())
      bars.push_back(bar_of("mean of all ranks", analysis::typical_step_ns(summary), summary));
    else
      bars.push_back(bar_of("rank " + row.names.front(),
                            analysis::typical(*rank, [](const Split& s) { return s.window_ns; }), *rank));
  }
  return bars;
}

double length_of(const RankBar& bar) {
  double sum = 0;
  for (const double ms : bar.parts) sum += ms;
  return std::max(sum, bar.step_ms);
}

std::string rank_picture(const Summary& summary, int level) {
  const std::vector<RankBar> bars = rank_bars(summary);
  double longest = 0;
  for (const RankBar& bar : bars) longest = std::max(longest, length_of(bar));
  const page::Scale scale(longest);
  const int digits = page::digits_for(longest);
  std::string rows = page::axis_row("ms", scale), keys;
  for (const RankBar& bar : bars) {
    std::vector<page::BarPart> parts;
    for (std::size_t i = 0; i < kPartsOfBar.size(); ++i)
      parts.push_back({kPartsOfBar[i].kind, kPartsOfBar[i].pattern, bar.parts[i],
                       fmt::format("{}: {:.{}f} ms", kPartsOfBar[i].what, bar.parts[i], digits)});
    rows += page::picture_row(bar.label, page::stacked(scale, parts),
                              fmt::format("{:.{}f} ms, {:.{}f} exposed", bar.step_ms, digits, bar.exposed_ms, digits));
  }
  for (std::size_t i = 0; i < kPartsOfBar.size(); ++i)
    if (std::ranges::any_of(bars, [&](const RankBar& bar) { return bar.parts[i] > 0; }))
      keys += page::key(kPartsOfBar[i].kind, kPartsOfBar[i].pattern, kPartsOfBar[i].what);
  const std::size_t ranks = summary.shown().size();
  std::string about = summary.shows_steps()
                          ? "Each part is its median over the steps, so the parts need not sum to the step."
                          : "The trace has no steps: the bars are of the whole trace.";
  if (summary.shows_steps() && analysis::statistic_text(summary).empty()) about.clear();  // of one step
  if (bars.size() < ranks)
    about = fmt::format("The least and the most exposed of {} ranks, and the mean. ", ranks) + about;
  return page::heading(level, "Split of the step by rank") + "<p class=\"soft\">" + keys + "</p>\n" +
         page::picture(rows) + (about.empty() ? "" : page::paragraph(about, "soft"));
}

std::string mode_picture(const Trace& trace, const Summary& summary, int level) {
  const analysis::FigureTable modes = modes_figures(trace, summary);
  std::string text = page::heading(level, "Communication by mode");
  if (modes.rows.empty()) return text + page::paragraph("No communication was found.");
  const page::Scale scale(longest_mode_bar(modes));
  std::string rows = page::axis_row("ms", scale);
  for (const analysis::FigureRow& row : modes.rows) rows += mode_bar_row(row.names[ModesTable::mode], row, scale);
  return text + "<p class=\"soft\">" + mode_bar_keys(modes) + "</p>\n" + page::picture(rows) +
         page::paragraph("Mean over the ranks. Modes can communicate at the same time.", "soft");
}

// The ranks that others wait for, over all counted steps.
TitledTable late_ranks_table(const Summary& summary) {
  TitledTable titled{
      .title = "Late ranks",
      .table = {.columns = {{"rank", Align::left}, {"others wait, ms"}, {"share %"}, {"why", Align::left}},
                .rows = {}}};
  if (!summary.waits || summary.waits->total.count == 0) {
    titled.notes.emplace_back(summary.shown().size() < 2
                                  ? "Not known: only one rank has a trace."
                                  : "Not known: the trace does not show when the ranks arrive at a communication.");
    return titled;
  }
  for (const analysis::LateRank& late : analysis::late_ranks(*summary.waits))
    titled.table.rows.push_back({fmt::format("rank {}", late.rank),
                                 fmt::format("{:.3f}", static_cast<double>(late.wait_ns) / 1e6),
                                 fmt::format("{:.1f}", 100 * late.share), analysis::reason_of(late.cause)});
  titled.notes.emplace_back(titled.table.rows.empty()
                                ? "No rank is late."
                                : "Time that all other ranks waited because of the rank, in the whole trace. Waits for "
                                  "the schedule of a pipeline do not count.");
  return titled;
}

std::string timeline_of(const Trace& trace, const Summary& summary, int level) {
  const std::vector<analysis::Window> windows = summary.shown_windows();
  std::optional<analysis::Communications> found;
  if (!summary.communications) found = analysis::communications_of(trace);
  const analysis::Communications& communications = found ? *found : *summary.communications;
  const std::optional<analysis::CommonStep> step = analysis::median_step(communications, windows);
  const analysis::Window& shown = step ? step->first : windows.front();
  page::TimelineSvgRequest request{.block = shown.block, .step = shown.step, .windows = windows};
  request.communications = &communications;
  const std::string title = step ? fmt::format("Timeline of step {}, the median step", shown.step)
                                 : std::string("Timeline of the whole trace");
  return page::heading(level, title) + "<div class=\"timeline\"><div class=\"scroll\">\n" +
         page::timeline_svg(trace, request) + "</div></div>\n";
}

std::string tables_of(const Trace& trace, const Summary& summary, int level) {
  std::string text = page::heading(level, "Tables");
  for (const Breakdown by : {Breakdown::rank, Breakdown::mode, Breakdown::purpose, Breakdown::step, Breakdown::stream,
                             Breakdown::kernel, Breakdown::hidden}) {
    const Table table = analysis::table_of(analysis::breakdown(trace, summary, by), SIZE_MAX);
    if (table.rows.empty()) continue;
    const std::string name(to_string(by));
    text += page::heading(level + 1, fmt::format("By {}", name)) +
            page::paragraph(analysis::title_of(summary, by), "soft") +
            page::html_table(table, {.name = name,
                                     .most_rows = kMostRows,
                                     .all_rows = fmt::format("`underlap analyze --csv --by {}` writes all", name)});
  }
  return text;
}

}  // namespace

std::string analysis_part(const Trace& trace, const Summary& summary, const std::vector<TitledTable>& more, int level) {
  const bool has_any =
      std::ranges::any_of(summary.shown(), [](const RankSummary& rank) { return !rank.windows.empty(); });
  std::vector<std::string> warnings = analysis::faults(trace, summary);
  const bool is_faulty = !warnings.empty();
  for (std::string& note : analysis::notes_on(trace)) warnings.push_back(std::move(note));
  std::string text;
  if (is_faulty)
    text += page::paragraph("Part of the trace could not be used; see the warnings below.", "kind warning");
  if (!has_any) text += page::paragraph("The trace has no measured step: no breakdown is possible.", "found");
  for (const std::string& sentence : analysis::headline(trace, summary)) text += page::paragraph(sentence, "found");
  if (has_any) {
    if (!summary.has_steps) text += page::paragraph("Steps: " + analysis::steps_text(summary.steps) + ".", "soft");
    text += rank_picture(summary, level) + mode_picture(trace, summary, level) +
            page::html_section(level, late_ranks_table(summary), {.name = "late_ranks", .most_rows = kMostRows}) +
            page::html_section(level, analysis::reasons_table(summary.reasons, kMostReasons), {.name = "reasons"}) +
            timeline_of(trace, summary, level) + tables_of(trace, summary, level);
  }
  for (const TitledTable& titled : more) text += page::html_section(level + 1, titled, {.name = titled.title});
  text += page::heading(level, "Warnings") + page::list(warnings);
  return warnings.empty() ? text + page::paragraph("None.") : text;
}

std::string analysis_html(const std::vector<AnalysisPart>& parts, const std::vector<page::Fact>& facts) {
  std::string links, text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string files = page::paragraph(parts[i].files, "soft");
    if (parts[i].cell.empty()) {
      text += files + parts[i].html;
      continue;
    }
    links += fmt::format("<a href=\"#cell-{}\">{}</a>\n", i, markup_text(parts[i].cell));
    text += fmt::format("<section class=\"cell\" id=\"cell-{}\">\n{}{}</section>\n", i,
                        page::heading(2, "Cell " + parts[i].cell), files + parts[i].html);
  }
  if (!links.empty()) links = "<nav aria-label=\"Cells\">" + links + "</nav>\n";
  return page::html_page("Underlap analysis", links + text + page::glossary(page::step_terms()) +
                                                  page::facts_section("About this page", facts));
}

}  // namespace underlap::report
