// SPDX-License-Identifier: Apache-2.0
#include "profiler/compare/compare_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "platform/text/escape.hpp"
#include "profiler/compare/compare_tables.hpp"
#include "profiler/page/bars.hpp"

namespace underlap::compare {
namespace {

constexpr std::size_t kMostOperationsOfPage = 200;

// The parts that sum to the change of the mean step.
std::string change_picture(const TraceChange& change) {
  std::vector<StepPart> parts = parts_of(change);
  std::erase_if(parts, [](const StepPart& part) { return part.is_within; });
  double largest = 0;
  for (const StepPart& part : parts) largest = std::max(largest, std::abs(*part.delta_ns()) / 1e6);
  const page::Scale scale = page::Scale::around_zero(largest);
  std::string rows = page::axis_row("change, ms", scale);
  for (const StepPart& part : parts)
    rows += page::picture_row(
        part.name, page::change_bar(scale, *part.delta_ns() / 1e6),
        fmt::format("{} ms ({} -> {})", signed_ms(part.delta_ns()), ms(part.from_ns), ms(part.to_ns)));
  return page::picture(rows);
}

using Communication = analysis::CommunicationSplit;

double whole_of(const Communication& split) { return static_cast<double>(split.hidden_ns + split.exposed_ns); }

page::CommunicationParts parts_of_side(const TraceChange& change, const Communication& split) {
  const auto mean_ms = [&](std::int64_t ns) { return per_window(change, ns) / 1e6; };
  return {.hidden = mean_ms(split.hidden_ns),
          .waiting = mean_ms(split.exposed_wait_ns),
          .transferring = mean_ms(split.exposed_transfer_ns),
          .unsplit = mean_ms(split.exposed_unsplit_ns)};
}

std::string mode_row(const std::string& label, const TraceChange& change, const Communication& split,
                     const page::Scale& scale) {
  return page::picture_row(label, page::communication_bar(scale, parts_of_side(change, split)),
                           fmt::format("{} hidden, {} exposed", ms(per_window(change, split.hidden_ns)),
                                       ms(per_window(change, split.exposed_ns))));
}

std::string modes_picture(const TraceChange& change) {
  const auto modes = paired(change.from.modes, change.to.modes);
  if (modes.empty()) return page::paragraph("No communication was found.");
  double longest = 0;
  for (const auto& [mode, sides] : modes) longest = std::max({longest, whole_of(sides.first), whole_of(sides.second)});
  const page::Scale scale(longest / static_cast<double>(change.windows) / 1e6);
  std::string rows = page::axis_row("ms per step", scale);
  for (const auto& [mode, sides] : modes)
    rows += mode_row(mode + " baseline", change, sides.first, scale) +
            mode_row(mode + " candidate", change, sides.second, scale);
  Communication all;
  for (const auto& [mode, sides] : modes) (all += sides.first) += sides.second;
  return "<p class=\"soft\">" + page::communication_keys(parts_of_side(change, all)) + "</p>\n" + page::picture(rows);
}

std::string part_of_page(const Comparison& comparison, int level) {
  if (!comparison.change) return page::paragraph("A side has no trace: only the steps can be compared.", "soft");
  const TraceChange& change = *comparison.change;
  const auto titled = [&](const std::string& title, Table table, const std::string& name) {
    return table.rows.empty() ? "" : page::html_section(level, {title, std::move(table)}, {.name = name});
  };
  std::string text = page::heading(level, "Where the difference went") + change_picture(change) +
                     page::html_table(parts_table(comparison), {.name = "parts"}) +
                     page::heading(level, "Communication by mode") + modes_picture(change);
  text += page::html_section(level, {"Operations", operations_table(change, change.net.size(), Names::whole)},
                             {.name = "operations", .most_rows = kMostOperationsOfPage, .all_rows = "--json has all"});
  text += titled("By stream", sums_table(change, "stream", &OperationChange::stream), "streams") +
          titled("By purpose", sums_table(change, "purpose", &OperationChange::purpose), "purposes");
  for (const std::string& sentence : change.left_out) text += page::paragraph("Note: " + sentence, "soft");
  return text + page::paragraph(windows_text(change) + ".", "soft");
}

}  // namespace

std::string compare_html(const CompareReport& report, const std::vector<page::Fact>& facts) {
  std::string links, parts, answers;
  const bool has_cells = report.comparisons.size() > 1;
  for (std::size_t i = 0; i < report.comparisons.size(); ++i) {
    const Comparison& comparison = report.comparisons[i];
    const std::string& name = comparison.name;
    answers += page::paragraph(
        name.empty() ? page::sentence(sentence_of(comparison)) : fmt::format("{}: {}", name, sentence_of(comparison)),
        "found");
    if (!has_cells) {
      parts = part_of_page(comparison, 2);
      continue;
    }
    links += fmt::format("<a href=\"#cell-{}\">{}</a>\n", i, markup_text(name));
    parts += fmt::format("<section class=\"cell\" id=\"cell-{}\">\n{}{}</section>\n", i, page::heading(2, name),
                         part_of_page(comparison, 3));
  }
  std::string text =
      answers +
      page::html_table({.columns = {{"side", Align::left}, {"run or trace", Align::left}},
                        .rows = {{std::string("baseline"), report.from}, {std::string("candidate"), report.to}}},
                       {.name = "sides"});
  if (!report.forced.empty()) text += page::paragraph("Not comparable, forced: " + report.forced, "kind warning");
  text += page::list(report.notes);
  if (!links.empty()) text += "<nav aria-label=\"Cells\">" + links + "</nav>\n";
  if (has_cells) text += page::html_section(2, {"Cells", cells_table(report)}, {.name = "cells"});
  text += parts;
  if (!report.differences.empty())
    text += page::html_section(2, {"What differs", differences_table(report.differences)}, {.name = "differences"});
  return page::html_page("Underlap comparison",
                         text + page::glossary(page::step_terms()) + page::facts_section("About this page", facts));
}

}  // namespace underlap::compare
