// SPDX-License-Identifier: Apache-2.0
#include "profiler/tables/job_tables.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>
#include <variant>

#include "profiler/analysis/breakdown.hpp"
#include "profiler/analysis/figure_table.hpp"
#include "profiler/analysis/mode_name.hpp"
#include "profiler/tables/event_tables.hpp"
#include "profiler/tables/table_writer.hpp"

namespace underlap::tables {
namespace {

using analysis::JobStep, analysis::RankSummary, analysis::Split, analysis::Window;

struct StepRow {
  std::int32_t rank = 0, block = 0, step = 0;
  bool is_counted = false;
  std::optional<std::int64_t> step_ns{};
  std::int64_t start_ns = 0, window_ns = 0;
  std::optional<Split> split{};

  std::optional<std::int64_t> part(auto of) const {
    return split ? std::optional<std::int64_t>(std::invoke(of, *split)) : std::nullopt;
  }
  // A wait of 0 where no arrival is known would claim that nobody waited.
  std::optional<std::int64_t> known_part(auto of) const {
    return split && analysis::is_split(split->exposed_unsplit_ns, split->exposed_ns()) ? part(of) : std::nullopt;
  }
};

void visit_columns(const StepRow& row, auto&& column) {
  column("rank", row.rank, "rank");
  column("block", row.block, "block of an Underlap run; 0 in other traces");
  column("step", row.step, "number of the step");
  column("is_counted", row.is_counted, "false for a stalled step, which no median includes");
  column("step_ns", row.step_ns, "duration of the step over all ranks");
  column("start_ns", row.start_ns, "start of the step on the rank's clock");
  column("window_ns", row.window_ns, "duration of the step on this rank; the parts below sum to it");
  column("compute_only_ns", row.part(&Split::compute_only_ns), "compute without communication");
  column("hidden_ns", row.part(&Split::hidden_ns), "communication during compute");
  column("exposed_ns", row.part(&Split::exposed_ns), "communication without compute");
  column("copy_only_ns", row.part(&Split::copy_only_ns), "copies without compute and communication");
  column("idle_ns", row.part(&Split::idle_ns), "nothing ran on the device");
  column("exposed_wait_ns", row.known_part(&Split::exposed_wait_ns),
         "part of exposed_ns while a member had not arrived");
  column("exposed_transfer_ns", row.known_part(&Split::exposed_transfer_ns),
         "part of exposed_ns after the last arrival");
  column("exposed_unsplit_ns", row.part(&Split::exposed_unsplit_ns), "part of exposed_ns with unknown arrivals");
  column("fused_ns", row.part(&Split::fused_ns), "compute in kernels that also communicate");
  column("unclassified_ns", row.part(&Split::unclassified_ns), "compute in kernels that may be communication");
}

ColumnTable steps_of(const Job& job) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> step_ns;
  for (const JobStep& step : job.summary.job_steps) step_ns[step.id()] = step.step_ns;
  TableWriter<StepRow> table;
  const auto add = [&](const Window& window, const Split* split) {
    if (window.step < 0) return;
    StepRow row{.rank = window.rank, .block = window.block, .step = window.step, .is_counted = split != nullptr};
    const auto of_job = step_ns.find({window.block, window.step});
    if (of_job != step_ns.end()) row.step_ns = of_job->second;
    row.start_ns = window.begin_ns;
    row.window_ns = window.length_ns();
    if (split != nullptr) row.split = *split;
    table.add(row);
  };
  for (const RankSummary& rank : job.summary.shown())
    for (std::size_t i = 0; i < rank.windows.size(); ++i) add(rank.windows[i], &rank.splits[i]);
  for (const analysis::StalledStep& stalled : job.summary.stalled)
    for (const Window& window : stalled.windows) add(window, nullptr);
  return std::move(table).take();
}

struct RankRow {
  const RankSummary* rank = nullptr;

