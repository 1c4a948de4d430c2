// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>

#include "profiler/analysis/analysis.hpp"

namespace underlap::analysis {
namespace {

double ms(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

std::string percent(std::int64_t hidden_ns, std::int64_t comm_ns) {
  if (comm_ns == 0) return "-";
  return fmt::format("{:.1f} %", 100.0 * static_cast<double>(hidden_ns) / static_cast<double>(comm_ns));
}

// "-" where nothing could be split: 0 would claim that nobody waited.
std::string part(std::int64_t part_ns, std::int64_t unsplit_ns, std::int64_t exposed_ns) {
  if (unsplit_ns > 0 && unsplit_ns == exposed_ns) return "-";
  return fmt::format("{:.3f}", ms(part_ns));
}

std::string figure(std::int64_t ns) { return fmt::format("{:.3f}", ms(ns)); }

Table rank_table(const Summary& summary) {
  Table table{{{"rank"},
               {"windows", Align::right, 2},
               {"window"},
               {"compute"},
               {"comm"},
               {"exposed"},
               {"overlap"},
               {"exp. wait"},
               {"exp. xfer"},
               {"copy only", Align::right, 1},
               {"idle"}},
              {}};
  for (const RankSummary& rank : summary.ranks) {
    const Split& t = rank.total;
    table.rows.push_back({{std::to_string(rank.rank)},
                          {std::to_string(rank.windows.size())},
                          {figure(t.window_ns)},
                          {figure(t.compute_ns())},
                          {figure(t.comm_ns())},
                          {figure(t.exposed_ns())},
                          {percent(t.hidden_ns, t.comm_ns())},
                          {part(t.exposed_wait_ns, t.exposed_unsplit_ns, t.exposed_ns())},
                          {part(t.exposed_transfer_ns(), t.exposed_unsplit_ns, t.exposed_ns())},
                          {figure(t.copy_only_ns)},
                          {figure(t.idle_ns)}});
  }
  return table;
}

using Communications = std::map<std::string, CommunicationSplit>;

// Figures over `count` of ranks, "mean" where these are several.
void add_communication(Table& table, const std::string& rank, const std::string& what, const Communications& splits,
                       std::int64_t count = 1) {
  for (const auto& [key, s] : splits) {
    const auto part_of = [&, &s = s](std::int64_t ns) {
      return part(ns / count, s.exposed_unsplit_ns / count, s.exposed_ns / count);
    };
    table.rows.push_back({{rank},
                          {what + " " + key},
                          {std::to_string(s.count / count)},
                          {figure(s.comm_ns / count)},
                          {figure(s.exposed_ns / count)},
                          {percent(s.hidden_ns, s.comm_ns)},
                          {part_of(s.exposed_wait_ns)},
                          {s.pipeline_dependency_ns == 0 ? "-" : figure(s.pipeline_dependency_ns / count)},
                          {part_of(s.exposed_transfer_ns)},
                          {fmt::format("{:.3f}", static_cast<double>(s.bytes_on_wire / count) / 1e6)}});
  }
}

// The rows that stay readable with many ranks.
void add_mean_modes(Table& table, const Summary& summary) {
  if (summary.ranks.size() < 2) return;
  Communications modes;
  for (const RankSummary& rank : summary.ranks)
    for (const auto& [mode, split] : rank.total.modes) modes[mode] += split;
  add_communication(table, "mean", "mode", modes, static_cast<std::int64_t>(summary.ranks.size()));
}

Table communication_table(const Summary& summary) {
  Table table{{{"rank"},
               {"communication", Align::left},
               {"count", Align::right, 2},
               {"comm"},
               {"exposed"},
               {"overlap"},
               {"exp. wait"},
               {"dependency", Align::right, 3},
               {"exp. xfer"},
               {"wire MB", Align::right, 1}},
              {}};
  add_mean_modes(table, summary);
  for (const RankSummary& rank : summary.ranks) {
    add_communication(table, std::to_string(rank.rank), "mode", rank.total.modes);
    add_communication(table, std::to_string(rank.rank), "purpose", rank.total.purposes);
  }
  return table;
}

void add_faults(std::string& text, const Trace& trace, const Summary& summary) {
  for (const std::string& error : summary.window_errors)
    fmt::format_to(std::back_inserter(text), "no windows: {}\n", error);
  for (const auto& [reason, count] : trace.import.skipped)
    fmt::format_to(std::back_inserter(text), "skipped {}: {}\n", count, reason);
}

}  // namespace

std::string analysis_table(const Trace& trace, const Summary& summary, const TableFormat& format) {
  std::string text = fmt::format("{}, in milliseconds\n\n", summary.has_steps ? "Sum over the measured steps"
                                                                              : "From the first start to the last end");
  text += render(rank_table(summary), format) + "\n" + render(communication_table(summary), format);
  add_faults(text, trace, summary);
  return text;
}

}  // namespace underlap::analysis
