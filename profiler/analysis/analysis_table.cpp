// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "profiler/analysis/analysis.hpp"
#include "profiler/analysis/headline.hpp"

namespace underlap::analysis {
namespace {

constexpr std::size_t kMostRows = 40;  ///< of a table by stream, step or kernel

std::string faults_text(const Trace& trace, const Summary& summary, int width) {
  std::string text;
  for (const std::string& fault : faults(trace, summary)) text += wrap(fault, width, "  ");
  return text.empty() ? text : text + "\n";
}

std::string advice(const Trace& trace, int width) {
  const auto found = trace.metadata.find("advice");
  return found == trace.metadata.end() ? "" : "\n" + wrap(found->second, width);
}

// Work that began before the call which launched it.
std::string clock_note(const Trace& trace, int width) {
  const auto found = trace.metadata.find("work_before_its_launch");
  if (found == trace.metadata.end()) return "";
  return "\n" + wrap(fmt::format("{} kernels, copies or memsets start before the call that launched them: host and "
                                 "device clocks differ.",
                                 found->second),
                     width);
}

// As many characters of a name as leave room for the figures.
std::size_t longest_name(Breakdown by, const TableFormat& format) {
  constexpr int kFigures = 45;
  if (by != Breakdown::kernel) return 60;
  return static_cast<std::size_t>(std::clamp(format.width - kFigures, 24, 120));
}

std::string text_of(const Trace& trace, const Summary& summary, Breakdown by, const TableFormat& format) {
  FigureTable table = breakdown(trace, summary, by);
  std::string text = "\n" + title_of(summary, by) + "\n\n";
  if (table.rows.empty())
    return text + (by == Breakdown::mode || by == Breakdown::purpose ? "No communication.\n" : "Nothing.\n");
  const std::size_t rows = table.rows.size();
  if (rows > kMostRows) table.rows.resize(kMostRows);
  text += render(table, format, longest_name(by, format));
  if (table.rows.size() < rows) text += fmt::format("First {} of {} rows shown; --csv writes all.\n", kMostRows, rows);
  return text;
}

}  // namespace

std::string analysis_table(const Trace& trace, const Summary& summary, const TableFormat& format,
                           std::span<const Breakdown> asked) {
  std::string text = faults_text(trace, summary, format.width);
  const bool has_any =
      std::ranges::any_of(summary.shown(), [](const RankSummary& rank) { return !rank.windows.empty(); });
  if (!has_any)
    return text + "The trace has no measured step: no breakdown is possible.\n" + advice(trace, format.width);
  for (const std::string& sentence : headline(trace, summary)) text += wrap(sentence, format.width);
  text += "\n" + title_of(summary, Breakdown::rank) + "\n";
  if (!summary.has_steps) text += wrap("Steps: " + steps_text(summary.steps) + ".", format.width);
  if (const auto ranks = trace.metadata.find("ranks"); ranks != trace.metadata.end())
    text += wrap("Ranks: " + ranks->second + ".", format.width);
  const bool wants_all = std::ranges::find(asked, Breakdown::rank) != asked.end();
  const FigureTable ranks = wants_all ? breakdown(trace, summary, Breakdown::rank) : rank_table(summary);
  text += "\n" + render(ranks, format);
  if (ranks.rows.size() < summary.shown().size())
    text +=
        fmt::format("Showing the least and most exposed of {} ranks; --by rank shows all.\n", summary.shown().size());
  for (const Breakdown by : asked)
    if (by != Breakdown::rank) text += text_of(trace, summary, by, format);
  return text + clock_note(trace, format.width) + advice(trace, format.width);
}

}  // namespace underlap::analysis
