// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/fields/json_schema.hpp"
#include "profiler/analysis/analysis.hpp"

namespace underlap::analysis {
namespace {

using fields::Derived, fields::Each, fields::Is, fields::NullIf, fields::Object, fields::PresentIf;
using Json = fields::Json;
using SplitsByMode = std::map<std::string, CommunicationSplit>;

constexpr std::string_view kAnalysisSchema = "underlap.analysis/1";

double us(std::int64_t ns) { return static_cast<double>(ns) / 1000.0; }

std::optional<double> us(const std::optional<std::int64_t>& ns) { return ns ? std::optional(us(*ns)) : std::nullopt; }

std::optional<double> overlap_pct(std::int64_t hidden_ns, std::int64_t comm_ns) {
  if (comm_ns == 0) return std::nullopt;
  return 100.0 * static_cast<double>(hidden_ns) / static_cast<double>(comm_ns);
}

// The trace's metadata under `key`.
std::optional<std::string> said(const Trace& trace, const char* key) {
  const auto found = trace.metadata.find(key);
  return found == trace.metadata.end() ? std::nullopt : std::optional(found->second);
}

// If nothing could be split, 0 would claim that no rank waited.
std::optional<double> if_split(const CommunicationSplit& split, double part) {
  return is_split(split.exposed_unsplit_ns, split.exposed_ns) ? std::optional(part) : std::nullopt;
}
std::optional<double> if_split(const Split& split, double part) {
  return is_split(split.exposed_unsplit_ns, split.exposed_ns()) ? std::optional(part) : std::nullopt;
}

// A rank drives one device. Uses its first known device.
std::int32_t device_of(const Trace& trace, std::int32_t rank) {
  for (const Track& track : trace.tracks)
    if (track.rank == rank && track.device >= 0) return track.device;
  return 0;
}

// The rank over its steps; nullptr where none are known.
const RankSummary* steps_of(const Summary& summary, const RankSummary& rank) {
  if (summary.has_steps) return &rank;
  const auto found = std::ranges::find(summary.steps_of_ranks, rank.rank, &RankSummary::rank);
  return found == summary.steps_of_ranks.end() ? nullptr : &*found;
}

using ClockPair = std::pair<std::pair<std::int32_t, std::int32_t>, ClockOffset>;

// Those of the widest intervals.
std::vector<ClockPair> widest_clock_pairs(const Summary& summary) {
  constexpr std::size_t kMostPairs = 100;
  std::vector<ClockPair> pairs(summary.clock_pairs.begin(), summary.clock_pairs.end());
  std::ranges::stable_sort(pairs, {},
                           [](const auto& pair) { return std::pair(pair.second.is_known(), -pair.second.width_ns()); });
  pairs.resize(std::min(pairs.size(), kMostPairs));
  return pairs;
}

// Rows as objects, under the names that the columns have in CSV.
Json table_json(const FigureTable& table) {
  Json rows = Json::array();
  for (const FigureRow& row : table.rows) {
    Json json = Json::object();
    for (std::size_t i = 0; i < row.names.size(); ++i) json[table.names[i].key] = row.names[i];
    for (std::size_t i = 0; i < row.figures.size(); ++i)
      json[csv_key(table.columns[i])] =
          row.figures[i] ? Json(csv_value(table.columns[i], *row.figures[i])) : Json(nullptr);
    rows.push_back(std::move(json));
  }
  return rows;
}

// The fields of the JSON. A schema is made of a summary without ranks.

// What a median step has of one mode or purpose.
void add_communication_of_step(const RankSummary& rank, SplitsByMode Split::*kind, const std::string& key,
                               auto&& field) {
  const auto found = (rank.total.*kind).find(key);
  const CommunicationSplit total = found == (rank.total.*kind).end() ? CommunicationSplit{} : found->second;
  const auto median = [&](auto CommunicationSplit::*part) { return typical(rank, part_of(kind, key, part)); };
  const auto median_us = [&](auto CommunicationSplit::*part) { return median(part) / 1e3; };
  const auto part_us = [&](auto CommunicationSplit::*part) { return if_split(total, median_us(part)); };
  const double bytes_on_wire = median(&CommunicationSplit::bytes_on_wire);
  field("comm_us", median_us(&CommunicationSplit::comm_ns));
  field("exposed_us", median_us(&CommunicationSplit::exposed_ns));
  field("hidden_us", median_us(&CommunicationSplit::hidden_ns));
  field("exposed_wait_us", part_us(&CommunicationSplit::exposed_wait_ns));
  field("pipeline_dependency_us", part_us(&CommunicationSplit::pipeline_dependency_ns));
  field("exposed_transfer_us", part_us(&CommunicationSplit::exposed_transfer_ns));
  field("bytes_on_wire", NullIf{bytes_on_wire, total.without_bytes > 0});
  field("count", median(&CommunicationSplit::count));
}

// `steps`: the rank over its steps, nullptr where none are known.
void add_communication(const std::pair<const std::string, CommunicationSplit>& of, const RankSummary* steps,
                       SplitsByMode Split::*kind, auto&& field) {
  const auto& [key, split] = of;
  field("comm_us", us(split.comm_ns));
  field("exposed_us", us(split.exposed_ns));
  field("hidden_us", us(split.hidden_ns));
  field("overlap_pct", overlap_pct(split.hidden_ns, split.comm_ns));
  field("exposed_wait_us", if_split(split, us(split.exposed_wait_ns)));
  field("pipeline_dependency_us", if_split(split, us(split.pipeline_dependency_ns)));
  field("exposed_transfer_us", if_split(split, us(split.exposed_transfer_ns)));
  field("exposed_unsplit_us", us(split.exposed_unsplit_ns));
  field("bytes_on_wire", NullIf{split.bytes_on_wire, split.without_bytes > 0});
  field("count", split.count);
  const RankSummary none;
  const auto add_step = [&, &of_key = key](auto&& put) {
    add_communication_of_step(steps == nullptr ? none : *steps, kind, of_key, put);
  };
  field("steps", Object{add_step, steps == nullptr});
}

// The parts of a step. `us_of` gives the time of one; `total` shows whether waiting is known.
void add_parts(const Split& total, const auto& us_of, auto&& field) {
  field("compute_only_us", us_of([](const Split& s) { return s.compute_only_ns; }));
  field("hidden_us", us_of([](const Split& s) { return s.hidden_ns; }));
  field("exposed_us", us_of([](const Split& s) { return s.exposed_ns(); }));
  field("exposed_wait_us", if_split(total, us_of([](const Split& s) { return s.exposed_wait_ns; })));
  field("copy_only_us", us_of([](const Split& s) { return s.copy_only_ns; }));
  field("idle_us", us_of([](const Split& s) { return s.idle_ns; }));
}

// Each counted step by itself.
void add_counted_step(const std::pair<Window, Split>& step, auto&& field) {
  const auto& [window, split] = step;
  field("block", window.block);
  field("step", window.step);
  field("window_us", us(split.window_ns));
  add_parts(
      split, [&](auto part) { return us(part(split)); }, field);
}

void add_steps(const RankSummary& rank, auto&& field) {
  const auto median_us = [&](auto part) { return typical(rank, part) / 1e3; };
  std::vector<std::pair<Window, Split>> each;
  for (std::size_t i = 0; i < rank.windows.size(); ++i) each.emplace_back(rank.windows[i], rank.splits[i]);
  field("count", rank.splits.size());
  field("window_us", median_us([](const Split& s) { return s.window_ns; }));
  field("compute_us", median_us([](const Split& s) { return s.compute_ns(); }));
  field("comm_us", median_us([](const Split& s) { return s.comm_ns(); }));
  add_parts(rank.total, median_us, field);
  field("each", Each{each, [](const auto& step, auto&& put) { add_counted_step(step, put); }});
}

void add_rank(const Trace& trace, const Summary& summary, const RankSummary& rank, auto&& field) {
  const Split& total = rank.total;
  const RankSummary* steps = steps_of(summary, rank);
  const bool has_steps = steps != nullptr && !steps->splits.empty();
  const RankSummary none;
  std::map<std::string, double> exposed_by_modes_us;
  for (const auto& [modes, ns] : total.exposed_ns_by_modes) exposed_by_modes_us[modes] = us(ns);
  const auto add_modes = [&](const auto& of, auto&& put) { add_communication(of, steps, &Split::modes, put); };
  const auto add_purposes = [&](const auto& of, auto&& put) { add_communication(of, steps, &Split::purposes, put); };
  field("rank", rank.rank);
  field("device", device_of(trace, rank.rank));
  field("comm_us", us(total.comm_ns()));
  field("exposed_us", us(total.exposed_ns()));
  field("compute_us", us(total.compute_ns()));
  field("overlap_pct", overlap_pct(total.hidden_ns, total.comm_ns()));
  field("span_us", us(total.window_ns));
  field("idle_us", us(total.idle_ns));
  field("comm_kernels", rank.comm_kernels);
  field("compute_kernels", rank.compute_kernels);
  field("exposed_wait_us", if_split(total, us(total.exposed_wait_ns)));
  field("exposed_transfer_us", if_split(total, us(total.exposed_transfer_ns())));
  field("exposed_unsplit_us", us(total.exposed_unsplit_ns));
  field("hidden_us", us(total.hidden_ns));
  field("compute_only_us", us(total.compute_only_ns));
  field("copy_only_us", us(total.copy_only_ns));
  field("fused_us", us(total.fused_ns));
  field("unclassified_us", us(total.unclassified_ns));
  field("exposed_by_modes_us", exposed_by_modes_us);
  field("modes", Each{total.modes, add_modes});
  field("purposes", Each{total.purposes, add_purposes});
  field("steps", Object{[&](auto&& put) { add_steps(has_steps ? *steps : none, put); }, !has_steps});
}

// Where the steps come from, and the typical one of the job.
void add_job_steps(const Summary& summary, auto&& field) {
  StepSource source = summary.has_steps ? StepSource::marks : StepSource::none;
  for (const RankSteps& rank : summary.steps.ranks) source = std::min(source, rank.source);
  const bool has_steps = summary.shows_steps();
  const std::string statistic = statistic_text(summary);
  const std::size_t count = summary.job_steps.size();
  const double step_us = typical_step_ns(summary) / 1e3;
  const double exposed_us = typical(summary, [](const Split& s) { return s.exposed_ns(); }) / 1e3;
  field("source", source);
  field("text", steps_text(summary));
  field("statistic", PresentIf{statistic, has_steps});
  field("count", PresentIf{count, has_steps});
  field("step_us", PresentIf{step_us, has_steps});
  field("exposed_us", PresentIf{exposed_us, has_steps});
  field("stalled", PresentIf{summary.stalled, has_steps});
}

void add_clock_pair(const ClockPair& pair, auto&& field) {
  const auto& [ranks, offset] = pair;
  const ClockDrift drift = offset.drift.value_or(ClockDrift{});
  const double low_us = us(offset.low_ns), high_us = us(offset.high_ns);
  field("pair", ranks);
  field("offset_low_us", NullIf{low_us, !offset.is_known()});
  field("offset_high_us", NullIf{high_us, !offset.is_known()});
  field("rests_on", offset.count);
  field("drift_ppm", NullIf{drift.ppm, !offset.drift});
  field("drift_low_ppm", NullIf{drift.low_ppm, !offset.drift});
  field("drift_high_ppm", NullIf{drift.high_ppm, !offset.drift});
}

}  // namespace

void visit_fields(Is<StalledStep> auto& stalled, auto&& field) {
  field("block", stalled.step.block);
  field("step", stalled.step.step);
  field("took_us", us(stalled.step.step_ns));
  const bool has_cause = !stalled.cause.empty();
  const double cause_us = us(stalled.cause_ns);
  field("range", PresentIf{stalled.cause, has_cause});
  field("range_us", PresentIf{cause_us, has_cause});
}

namespace {

struct Analysis {
  const Trace& trace;
  const Summary& summary;
  const std::vector<std::string>& files;
  std::span<const Breakdown> asked;
};

void visit_fields(Is<Analysis> auto& analysis, auto&& field) {
  const auto& [trace, summary, files, asked] = analysis;
  const auto add_each = [&](const RankSummary& rank, auto&& put) { add_rank(trace, summary, rank, put); };
  Json tables;
  for (const Breakdown by : asked) tables[std::string(to_string(by))] = table_json(breakdown(trace, summary, by));
  const bool has_tables = !asked.empty();
  field("cell", said(trace, "cell"));
  field("files", files);
  field("ranks", Each{summary.ranks, add_each});
  field("import", Object{[&](auto&& put) {
          put("events", trace.import.events);
          put("skipped", trace.import.skipped);
        }});
  field(
      "clock", Object{[&](auto&& put) {
        put("residual_us", us(summary.clock_residual_ns));
        put("lateness_us", us(summary.lateness_ns));
        put("pairs", Each{widest_clock_pairs(summary), [](const auto& pair, auto&& of) { add_clock_pair(pair, of); }});
      }});
  field("source", Object{[&](auto&& put) {
          for (const char* key : {"backend", "link", "clock", "format", "ranks", "work_before_its_launch"})
            put(key, said(trace, key));
        }});
  field("window_errors", summary.window_errors);
  field("steps", Object{[&](auto&& put) { add_job_steps(summary, put); }});
  field("late_rank", summary.waits ? summary.waits->late_rank() : std::nullopt);
  field("headline", Derived{[&] { return headline(trace, summary); }});
  field("advice", said(trace, "advice"));
  field("by", PresentIf{tables, has_tables});
}

}  // namespace

std::string analysis_json(const Trace& trace, const Summary& summary, const std::vector<std::string>& files,
                          std::span<const Breakdown> asked) {
  return json_text(fields::document(kAnalysisSchema, Analysis{trace, summary, files, asked}));
}

fields::Json analysis_json_schema() {
  const Trace trace;
  const Summary summary;
  const std::vector<std::string> files;
  return fields::document_schema(kAnalysisSchema, Analysis{trace, summary, files, {}});
}

}  // namespace underlap::analysis
