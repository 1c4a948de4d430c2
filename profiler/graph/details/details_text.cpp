// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/memory_room.hpp"
#include "platform/text/escape.hpp"
#include "platform/text/list.hpp"
#include "profiler/graph/details/details.hpp"
#include "profiler/trace/kernel_name.hpp"

namespace underlap::graph {
namespace {

using analysis::BandwidthReport, analysis::BandwidthRow, analysis::Communications, analysis::IdleTime;
using analysis::kNumIdleCauses, analysis::Matching, analysis::SlowedCompute, analysis::SlowedKernel;
using analysis::Summary, analysis::WaitReport, analysis::WaitTotals;

constexpr std::size_t kMostRows = 16;

std::string ms(double ns) { return fmt::format("{:.3f}", ns / 1e6); }
std::string ms(std::int64_t ns) { return ms(static_cast<double>(ns)); }

std::string pct(double part, double whole) { return whole == 0 ? "-" : fmt::format("{:.1f}", 100 * part / whole); }
std::string pct(std::int64_t part, std::int64_t whole) {
  return pct(static_cast<double>(part), static_cast<double>(whole));
}

std::string in_words(std::string_view word) {
  std::string text(word);
  std::ranges::replace(text, '_', ' ');
  return text;
}

std::vector<TableColumn> columns_of(std::vector<std::string> titles) {
  std::vector<TableColumn> columns;
  for (std::string& title : titles)
    columns.push_back({.title = std::move(title), .align = columns.empty() ? Align::left : Align::right});
  return columns;
}

// The key of most time, and its share of `sum`.
template <class Key>
std::string most_of(const std::map<Key, std::int64_t>& times, std::int64_t sum) {
  if (times.empty()) return "-";
  const auto most = std::ranges::max_element(times, {}, [](const auto& entry) { return entry.second; });
  std::string name;
  if constexpr (requires { to_string(most->first); })
    name = in_words(to_string(most->first));
  else
    name = fmt::format("{}", most->first);
  return fmt::format("{} ({} %)", name, pct(most->second, sum));
}

std::vector<TableCell> wait_row(const std::string& name, const WaitTotals& totals) {
  return {name,
          ms(totals.wait_ns),
          ms(totals.exposed_wait_ns),
          ms(totals.transfer_ns),
          ms(totals.exposed_transfer_ns),
          most_of(totals.wait_ns_by_blamed_rank, totals.wait_ns - totals.unresolved_ns),
          most_of(totals.wait_ns_by_cause, totals.wait_ns - totals.unresolved_ns)};
}

std::string matching_line(const Matching& matching) {
  std::string line = fmt::format("{} of {} communications matched", matching.matched_slices, matching.slices);
  if (matching.partly_matched_slices > 0)
    line += fmt::format(", {} of them lack members: their waits are lower bounds", matching.partly_matched_slices);
  if (matching.is_assumed()) line += ", assumed from order and name: the trace records no communicator";
  for (const auto& [reason, count] : matching.unmatched) line += fmt::format("; {} not: {}", count, reason);
  return line + ".";
}

// Names of templates can be several lines long.
std::string short_name(NameId name) {
  constexpr std::size_t kLongest = 40;
  const std::string text = visible_text(name_of(name));
  return text.size() <= kLongest ? std::string(text) : fmt::format("{}...", first_characters(text, kLongest - 3));
}

// What the offsets between the ranks' clocks rest on, and what cannot be concluded from them.
std::string clock_note(const analysis::ClockAlignment& alignment) {
  if (alignment.is_one_clock || alignment.pairs.empty()) return "";
  const auto ranks_of = [](const auto& pair) {
    return fmt::format("ranks {} and {}", pair.first.first, pair.first.second);
  };
  std::vector<std::string> sentences;
  const auto unknown = std::ranges::find_if(alignment.pairs, [](const auto& p) { return !p.second.is_known(); });
  if (unknown != alignment.pairs.end())
    sentences.push_back(fmt::format(
        "The clock offset of {} is unknown: a single shared collective cannot determine it.", ranks_of(*unknown)));
  const auto widest = std::ranges::max_element(
      alignment.pairs, {}, [](const auto& p) { return p.second.is_known() ? p.second.width_ns() : -1; });
  if (widest->second.is_known()) {
    sentences.push_back(fmt::format(
        "Clock offsets are uncertain by up to {:.1f} us ({}, from {} communications); waits up to that are unresolved.",
        static_cast<double>(widest->second.width_ns()) / 1e3, ranks_of(*widest), widest->second.count));
    sentences.emplace_back(
        "Offsets are estimated from communication end times, so a rank whose kernels always end later appears to have "
        "a fast clock.");
  }
  return fmt::format("{}", fmt::join(sentences, " "));
}

std::vector<std::string> waits_notes(const Communications& communications, const WaitReport& waits) {
  std::vector<std::string> notes;
  if (waits.ranks.size() > kMostRows && waits.total.count > 0)
    notes.push_back(fmt::format("{} more ranks are not shown.", waits.ranks.size() - kMostRows));
  notes.push_back(matching_line(communications.matching));
  if (const auto& missing = communications.missing_ranks; !missing.empty())
    notes.push_back(fmt::format("Ranks without a trace: {}.", short_list(missing, kMostRows)));
  if (waits.total.behind_transfer_ns > 0)
    notes.push_back(
        fmt::format("{} ms of wait are due to earlier transfers of the late rank, and not assigned to any rank.",
                    ms(waits.total.behind_transfer_ns)));
  if (std::string clocks = clock_note(communications.alignment); !clocks.empty()) notes.push_back(std::move(clocks));
  if (waits.total.unresolved_ns > 0)
    notes.push_back(
        fmt::format("{} ms of wait are unresolved, and not assigned to any rank.", ms(waits.total.unresolved_ns)));
  return notes;
}

TitledTable waits_table(const Communications& communications, const WaitReport& waits) {
  TitledTable titled{
      .title = "Wait and transfer, summed over the trace (ms)",
      .table = {columns_of({"", "wait", "exp. wait", "transfer", "exp. xfer", "for rank", "because"}), {}},
      .notes = waits_notes(communications, waits)};
  if (waits.total.count == 0) return titled;
  Table& table = titled.table;
  table.columns.back().align = Align::left;  // so that it is wrapped
  for (const auto& [mode, totals] : waits.modes) table.rows.push_back(wait_row(mode, totals));
  std::size_t shown = 0;
  for (const auto& [rank, totals] : waits.ranks)
    if (shown++ < kMostRows) table.rows.push_back(wait_row(fmt::format("rank {}", rank), totals));
  if (waits.modes.size() + waits.ranks.size() > 1) table.rows.push_back(wait_row("all", waits.total));
  return titled;
}

TitledTable bandwidth_table(const BandwidthReport& report) {
  TitledTable titled{
      .title = "Bandwidth (GB/s; medians; transfer: from the last arrival)",
      .table = {columns_of({"collective", "ranks", "from", "count", "algbw", "busbw", "transfer algbw", "busbw"}), {}}};
  const auto rate = [](double gb_per_s) { return fmt::format("{:.2f}", gb_per_s); };
  for (const BandwidthRow& row : report.rows) {
    const bool has_ranks = row.num_ranks > 0;
    titled.table.rows.push_back(
        {in_words(to_string(row.collective)), has_ranks ? fmt::format("{}", row.num_ranks) : "-",
         in_bytes(row.least_bytes), fmt::format("{}", row.count), rate(row.whole.algbw_gb_per_s),
         has_ranks ? rate(row.whole.busbw_gb_per_s) : "-", row.transfer ? rate(row.transfer->algbw_gb_per_s) : "-",
         has_ranks && row.transfer ? rate(row.transfer->busbw_gb_per_s) : "-"});
  }
  if (report.rows.empty())
    titled.notes.emplace_back("The trace does not record message sizes.");
  else if (report.without_bytes > 0)
    titled.notes.push_back(fmt::format("{} more have no recorded message size.", report.without_bytes));
  return titled;
}

TitledTable slowed_table(const SlowedCompute& slowed) {
  TitledTable titled{
      .title = "Compute slowed during communication",
      .table = {columns_of({"kernel", "during", "alone", "us during", "us alone", "slower", "cost ms"}), {}}};
  if (slowed.concurrent_ns == 0) {
    titled.notes.emplace_back("No compute runs during communication.");
    return titled;
  }
  for (std::size_t i = 0; i < std::min(slowed.kernels.size(), kMostRows); ++i) {
    const SlowedKernel& kernel = slowed.kernels[i];
    titled.table.rows.push_back(
        {short_name(kernel.name), fmt::format("{}", kernel.concurrent), fmt::format("{}", kernel.alone),
         fmt::format("{:.1f}", kernel.median_concurrent_ns / 1e3), fmt::format("{:.1f}", kernel.median_alone_ns / 1e3),
         fmt::format("{:.2f}x", kernel.slowdown()), ms(kernel.cost_ns)});
  }
  titled.notes.push_back(
      fmt::format("The slowdown costs {} ms in total. Of {} ms of compute during communication, {} % "
                  "could be compared (kernels that also ran alone).",
                  ms(slowed.cost_ns), ms(slowed.concurrent_ns), pct(slowed.compared_ns, slowed.concurrent_ns)));
  return titled;
}

TitledTable idle_table(const std::map<std::int32_t, IdleTime>& ranks) {
  Table table{columns_of({"idle, ms", "all", "launch", "waiting", "pipeline", "not known", "gaps", "with a call"}), {}};
  IdleTime sum;
  const auto add_row = [&](const std::string& name, const IdleTime& idle) {
    std::vector<TableCell> row{name, ms(idle.total_ns())};
    for (const std::int64_t ns : idle.ns) row.emplace_back(ms(ns));
    row.emplace_back(fmt::format("{}", idle.gaps));
    row.emplace_back(fmt::format("{}", idle.gaps_with_call));
    table.rows.push_back(std::move(row));
  };
  for (const auto& [rank, idle] : ranks) {
    if (table.rows.size() < kMostRows) add_row(fmt::format("rank {}", rank), idle);
    for (std::size_t i = 0; i < kNumIdleCauses; ++i) sum.ns[i] += idle.ns[i];
    sum.gaps += idle.gaps;
    sum.gaps_with_call += idle.gaps_with_call;
  }
  if (ranks.size() > 1) add_row("all ranks", sum);
  return {.title = "Idle time by cause", .table = std::move(table)};
}

TitledTable path_table(const Details& details) {
  const CriticalPath& path = details.path;
  const std::string what = details.path_step ? fmt::format("step {}", details.path_step->step) : "the whole trace";
  Table table{columns_of({"critical path", "ms", "%"}), {}};
  const auto add_row = [&](const std::string& name, std::int64_t ns) {
    table.rows.push_back({name, ms(ns), pct(ns, path.span.length())});
  };
  for (const auto& [kind, ns] : path.kinds)
    if (kind != PathKind::communication) add_row(in_words(to_string(kind)), ns);
  for (const auto& [mode, ns] : path.modes) add_row("communication: " + mode, ns);
  for (const auto& [rank, ns] : path.ranks)
    if (path.ranks.size() <= kMostRows) add_row(fmt::format("on rank {}", rank), ns);
  return {.title = fmt::format("Critical path of {}: {} ms, rank changes: {}", what, ms(path.span.length()),
                               path.num_changes),
          .table = std::move(table)};
}

std::string signed_pct(double share) { return fmt::format("{:+.1f} %", 100 * share); }

std::string replay_text(const ReplayCheck& check) {
  return fmt::format(
      "Replay error {} (each gap replaced by the mean of its kind). Without gaps the replay is {:.1f} % shorter: no "
      "dependency in the trace explains that part.",
      signed_pct(check.error()), 100 * check.unexplained());
}

TitledTable what_if_table(const Details& details) {
  const ReplayCheck& check = details.replay;
  if (check.is_too_large())
    return {.title = "What if: withheld",
            .table = {},
            .notes = {replay_text(check) + " What-if results are withheld if the error exceeds 5 %."}};
  const std::vector<WhatIf>& answers = details.what_if;
  if (answers.empty()) return {};
  TitledTable titled{.title = fmt::format("What if ({})", answers.front().is_step ? "median step" : "whole trace"),
                     .table = {columns_of({"what if", "ms", "instead of", "saved %", "without guesses"}), {}}};
  for (const WhatIf& answer : answers) {
    titled.table.rows.push_back({answer.name, ms(answer.after_ns), ms(answer.before_ns),
                                 pct(answer.saved_ns(), answer.before_ns),
                                 pct(answer.saved_unguessed_ns(), answer.before_ns)});
    titled.notes.push_back(answer.assumption);
  }
  titled.notes.push_back(
      replay_text(check) +
      " \"without guesses\" is the percentage saved if only dependencies that the trace proves are used.");
  return titled;
}

}  // namespace

std::vector<TitledTable> details_tables(const Summary& summary, const Details& details) {
  std::vector<TitledTable> tables{waits_table(*summary.communications, details.waits),
                                  bandwidth_table(details.bandwidth),
                                  slowed_table(details.slowed),
                                  idle_table(details.idle),
                                  path_table(details),
                                  what_if_table(details)};
  std::erase_if(tables, [](const TitledTable& titled) { return titled.table.rows.empty() && titled.notes.empty(); });
  return tables;
}

}  // namespace underlap::graph