  double typical(auto part) const {
    if (rank == nullptr) return 0;
    return analysis::typical(*rank, [&](const Split& split) { return std::invoke(part, split); });
  }
  std::optional<double> known_typical(auto part) const {
    if (rank == nullptr || !analysis::is_split(rank->total.exposed_unsplit_ns, rank->total.exposed_ns()))
      return std::nullopt;
    return typical(part);
  }
};

void visit_columns(const RankRow& row, auto&& column) {
  const RankSummary none, *rank = row.rank == nullptr ? &none : row.rank;
  column("rank", rank->rank, "rank");
  column("steps", static_cast<std::int64_t>(rank->windows.size()), "counted steps");
  column("window_ns", row.typical(&Split::window_ns), "median step of this rank");
  column("compute_ns", row.typical(&Split::compute_ns), "median compute, with hidden communication");
  column("comm_ns", row.typical(&Split::comm_ns), "median communication");
  column("hidden_ns", row.typical(&Split::hidden_ns), "median communication during compute");
  column("exposed_ns", row.typical(&Split::exposed_ns), "median communication without compute");
  column("exposed_wait_ns", row.known_typical(&Split::exposed_wait_ns), "part of it while a member had not arrived");
  column("exposed_transfer_ns", row.known_typical(&Split::exposed_transfer_ns), "part of it after the last arrival");
  column("exposed_unsplit_ns", row.typical(&Split::exposed_unsplit_ns), "part of it with unknown arrivals");
  column("copy_only_ns", row.typical(&Split::copy_only_ns), "median copies without compute and communication");
  column("idle_ns", row.typical(&Split::idle_ns), "median time without work on the device");
  column("comm_kernels", rank->comm_kernels, "communications in counted steps");
  column("compute_kernels", rank->compute_kernels, "compute kernels in counted steps");
}

ColumnTable ranks_of(const Job& job) {
  TableWriter<RankRow> table;
  for (const RankSummary& rank : job.summary.shown()) table.add({&rank});
  return std::move(table).take();
}

struct ReasonRow {
  analysis::ExposureReasonSum sum;
};

void visit_columns(const ReasonRow& row, auto&& column) {
  column("mode", analysis::mode_name(row.sum.mode), "mode of parallelism");
  column("purpose", row.sum.purpose, "purpose of the communication");
  column("reason", row.sum.reason, "why compute does not hide it");
  column("waits_for", row.sum.waits_for, "work or host call that its start waited for");
  column("holds_up", row.sum.holds_up, "compute that waits for it");
  column("is_guessed", row.sum.is_guessed, "the trace does not record the dependency");
  column("count", row.sum.count, "communications");
  column("exposed_ns", row.sum.exposed_ns, "exposed time, summed over ranks and counted steps");
}

ColumnTable reasons_of(const Job& job) {
  TableWriter<ReasonRow> table;
  for (const analysis::ExposureReasonSum& sum : job.summary.reasons.sums) table.add({sum});
  return std::move(table).take();
}

struct IdleRow {
  std::int32_t rank = 0;
  analysis::IdleCause cause = analysis::IdleCause::not_known;
  std::int64_t idle_ns = 0;
};

void visit_columns(const IdleRow& row, auto&& column) {
  column("rank", row.rank, "rank");
  column("cause", row.cause, "why the device had nothing to do");
  column("idle_ns", row.idle_ns, "idle time, summed over counted steps");
}

ColumnTable idle_of(const Job& job) {
  TableWriter<IdleRow> table;
  for (const auto& [rank, idle] : job.details->idle)
    for (std::size_t i = 0; i < analysis::kNumIdleCauses; ++i)
      table.add({rank, static_cast<analysis::IdleCause>(i), idle.ns[i]});
  return std::move(table).take();
}

struct PathRow {
  std::int32_t rank = 0;
  graph::PathKind kind = graph::PathKind::gap;
  NameId name = kNoName;
  std::optional<std::string> mode{};
  std::int64_t start_ns = 0, duration_ns = 0;
};

void visit_columns(const PathRow& row, auto&& column) {
  column("rank", row.rank, "rank on which the critical path runs");
  column("kind", row.kind, "what the rank does then");
  column("name", row.name, "work that runs; of launch and gap, the work after it");
  column("mode", row.mode, "mode of parallelism, of communication");
  column("start_ns", row.start_ns, "start on the clock of all ranks");
  column("duration_ns", row.duration_ns, "duration; all rows sum to the median step");
}

ColumnTable critical_path_of(const Job& job) {
  TableWriter<PathRow> table;
  for (const graph::PathPiece& piece : job.details->path.pieces) {
    PathRow row{piece.rank, piece.kind, job.trace.name(piece.slice), std::nullopt, piece.begin_ns, piece.length_ns()};
    if (piece.kind == graph::PathKind::communication) row.mode = analysis::mode_name(job.trace.tag(piece.slice).mode);
    table.add(row);
  }
  return std::move(table).take();
}

// The column of names with index `c`.
Column names_of(const analysis::FigureTable& figures, std::size_t c) {
  Words words;
  std::map<std::string, std::int32_t> codes;
  for (const analysis::FigureRow& row : figures.rows) {
    const auto [code, is_new] = codes.try_emplace(row.names[c], static_cast<std::int32_t>(words.words.size()));
    if (is_new) words.words.push_back(row.names[c]);
    words.push_back(code->second);
  }
  return {figures.names[c].key, figures.names[c].title, std::move(words)};
}

// The column of figures with index `c`.
Column values_of(const analysis::FigureTable& figures, std::size_t c) {
  const analysis::FigureColumn& shown = figures.columns[c];
  Column column{analysis::csv_key(shown), shown.title, std::vector<double>{}};
  for (const analysis::FigureRow& row : figures.rows) {
    const std::optional<double>& figure = row.figures[c];
    column.known.push_back(figure.has_value());
    column.num_unknown += !figure.has_value();
    std::get<std::vector<double>>(column.values).push_back(figure ? analysis::csv_value(shown, *figure) : 0);
  }
  return column;
}

}  // namespace

const std::vector<JobTable>& job_tables() {
  static const std::vector<JobTable> tables{{"kernels", false, kernels_of},
                                            {"collectives", false, collectives_of},
                                            {"steps", false, steps_of},
                                            {"ranks", false, ranks_of},
                                            {"exposure_reasons", false, reasons_of},
                                            {"idle", true, idle_of},
                                            {"critical_path", true, critical_path_of}};
  return tables;
}

ColumnTable breakdown_table(const Job& job, const std::string& name) {
  const std::optional<analysis::Breakdown> by = analysis::breakdown_from(name);
  if (!by) throw std::invalid_argument(fmt::format("\"{}\" is not a breakdown of an analysis", name));
  const analysis::FigureTable figures = analysis::breakdown(job.trace, job.summary, *by);
  ColumnTable table;
  table.num_rows = figures.rows.size();
  for (std::size_t c = 0; c < figures.names.size(); ++c) table.columns.push_back(names_of(figures, c));
  for (std::size_t c = 0; c < figures.columns.size(); ++c) table.columns.push_back(values_of(figures, c));
  return table;
}

}  // namespace underlap::tables
