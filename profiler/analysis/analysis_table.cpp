// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "profiler/analysis/analysis.hpp"

namespace underlap::analysis {
namespace {

constexpr std::size_t kMostRows = 16;  ///< ranks that are shown one by one
constexpr double kUnknown = -1;        ///< of a figure: "-"

// One row of a table: a rank, or the mean of several, in its median step. Times are nanoseconds.
struct Row {
  std::string name;
  double window_ns = 0, compute_ns = 0, comm_ns = 0, exposed_ns = 0, hidden_ns = 0;
  double wait_ns = kUnknown, dependency_ns = kUnknown, transfer_ns = kUnknown, copy_ns = 0, idle_ns = 0;
  double bytes_on_wire = 0, count = 0;
};

// The figures that rows have their means of.
constexpr double Row::*kFigures[]{&Row::window_ns, &Row::compute_ns, &Row::comm_ns,       &Row::exposed_ns,
                                  &Row::hidden_ns, &Row::wait_ns,    &Row::dependency_ns, &Row::transfer_ns,
                                  &Row::copy_ns,   &Row::idle_ns,    &Row::bytes_on_wire, &Row::count};

Row mean_of(const std::vector<Row>& rows, std::string name) {
  Row mean{.name = std::move(name)};
  for (double Row::*figure : kFigures) {
    double sum = 0;
    bool is_known = true;
    for (const Row& row : rows) {
      sum += row.*figure;
      is_known &= row.*figure != kUnknown;
    }
    mean.*figure = is_known ? sum / static_cast<double>(rows.size()) : kUnknown;
  }
  return mean;
}

Row row_of(const RankSummary& rank) {
  const auto median = [&](auto part) { return median_of(rank.splits, part); };
  Row row{.name = std::to_string(rank.rank),
          .window_ns = median([](const Split& s) { return s.window_ns; }),
          .compute_ns = median([](const Split& s) { return s.compute_ns(); }),
          .comm_ns = median([](const Split& s) { return s.comm_ns(); }),
          .exposed_ns = median([](const Split& s) { return s.exposed_ns(); }),
          .hidden_ns = median([](const Split& s) { return s.hidden_ns; }),
          .copy_ns = median([](const Split& s) { return s.copy_only_ns; }),
          .idle_ns = median([](const Split& s) { return s.idle_ns; })};
  if (!is_split(rank.total.exposed_unsplit_ns, rank.total.exposed_ns())) return row;
  row.wait_ns = median([](const Split& s) { return s.exposed_wait_ns; });
  row.transfer_ns = median([](const Split& s) { return s.exposed_transfer_ns(); });
  return row;
}

using Communications = std::map<std::string, CommunicationSplit>;

// What a rank's windows have of one mode or purpose; `total` is the sum of it.
Row row_of(const RankSummary& rank, const Communications Split::*kind, const std::string& key,
           const CommunicationSplit& total) {
  const auto median = [&](auto CommunicationSplit::*part) { return median_of(rank.splits, kind, key, part); };
  Row row{.name = key,
          .comm_ns = median(&CommunicationSplit::comm_ns),
          .exposed_ns = median(&CommunicationSplit::exposed_ns),
          .hidden_ns = median(&CommunicationSplit::hidden_ns),
          .bytes_on_wire = median(&CommunicationSplit::bytes_on_wire),
          .count = median(&CommunicationSplit::count)};
  if (!is_split(total.exposed_unsplit_ns, total.exposed_ns)) return row;
  row.wait_ns = median(&CommunicationSplit::exposed_wait_ns);
  row.dependency_ns = median(&CommunicationSplit::pipeline_dependency_ns);
  row.transfer_ns = median(&CommunicationSplit::exposed_transfer_ns);
  return row;
}

// A row for each mode or purpose: the mean of the ranks that have it.
std::vector<Row> rows_of(const std::vector<RankSummary>& ranks, Communications Split::*kind) {
  std::set<std::string> keys;
  for (const RankSummary& rank : ranks)
    for (const auto& [key, total] : rank.total.*kind) keys.insert(key);
  std::vector<Row> rows;
  for (const std::string& key : keys) {
    std::vector<Row> of_ranks;
    for (const RankSummary& rank : ranks)
      if (const auto found = (rank.total.*kind).find(key); found != (rank.total.*kind).end())
        of_ranks.push_back(row_of(rank, kind, key, found->second));
    rows.push_back(mean_of(of_ranks, key));
  }
  return rows;
}

// Milliseconds with as many decimals as leave a column narrow.
std::string milliseconds(double ns, double largest_ns) {
  if (ns == kUnknown) return "-";
  const int decimals = largest_ns >= 1e9 ? 1 : largest_ns >= 1e8 ? 2 : 3;
  return fmt::format("{:.{}f}", ns / 1e6, decimals);
}

std::string percent(const Row& row) {
  return row.comm_ns <= 0 ? "-" : fmt::format("{:.1f} %", 100 * row.hidden_ns / row.comm_ns);
}

// One column: its title, and what it shows of a row.
struct Column {
  TableColumn title;
  std::function<std::string(const Row&)> text;
};

std::function<std::string(const Row&)> time_of(double Row::*figure, const std::vector<Row>& rows) {
  double largest_ns = 0;
  for (const Row& row : rows) largest_ns = std::max({largest_ns, row.window_ns, row.comm_ns});
  return [=](const Row& row) { return milliseconds(row.*figure, largest_ns); };
}

// The same for what most traces have nothing of.
std::function<std::string(const Row&)> time_or_dash(double Row::*figure, const std::vector<Row>& rows) {
  return [=, text = time_of(figure, rows)](const Row& row) { return row.*figure == 0 ? "-" : text(row); };
}

std::string rounded(double value) {
  return value == std::floor(value) ? fmt::format("{:.0f}", value) : fmt::format("{:.1f}", value);
}

// Columns without any figure are left out.
Table table_of(const std::vector<Column>& columns, const std::vector<Row>& rows) {
  Table table;
  table.rows.resize(rows.size());
  for (const Column& column : columns) {
    std::vector<std::string> texts;
    for (const Row& row : rows) texts.push_back(column.text(row));
    if (std::ranges::all_of(texts, [](const std::string& text) { return text == "-"; })) continue;
    table.columns.push_back(column.title);
    for (std::size_t i = 0; i < rows.size(); ++i) table.rows[i].emplace_back(texts[i]);
  }
  return table;
}

Column name_column(const std::string& title) {
  return {{title, Align::left}, [](const Row& row) { return row.name; }};
}

Table rank_table(const std::vector<Row>& rows) {
  const bool communicates = std::ranges::any_of(rows, [](const Row& row) { return row.comm_ns > 0; });
  const auto of_communication = [&](double Row::*figure) {
    return communicates ? time_of(figure, rows) : [](const Row&) { return std::string("-"); };
  };
  return table_of({name_column("rank"),
                   {{"step"}, time_of(&Row::window_ns, rows)},
                   {{"compute"}, time_of(&Row::compute_ns, rows)},
                   {{"comm"}, of_communication(&Row::comm_ns)},
                   {{"exposed"}, of_communication(&Row::exposed_ns)},
                   {{"overlap"}, percent},
                   {{"exp. wait"}, of_communication(&Row::wait_ns)},
                   {{"exp. xfer"}, of_communication(&Row::transfer_ns)},
                   {{"copy only", Align::right, 1}, time_or_dash(&Row::copy_ns, rows)},
                   {{"idle"}, time_of(&Row::idle_ns, rows)}},
                  rows);
}

Table communication_table(const std::string& title, const std::vector<Row>& rows) {
  const auto megabytes = [](const Row& row) {
    return row.bytes_on_wire == 0 ? "-" : fmt::format("{:.3f}", row.bytes_on_wire / 1e6);
  };
  return table_of({name_column(title),
                   {{"count", Align::right, 2}, [](const Row& row) { return rounded(row.count); }},
                   {{"comm"}, time_of(&Row::comm_ns, rows)},
                   {{"exposed"}, time_of(&Row::exposed_ns, rows)},
                   {{"overlap"}, percent},
                   {{"exp. wait"}, time_of(&Row::wait_ns, rows)},
                   {{"dependency", Align::right, 3}, time_or_dash(&Row::dependency_ns, rows)},
                   {{"exp. xfer"}, time_of(&Row::transfer_ns, rows)},
                   {{"wire MB", Align::right, 1}, megabytes}},
                  rows);
}

// The ranks one by one, then their mean; of many only the mean and both ends.
std::vector<Row> rank_rows(const std::vector<RankSummary>& ranks) {
  std::vector<Row> rows;
  for (const RankSummary& rank : ranks) rows.push_back(row_of(rank));
  if (rows.size() < 2) return rows;
  const Row mean = mean_of(rows, "mean");
  if (rows.size() > kMostRows) {
    const auto [least, most] = std::ranges::minmax_element(rows, {}, &Row::exposed_ns);
    rows = {*least, *most};
  }
  rows.push_back(mean);
  return rows;
}

std::vector<RankSummary> measured(const Summary& summary) {
  std::vector<RankSummary> ranks;
  for (const RankSummary& rank : summary.ranks)
    if (!rank.windows.empty()) ranks.push_back(rank);
  return ranks;
}

std::string number_of_steps(const std::vector<RankSummary>& ranks) {
  const auto [least, most] =
      std::ranges::minmax_element(ranks, {}, [](const auto& rank) { return rank.windows.size(); });
  const std::size_t few = least->windows.size();
  const std::size_t many = most->windows.size();
  return few == many ? fmt::format("{}", many) : fmt::format("{} to {}", few, many);
}

std::string title(const Summary& summary, const std::vector<RankSummary>& ranks) {
  if (!summary.has_steps) return "From the first start to the last end, in milliseconds\n";
  return fmt::format("A step in milliseconds: medians over {} measured steps of a rank\n", number_of_steps(ranks));
}

std::string faults(const Trace& trace, const Summary& summary) {
  std::string text;
  for (const auto& [reason, count] : trace.import.skipped)
    fmt::format_to(std::back_inserter(text), "  skipped {}: {}\n", count, reason);
  if (!text.empty()) text.insert(0, "Not all of the trace could be used, so its figures may be wrong:\n");
  for (const std::string& error : summary.window_errors)
    fmt::format_to(std::back_inserter(text), "no windows: {}\n", error);
  return text.empty() ? text : text + "\n";
}

}  // namespace

std::string analysis_table(const Trace& trace, const Summary& summary, const TableFormat& format) {
  std::string text = faults(trace, summary);
  const std::vector<RankSummary> ranks = measured(summary);
  if (ranks.empty()) return text + "The trace has no measured step: nothing can be split.\n";
  text += title(summary, ranks) + "\n" + render(rank_table(rank_rows(ranks)), format);
  if (ranks.size() > kMostRows)
    text += fmt::format("Of {} ranks, those with the least and the most exposed time; --json has all.\n", ranks.size());
  const std::vector<Row> modes = rows_of(ranks, &Split::modes);
  if (modes.empty()) return text + "\nNo communication.\n";
  text += fmt::format("\nCommunication of {}\n\n",
                      ranks.size() > 1 ? "the mean rank" : fmt::format("rank {}", ranks.front().rank));
  text += render(communication_table("mode", modes), format);
  return text + "\n" + render(communication_table("purpose", rows_of(ranks, &Split::purposes)), format);
}

}  // namespace underlap::analysis
