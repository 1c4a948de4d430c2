// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/scaling/scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "profiler/report/report_tables.hpp"

namespace underlap::report {
namespace {

constexpr const char* kStepRatio = "step/smallest";
constexpr const char* kScalingEfficiency = "efficiency";
constexpr const char* kTokens = "tokens/s/rank";
constexpr const char* kModel = "step/modelled";
constexpr const char* kNodes = "nodes";
constexpr const char* kWait = "wait ms";
constexpr const char* kTransfer = "transfer ms";
constexpr const char* kSpread = "ranks p5..p95 ms";
constexpr const char* kSlowest = "slowest rank";

double exposed_ms(const ScalingPoint& point) { return point.summary.exposed_ms ? point.summary.exposed_ms->value : 0; }

// Four digits that count, so that a row of a small model does not read 0.
std::string ms_text(double ms) {
  const double size = std::abs(ms);
  return fmt::format("{:.{}f}", ms, size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3);
}

std::string ratio_text(const std::optional<double>& ratio) { return ratio ? fmt::format("{:.3f}", *ratio) : "-"; }

bool knows_waits(const ScalingPoint& point) {
  return point.exposed_unsplit_ms == 0 || point.exposed_unsplit_ms < exposed_ms(point);
}

// Of one kind of times the smallest and the largest size.
std::optional<std::pair<const ScaledPoint*, const ScaledPoint*>> ends_of(const ScaledCell& cell, bool is_modelled) {
  const ScaledPoint *first = nullptr, *last = nullptr;
  for (const ScaledPoint& scaled : cell.points) {
    if (scaled.point.is_modelled != is_modelled) continue;
    first = first == nullptr ? &scaled : first;
    last = &scaled;
  }
  if (first == last) return std::nullopt;
  return std::pair(first, last);
}

std::string step_sentence(const ScaledPoint& last, const ScalingPoint& first) {
  if (!last.step_to_smallest) return "";
  std::string text = fmt::format("the step takes {:.{}f} times as long, {} ms instead of {} ms", *last.step_to_smallest,
                                 std::abs(*last.step_to_smallest - 1) < 0.1 ? 3 : 2,
                                 ms_text(last.point.summary.step_ms->value), ms_text(first.summary.step_ms->value));
  const auto &of_first = first.summary.step_ms->interval, &of_last = last.point.summary.step_ms->interval;
  if (of_first && of_last && of_first->low <= of_last->high && of_last->low <= of_first->high)
    text += " (inconclusive: their intervals overlap)";
  if (last.efficiency) text += fmt::format("; each rank does {:.0f} % of the work per second", 100 * *last.efficiency);
  return text;
}

// The mode whose exposed time grew most; empty where none did.
std::string mode_that_grew(const ScalingPoint& first, const ScalingPoint& last) {
  std::string most;
  double grown = 0;
  for (const auto& [mode, figures] : last.summary.modes) {
    const auto before = first.summary.modes.find(mode);
    const double by = figures.exposed_ms - (before == first.summary.modes.end() ? 0 : before->second.exposed_ms);
    if (by > grown) grown = by, most = fmt::format("{} +{} ms", mode, ms_text(by));
  }
  return most;
}

std::string exposed_sentence(const ScalingPoint& first, const ScalingPoint& last) {
  if (!last.summary.exposed_ms || !first.summary.exposed_ms) return "";
  std::string text = fmt::format("; {} ms of communication is exposed instead of {} ms", ms_text(exposed_ms(last)),
                                 ms_text(exposed_ms(first)));
  if (const std::string mode = mode_that_grew(first, last); !mode.empty()) text += fmt::format(" ({})", mode);
  const double wait = last.exposed_wait_ms - first.exposed_wait_ms;
  const double transfer = last.exposed_transfer_ms - first.exposed_transfer_ms;
  const bool are_known = knows_waits(last) && knows_waits(first);
  if (are_known && exposed_ms(last) > exposed_ms(first) && (wait > 0 || transfer > 0))
    text += wait > transfer ? fmt::format(", mostly waiting for late ranks (+{} ms)", ms_text(wait))
                            : fmt::format(", mostly transfer (+{} ms)", ms_text(transfer));
  return text;
}

std::string rank_text(const SlowestRank& slowest) {
  return fmt::format("{}{} ({:.0f} %)", slowest.rank, slowest.node.empty() ? "" : " on " + slowest.node,
                     100 * slowest.share_of_steps);
}

// One rank of equal ones is the slowest, too, now and then.
bool is_slow_more_than_by_chance(const SlowestRank& slowest, std::int32_t ranks) {
  constexpr double kMostOfTheSteps = 0.5, kTimesChance = 1.5;
  return slowest.share_of_steps > std::max(kMostOfTheSteps, kTimesChance / ranks);
}

std::string slowest_sentence(const ScalingPoint& last) {
  if (!last.slowest_rank) return "";
  const SlowestRank& slowest = *last.slowest_rank;
  if (!is_slow_more_than_by_chance(slowest, last.num_ranks)) return "; no single rank is slowest in most steps";
  std::string text = fmt::format("; rank {}{} is slowest in {:.0f} % of the steps", slowest.rank,
                                 slowest.node.empty() ? "" : " on " + slowest.node, 100 * slowest.share_of_steps);
  return text + (last.slowest_node ? fmt::format("; the slowest node is {}", last.slowest_node->node) : std::string());
}

std::string model_sentence(const ScaledPoint& last) {
  return last.step_to_model ? fmt::format("; {:.2f} times the simulated step", *last.step_to_model) : std::string();
}

std::string scaling_words(Scaling scaling) {
  return scaling == Scaling::mixed ? "" : fmt::format(" ({} scaling)", to_string(scaling));
}

std::string spread_text(const std::optional<Spread>& spread) {
  return spread ? fmt::format("{}..{}", ms_text(spread->p5), ms_text(spread->p95)) : "-";
}

// A second and rank.
std::string tokens_text(const ScalingPoint& point) {
  const double step_s = point.summary.step_ms->value / 1e3;
  return point.tokens && step_s > 0 ? fmt::format("{:.0f}", *point.tokens / point.num_ranks / step_s) : "-";
}

std::vector<TableCell> row_of(const ScaledCell& cell, const ScaledPoint& scaled, const std::set<std::string>& modes) {
  const ScalingPoint& point = scaled.point;
  const CellSummary& summary = point.summary;
  const auto& interval = summary.step_ms->interval;
  const bool knows = summary.exposed_ms && knows_waits(point);
  std::vector<TableCell> row{cell.name,
                             std::to_string(point.num_ranks),
                             point.num_nodes ? std::to_string(*point.num_nodes) : "-",
                             times_of(point),
                             ms_text(summary.step_ms->value),
                             interval ? fmt::format("[{}, {}]", ms_text(interval->low), ms_text(interval->high)) : "-",
                             ratio_text(scaled.step_to_smallest),
                             ratio_text(scaled.efficiency),
                             tokens_text(point),
                             ratio_text(scaled.step_to_model),
                             summary.exposed_ms ? ms_text(summary.exposed_ms->value) : "-",
                             knows ? ms_text(point.exposed_wait_ms) : "-",
                             knows ? ms_text(point.exposed_transfer_ms) : "-"};
  for (const std::string& mode : modes) {
    const auto found = summary.modes.find(mode);
    row.emplace_back(found == summary.modes.end() ? "-" : ms_text(found->second.exposed_ms));
  }
  row.emplace_back(spread_text(point.exposed_spread));
  row.emplace_back(point.slowest_rank ? rank_text(*point.slowest_rank) : "-");
  return row;
}

// With one mode only, its column would repeat "exposed".
std::set<std::string> modes_of(const ScalingReport& report) {
  std::set<std::string> modes;
  for (const ScaledCell& cell : report.cells)
    for (const ScaledPoint& scaled : cell.points)
      for (const auto& [mode, figures] : scaled.point.summary.modes) modes.insert(mode);
  return modes.size() > 1 ? modes : std::set<std::string>{};
}

Table communication_table(const ScalingReport& report) {
  std::vector<CellSummary> summaries;
  for (const ScaledCell& cell : report.cells)
    for (const ScaledPoint& scaled : cell.points) {
      summaries.push_back(scaled.point.summary);
      summaries.back().name =
          fmt::format("{}, {} ranks, {}", cell.name, scaled.point.num_ranks, times_of(scaled.point));
    }
  return mode_table(summaries);
}

Table rank_table(const ScalingReport& report) {
  Table table{{{"cell", Align::left},
               {"ranks"},
               {"times", Align::left},
               {"figure", Align::left},
               {"least ms"},
               {"p5 ms"},
               {"median ms"},
               {"p95 ms"},
               {"most ms"},
               {kSlowest, Align::left},
               {"slowest node", Align::left}},
              {}};
  for (const ScaledCell& cell : report.cells)
    for (const ScaledPoint& scaled : cell.points)
      for (const auto& [name, spread] :
           {std::pair("exposed", &scaled.point.exposed_spread), std::pair("own time", &scaled.point.own_spread)}) {
        if (!*spread) continue;
        const ScalingPoint& point = scaled.point;
        const Spread& of = **spread;
        const bool is_own = spread == &point.own_spread;
        table.rows.push_back({cell.name, std::to_string(point.num_ranks), times_of(point), std::string(name),
                              ms_text(of.least), ms_text(of.p5), ms_text(of.median), ms_text(of.p95), ms_text(of.most),
                              is_own && point.slowest_rank ? rank_text(*point.slowest_rank) : "-",
                              is_own && point.slowest_node ? point.slowest_node->node : "-"});
      }
  drop_if_empty(table, kSlowest);
  drop_if_empty(table, "slowest node");
  return table;
}

Table difference_table(const ScalingReport& report) {
  Table table{{{"what", Align::left},
               {"run", Align::left},
               {"value", Align::left},
               {"smallest run", Align::left},
               {"its value", Align::left}},
              {}};
  for (const ScalingDifference& difference : report.differences)
    table.rows.push_back(
        {difference.what, difference.run, difference.other, difference.smallest_run, difference.smallest});
  return table;
}

std::string titled(const char* title, const Table& table, const TableFormat& format) {
  return table.rows.empty() ? "" : fmt::format("\n{}\n\n{}", title, render(table, format));
}

constexpr const char* kHowToReadScaling =
    "smallest: the smallest size of the same kind (measured or simulated). efficiency: sequences per second and rank "
    "relative to it. wait, transfer: parts of the mean rank's exposed time; medians need not add up. p5..p95: exposed "
    "time over ranks. slowest rank: the rank with the most time excluding waits, and its share of the steps.";

}  // namespace

std::vector<std::string> scaling_sentences(const ScaledCell& cell) {
  std::vector<std::string> sentences;
  for (const bool is_modelled : {false, true}) {
    const auto ends = ends_of(cell, is_modelled);
    if (!ends) continue;
    const ScalingPoint &first = ends->first->point, &last = ends->second->point;
    sentences.push_back(fmt::format("{}, {}, {} to {} ranks{}: {}{}{}{}", cell.name, times_of(first), first.num_ranks,
                                    last.num_ranks, scaling_words(cell.scaling), step_sentence(*ends->second, first),
                                    exposed_sentence(first, last), slowest_sentence(last),
                                    model_sentence(*ends->second)));
  }
  return sentences;
}

Table scaling_table(const ScalingReport& report) {
  const std::set<std::string> modes = modes_of(report);
  Table table{{{"cell", Align::left},
               {"ranks"},
               {kNodes, Align::right, 4},
               {"times", Align::left},
               {"step ms"},
               {"[95 %]", Align::right, 6},
               {kStepRatio, Align::right, 2},
               {kScalingEfficiency},
               {kTokens, Align::right, 7},
               {kModel, Align::right, 1},
               {"exposed ms"},
               {kWait, Align::right, 3},
               {kTransfer, Align::right, 3}},
              {}};
  for (const std::string& mode : modes) table.columns.push_back({mode + " ms", Align::right, 5});
  table.columns.push_back({kSpread, Align::right, 8});
  table.columns.push_back({kSlowest, Align::left, 4});
  for (const ScaledCell& cell : report.cells)
    for (const ScaledPoint& scaled : cell.points) table.rows.push_back(row_of(cell, scaled, modes));
  for (const char* title : {kNodes, "[95 %]", kScalingEfficiency, kTokens, kModel, kWait, kTransfer, kSpread, kSlowest})
    drop_if_empty(table, title);
  return table;
}

std::string scaling_text(const ScalingReport& report, const TableFormat& format, Details details) {
  std::string text;
  if (!report.forced.empty()) text += wrap("not comparable, forced: " + report.forced, format.width, "  ");
  for (const std::string& note : report.notes) text += wrap("note: " + note, format.width, "  ");
  if (!report.differences.empty() && details == Details::left_out)
    text += wrap(fmt::format("note: {} differences other than size; --details lists them", report.differences.size()),
                 format.width, "  ");
  for (const ScaledCell& cell : report.cells)
    for (const std::string& sentence : scaling_sentences(cell)) text += wrap(sentence, format.width, "  ");
  text += (text.empty() ? "" : "\n") + render(scaling_table(report), format);
  if (details == Details::left_out) return text;
  text += "\n" + wrap(kHowToReadScaling, format.width);
  text += titled("Communication by mode", communication_table(report), format);
  text += titled("Spread over ranks", rank_table(report), format);
  return text + titled("Differences other than size", difference_table(report), format);
}

}  // namespace underlap::report
