// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/breakdown.hpp"

#include <fmt/format.h>

#include <set>

#include "profiler/trace/enum_names.hpp"

namespace underlap::analysis {
namespace {

constexpr EnumNames<Breakdown, kNumBreakdowns> kNames{
    {"mode", "purpose", "stream", "rank", "step", "kernel", "hidden"}};
constexpr std::size_t kMostShownRanks = 16;  ///< ranks that are shown one by one
constexpr std::string_view kUnattributed = "unattributed";

using SplitsByName = std::map<std::string, CommunicationSplit>;
using Figure = std::optional<double>;

struct SplitColumn {
  FigureColumn column;
  std::int64_t (*part)(const Split&);
  bool of_communication = false;
  bool of_wait = false;
};

const std::vector<SplitColumn>& columns_of_split() {
  static const std::vector<SplitColumn> columns{
      {{"step", "step"}, [](const Split& s) { return s.window_ns; }},
      {{"compute", "compute"}, [](const Split& s) { return s.compute_ns(); }},
      {{"comm", "comm"}, [](const Split& s) { return s.comm_ns(); }, true},
      {{"exposed", "exposed"}, [](const Split& s) { return s.exposed_ns(); }, true},
      {{"overlap", "overlap", FigureUnit::percent}, nullptr},
      {{"exp. wait", "exposed_wait"}, [](const Split& s) { return s.exposed_wait_ns; }, true, true},
      {{"exp. xfer", "exposed_transfer"}, [](const Split& s) { return s.exposed_transfer_ns(); }, true, true},
      {{"copy only", "copy_only", FigureUnit::time, 1, true}, [](const Split& s) { return s.copy_only_ns; }},
      {{"idle", "idle"}, [](const Split& s) { return s.idle_ns; }}};
  return columns;
}

std::vector<RankSummary> measured(const Summary& summary) {
  std::vector<RankSummary> ranks;
  for (const RankSummary& rank : summary.shown())
    if (!rank.windows.empty()) ranks.push_back(rank);
  return ranks;
}

Figure overlap_of(double hidden_ns, double comm_ns) {
  return comm_ns <= 0 ? std::nullopt : Figure(100 * hidden_ns / comm_ns);
}

// What `figure` gives for each part. `total` is the sum of the splits that it comes from. The last figure of the row is
// the hidden time, which overlap is formed of.
FigureRow split_row(std::string name, const Split& total, bool communicates,
                    const std::function<double(const PartOfSplit&)>& figure) {
  FigureRow row{{std::move(name)}, {}};
  const bool is_split_in_two = is_split(total.exposed_unsplit_ns, total.exposed_ns());
  for (const SplitColumn& column : columns_of_split()) {
    const bool is_known = (communicates || !column.of_communication) && (is_split_in_two || !column.of_wait);
    row.figures.push_back(column.part != nullptr && is_known ? Figure(figure(column.part)) : std::nullopt);
  }
  row.figures.push_back(figure([](const Split& s) { return s.hidden_ns; }));
  return row;
}

// Mean figure by figure; not known where one of them is not.
FigureRow mean_of(const std::vector<FigureRow>& rows, std::vector<std::string> names) {
  FigureRow mean{std::move(names), rows.front().figures};
  for (std::size_t i = 0; i < mean.figures.size(); ++i) {
    double sum = 0;
    bool is_known = true;
    for (const FigureRow& row : rows) {
      sum += row.figures[i].value_or(0);
      is_known &= row.figures[i].has_value();
    }
    mean.figures[i] = is_known ? Figure(sum / static_cast<double>(rows.size())) : std::nullopt;
  }
  return mean;
}

// Overlap is that of the row's own times, also where these are means.
void set_overlap(std::vector<FigureRow>& rows, std::size_t comm, std::size_t overlap) {
  for (FigureRow& row : rows) {
    row.figures[overlap] = overlap_of(row.figures.back().value_or(0), row.figures[comm].value_or(0));
    row.figures.pop_back();
  }
}

constexpr std::size_t kComm = 2, kExposed = 3, kOverlap = 4;  // in columns_of_split()

FigureTable table_of_ranks(const Summary& summary, std::size_t most_rows) {
  const std::vector<RankSummary> ranks = measured(summary);
  const bool communicates =
      std::ranges::any_of(ranks, [](const RankSummary& rank) { return rank.total.comm_ns() > 0; });
  FigureTable table{{{"rank", "rank"}}, {}, {}};
  for (const SplitColumn& column : columns_of_split()) table.columns.push_back(column.column);
  if (!summary.shows_steps()) table.columns.front() = {"span", "span"};
  Split total;
  for (const RankSummary& rank : ranks) {
    table.rows.push_back(split_row(std::to_string(rank.rank), rank.total, communicates,
                                   [&](const PartOfSplit& part) { return typical(rank, part); }));
    total += rank.total;
  }
  if (table.rows.size() > 1) {
    FigureRow mean =
        split_row("mean", total, communicates, [&](const PartOfSplit& part) { return typical(summary, part); });
    mean.figures.front() = typical_step_ns(summary);
    if (table.rows.size() > most_rows) {
      const auto exposed = [](const FigureRow& row) { return row.figures[kExposed].value_or(0); };
      const auto [least, most] = std::ranges::minmax_element(table.rows, {}, exposed);
      table.rows = {*least, *most};
    }
    table.rows.push_back(mean);
  }
  set_overlap(table.rows, kComm, kOverlap);
  return table;
}

struct CommunicationColumn {
  FigureColumn column;
  std::int64_t CommunicationSplit::*part;
  bool of_wait = false;
};

const std::vector<CommunicationColumn>& columns_of_communication() {
  static const std::vector<CommunicationColumn> columns{
      {{"count", "count", FigureUnit::number, 2}, &CommunicationSplit::count},
      {{"comm", "comm"}, &CommunicationSplit::comm_ns},
      {{"exposed", "exposed"}, &CommunicationSplit::exposed_ns},
      {{"overlap", "overlap", FigureUnit::percent}, nullptr},
      {{"exp. wait", "exposed_wait"}, &CommunicationSplit::exposed_wait_ns, true},
      {{"dependency", "pipeline_dependency", FigureUnit::time, 3, true},
       &CommunicationSplit::pipeline_dependency_ns,
       true},
      {{"exp. xfer", "exposed_transfer"}, &CommunicationSplit::exposed_transfer_ns, true},
      {{"wire MB", "wire", FigureUnit::megabytes, 1, true}, &CommunicationSplit::bytes_on_wire}};
  return columns;
}

FigureRow communication_row(const Summary& summary, const SplitsByName Split::*kind, const std::string& key) {
  FigureRow row{{key}, {}};
  bool is_split_in_two = true, has_bytes = true;
  for (const RankSummary& rank : summary.shown())
    if (const auto found = (rank.total.*kind).find(key); found != (rank.total.*kind).end()) {
      is_split_in_two &= is_split(found->second.exposed_unsplit_ns, found->second.exposed_ns);
      has_bytes &= found->second.without_bytes == 0;
    }
  const auto figure = [&](auto part) { return typical(summary, part_of(kind, key, part)); };
  for (const CommunicationColumn& column : columns_of_communication()) {
    const bool is_of_bytes = column.part == &CommunicationSplit::bytes_on_wire;
    const bool is_known = column.part != nullptr && (!column.of_wait || is_split_in_two) && (!is_of_bytes || has_bytes);
    row.figures.push_back(is_known ? Figure(figure(column.part)) : std::nullopt);
  }
  row.figures.push_back(figure(&CommunicationSplit::hidden_ns));
  return row;
}

// A row for each mode or purpose, and always one for what is attributed to none.
FigureTable communication_table(const Summary& summary, const SplitsByName Split::*kind, std::string_view title) {
  FigureTable table{{{std::string(title), std::string(title)}}, {}, {}};
  for (const CommunicationColumn& column : columns_of_communication()) table.columns.push_back(column.column);
  const std::vector<RankSummary> ranks = measured(summary);
  std::set<std::string> keys;
  for (const RankSummary& rank : ranks)
    for (const auto& [key, total] : rank.total.*kind) keys.insert(key);
  if (keys.empty()) return table;
  keys.erase(std::string(kUnattributed));
  std::vector<std::string> in_order(keys.begin(), keys.end());
  in_order.emplace_back(kUnattributed);
  for (const std::string& key : in_order) table.rows.push_back(communication_row(summary, kind, key));
  set_overlap(table.rows, 1, 3);
  return table;
}

FigureTable step_table(const Summary& summary) {
  struct Step {
    std::vector<FigureRow> rows;
    double most_exposed = -1;
    std::int32_t worst_rank = -1;
  };
  std::map<std::pair<std::int32_t, std::int32_t>, Step> steps;
  const std::vector<RankSummary>& ranks = summary.shown();
  for (const RankSummary& rank : ranks)
    for (std::size_t i = 0; i < rank.windows.size(); ++i) {
      Step& step = steps[{rank.windows[i].block, rank.windows[i].step}];
      const Split& split = rank.splits[i];
      step.rows.push_back(
          split_row("", split, true, [&](const PartOfSplit& part) { return static_cast<double>(part(split)); }));
      const auto exposed = static_cast<double>(rank.splits[i].exposed_ns());
      if (exposed <= step.most_exposed) continue;
      step.most_exposed = exposed;
      step.worst_rank = rank.rank;
    }
  FigureTable table{{{"block", "block", true}, {"step", "step"}}, {}, {}};
  for (const SplitColumn& column : columns_of_split()) table.columns.push_back(column.column);
  table.columns.front() = {"length", "length"};
  for (FigureColumn& column : table.columns) column.priority += column.key == "exposed_transfer" || column.priority > 0;
  for (auto& [at, step] : steps)
    table.rows.push_back(mean_of(step.rows, {std::to_string(at.first), std::to_string(at.second)}));
  set_overlap(table.rows, kComm, kOverlap);
  if (ranks.size() > 1) {
    table.columns.push_back({"worst rank", "worst_rank", FigureUnit::number, 3});
    table.columns.push_back({"its exposed", "worst_exposed", FigureUnit::time, 3});
    std::size_t i = 0;
    for (const auto& [at, step] : steps) {
      table.rows[i].figures.emplace_back(step.worst_rank);
      table.rows[i++].figures.emplace_back(step.most_exposed);
    }
  }
  return table;
}

}  // namespace

std::string_view to_string(Breakdown by) { return kNames[by]; }
std::optional<Breakdown> breakdown_from(std::string_view name) { return kNames.find(name); }

FigureTable rank_table(const Summary& summary) { return table_of_ranks(summary, kMostShownRanks); }

FigureTable breakdown(const Trace& trace, const Summary& summary, Breakdown by) {
  switch (by) {
    case Breakdown::mode: return communication_table(summary, &Split::modes, "mode");
    case Breakdown::purpose: return communication_table(summary, &Split::purposes, "purpose");
    case Breakdown::stream: return stream_table(trace, summary);
    case Breakdown::rank: return table_of_ranks(summary, SIZE_MAX);
    case Breakdown::step: return step_table(summary);
    case Breakdown::kernel: return kernel_table(trace, summary);
    case Breakdown::hidden: return hidden_table(trace, summary);
  }
  return {};
}

std::string title_of(const Summary& summary, Breakdown by) {
  const std::vector<RankSummary> ranks = measured(summary);
  const std::string whose =
      ranks.size() > 1 ? "mean over ranks" : fmt::format("rank {}", ranks.empty() ? 0 : ranks.front().rank);
  const char* span = summary.shows_steps() ? "per step" : "whole trace";
  switch (by) {
    case Breakdown::mode:
    case Breakdown::purpose: return fmt::format("Communication in milliseconds, {}", whose);
    case Breakdown::hidden: return fmt::format("Hidden communication by concurrent compute, milliseconds, {}", whose);
    case Breakdown::step: return fmt::format("Steps in milliseconds, {}", whose);
    case Breakdown::stream: return fmt::format("Streams in milliseconds {}, {}", span, whose);
    case Breakdown::kernel: return fmt::format("Kernels in milliseconds {}, {}", span, whose);
    case Breakdown::rank: break;
  }
  if (!summary.shows_steps()) return "Milliseconds, from the first start to the last end";
  const std::string statistic = statistic_text(summary);
  return statistic.empty() ? "Milliseconds, 1 step" : fmt::format("Milliseconds per step: {}", statistic);
}

}  // namespace underlap::analysis
