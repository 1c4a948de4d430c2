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

void add_rank(std::string& text, const RankSummary& rank) {
  const Split& t = rank.total;
  fmt::format_to(
      std::back_inserter(text),
      "{:>4} {:>7} {:>10.3f} {:>10.3f} {:>10.3f} {:>10.3f} {:>9} {:>10} {:>10} {:>10.3f} {:>10.3f}\n", rank.rank,
      rank.windows.size(), ms(t.window_ns), ms(t.compute_ns()), ms(t.comm_ns()), ms(t.exposed_ns()),
      percent(t.hidden_ns, t.comm_ns()), part(t.exposed_wait_ns, t.exposed_unsplit_ns, t.exposed_ns()),
      part(t.exposed_transfer_ns(), t.exposed_unsplit_ns, t.exposed_ns()), ms(t.copy_only_ns), ms(t.idle_ns));
}

using Communications = std::map<std::string, CommunicationSplit>;

// Figures over `count` of ranks, "mean" where these are several.
void add_communication(std::string& text, const std::string& rank, const std::string& what,
                       const Communications& splits, std::int64_t count = 1) {
  for (const auto& [key, s] : splits) {
    const auto dependency = s.pipeline_dependency_ns == 0 ? "-" : part(s.pipeline_dependency_ns / count, 0, 0);
    fmt::format_to(std::back_inserter(text),
                   "{:>4} {:<34} {:>7} {:>10.3f} {:>10.3f} {:>9} {:>10} {:>10} {:>10} {:>11.3f}\n", rank,
                   what + " " + key, s.count / count, ms(s.comm_ns / count), ms(s.exposed_ns / count),
                   percent(s.hidden_ns, s.comm_ns),
                   part(s.exposed_wait_ns / count, s.exposed_unsplit_ns / count, s.exposed_ns / count), dependency,
                   part(s.exposed_transfer_ns / count, s.exposed_unsplit_ns / count, s.exposed_ns / count),
                   static_cast<double>(s.bytes_on_wire / count) / 1e6);
  }
}

// The rows that stay readable with many ranks.
void add_mean_modes(std::string& text, const Summary& summary) {
  if (summary.ranks.size() < 2) return;
  Communications modes;
  for (const RankSummary& rank : summary.ranks)
    for (const auto& [mode, split] : rank.total.modes) modes[mode] += split;
  add_communication(text, "mean", "mode", modes, static_cast<std::int64_t>(summary.ranks.size()));
}

void add_faults(std::string& text, const Trace& trace, const Summary& summary) {
  for (const std::string& error : summary.window_errors)
    fmt::format_to(std::back_inserter(text), "no windows: {}\n", error);
  for (const auto& [reason, count] : trace.import.skipped)
    fmt::format_to(std::back_inserter(text), "skipped {}: {}\n", count, reason);
}

}  // namespace

std::string analysis_table(const Trace& trace, const Summary& summary) {
  std::string text = fmt::format("{}, in milliseconds\n\n", summary.has_steps ? "Sum over the measured steps"
                                                                              : "From the first start to the last end");
  text += fmt::format("{:>4} {:>7} {:>10} {:>10} {:>10} {:>10} {:>9} {:>10} {:>10} {:>10} {:>10}\n", "rank", "windows",
                      "window", "compute", "comm", "exposed", "overlap", "exp. wait", "exp. xfer", "copy only", "idle");
  for (const RankSummary& rank : summary.ranks) add_rank(text, rank);
  text += fmt::format("\n{:>4} {:<34} {:>7} {:>10} {:>10} {:>9} {:>10} {:>10} {:>10} {:>11}\n", "rank", "communication",
                      "count", "comm", "exposed", "overlap", "exp. wait", "dependency", "exp. xfer", "wire MB");
  add_mean_modes(text, summary);
  for (const RankSummary& rank : summary.ranks) {
    add_communication(text, std::to_string(rank.rank), "mode", rank.total.modes);
    add_communication(text, std::to_string(rank.rank), "purpose", rank.total.purposes);
  }
  add_faults(text, trace, summary);
  return text;
}

}  // namespace underlap::analysis
