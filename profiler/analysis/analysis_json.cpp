// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "platform/json.hpp"
#include "profiler/analysis/analysis.hpp"
#include "profiler/analysis/headline.hpp"

namespace underlap::analysis {
namespace {

using Json = nlohmann::ordered_json;

double us(std::int64_t ns) { return static_cast<double>(ns) / 1000.0; }

Json overlap_pct(std::int64_t hidden_ns, std::int64_t comm_ns) {
  if (comm_ns == 0) return nullptr;
  return 100.0 * static_cast<double>(hidden_ns) / static_cast<double>(comm_ns);
}

// Where nothing could be split, 0 would claim that nobody waited.
Json part_us(std::int64_t part_ns, std::int64_t unsplit_ns, std::int64_t exposed_ns) {
  return is_split(unsplit_ns, exposed_ns) ? Json(us(part_ns)) : Json(nullptr);
}

using SplitsByMode = std::map<std::string, CommunicationSplit>;

// What a median step has of one mode or purpose; `total` is the sum of it over the windows.
Json communication_steps_json(const RankSummary& rank, const SplitsByMode Split::*kind, const std::string& key,
                              const CommunicationSplit& total) {
  const auto median = [&](auto CommunicationSplit::*part) { return typical(rank, part_of(kind, key, part)); };
  const auto median_us = [&](auto CommunicationSplit::*part) { return median(part) / 1e3; };
  Json json{{"comm_us", median_us(&CommunicationSplit::comm_ns)},
            {"exposed_us", median_us(&CommunicationSplit::exposed_ns)},
            {"hidden_us", median_us(&CommunicationSplit::hidden_ns)},
            {"exposed_wait_us", median_us(&CommunicationSplit::exposed_wait_ns)},
            {"pipeline_dependency_us", median_us(&CommunicationSplit::pipeline_dependency_ns)},
            {"exposed_transfer_us", median_us(&CommunicationSplit::exposed_transfer_ns)},
            {"bytes_on_wire", median(&CommunicationSplit::bytes_on_wire)},
            {"count", median(&CommunicationSplit::count)}};
  if (total.without_bytes > 0) json["bytes_on_wire"] = nullptr;
  if (!is_split(total.exposed_unsplit_ns, total.exposed_ns))
    for (const char* part : {"exposed_wait_us", "pipeline_dependency_us", "exposed_transfer_us"}) json[part] = nullptr;
  return json;
}

// `steps`: the rank over its steps, nullptr where none are known.
Json communication_json(const RankSummary& rank, const RankSummary* steps, SplitsByMode Split::*kind) {
  Json json = Json::object();
  for (const auto& [key, split] : rank.total.*kind) {
    const auto of_steps = [&]() -> Json {
      if (steps == nullptr) return nullptr;
      const auto total = (steps->total.*kind).find(key);
      return communication_steps_json(*steps, kind, key,
                                      total == (steps->total.*kind).end() ? CommunicationSplit{} : total->second);
    };
    json[key] = {
        {"comm_us", us(split.comm_ns)},
        {"exposed_us", us(split.exposed_ns)},
        {"hidden_us", us(split.hidden_ns)},
        {"overlap_pct", overlap_pct(split.hidden_ns, split.comm_ns)},
        {"exposed_wait_us", part_us(split.exposed_wait_ns, split.exposed_unsplit_ns, split.exposed_ns)},
        {"pipeline_dependency_us", part_us(split.pipeline_dependency_ns, split.exposed_unsplit_ns, split.exposed_ns)},
        {"exposed_transfer_us", part_us(split.exposed_transfer_ns, split.exposed_unsplit_ns, split.exposed_ns)},
        {"exposed_unsplit_us", us(split.exposed_unsplit_ns)},
        {"bytes_on_wire", split.without_bytes > 0 ? Json(nullptr) : Json(split.bytes_on_wire)},
        {"count", split.count},
        {"steps", of_steps()}};
  }
  return json;
}

// Each counted step by itself.
Json each_step_json(const RankSummary& rank) {
  Json steps = Json::array();
  for (std::size_t i = 0; i < rank.windows.size(); ++i) {
    const Split& s = rank.splits[i];
    steps.push_back({{"block", rank.windows[i].block},
                     {"step", rank.windows[i].step},
                     {"window_us", us(s.window_ns)},
                     {"compute_only_us", us(s.compute_only_ns)},
                     {"hidden_us", us(s.hidden_ns)},
                     {"exposed_us", us(s.exposed_ns())},
                     {"exposed_wait_us", part_us(s.exposed_wait_ns, s.exposed_unsplit_ns, s.exposed_ns())},
                     {"copy_only_us", us(s.copy_only_ns)},
                     {"idle_us", us(s.idle_ns)}});
  }
  return steps;
}

Json steps_json(const RankSummary* steps) {
  if (steps == nullptr || steps->splits.empty()) return nullptr;
  const RankSummary& rank = *steps;
  const auto median_us = [&](auto part) { return typical(rank, part) / 1e3; };
  const Split& total = rank.total;
  return {{"count", rank.splits.size()},
          {"window_us", median_us([](const Split& s) { return s.window_ns; })},
          {"compute_us", median_us([](const Split& s) { return s.compute_ns(); })},
          {"comm_us", median_us([](const Split& s) { return s.comm_ns(); })},
          {"compute_only_us", median_us([](const Split& s) { return s.compute_only_ns; })},
          {"hidden_us", median_us([](const Split& s) { return s.hidden_ns; })},
          {"exposed_us", median_us([](const Split& s) { return s.exposed_ns(); })},
          {"exposed_wait_us", is_split(total.exposed_unsplit_ns, total.exposed_ns())
                                  ? Json(median_us([](const Split& s) { return s.exposed_wait_ns; }))
                                  : Json(nullptr)},
          {"copy_only_us", median_us([](const Split& s) { return s.copy_only_ns; })},
          {"idle_us", median_us([](const Split& s) { return s.idle_ns; })},
          {"each", each_step_json(rank)}};
}

Json exposed_by_modes_json(const Split& total) {
  Json json = Json::object();
  for (const auto& [modes, ns] : total.exposed_ns_by_modes) json[modes] = us(ns);
  return json;
}

// The rank over its steps; nullptr where none are known.
const RankSummary* steps_of(const Summary& summary, const RankSummary& rank) {
  if (summary.has_steps) return &rank;
  const auto found = std::ranges::find(summary.steps_of_ranks, rank.rank, &RankSummary::rank);
  return found == summary.steps_of_ranks.end() ? nullptr : &*found;
}

// A rank drives one device; the first that it sees where the trace does not say.
std::int32_t device_of(const Trace& trace, std::int32_t rank) {
  for (const Track& track : trace.tracks)
    if (track.rank == rank && track.device >= 0) return track.device;
  return 0;
}

Json rank_json(const Trace& trace, const Summary& summary, const RankSummary& rank) {
  const Split& total = rank.total;
  const RankSummary* steps = steps_of(summary, rank);
  return {{"rank", rank.rank},
          {"device", device_of(trace, rank.rank)},
          {"comm_us", us(total.comm_ns())},
          {"exposed_us", us(total.exposed_ns())},
          {"compute_us", us(total.compute_ns())},
          {"overlap_pct", overlap_pct(total.hidden_ns, total.comm_ns())},
          {"span_us", us(total.window_ns)},
          {"idle_us", us(total.idle_ns)},
          {"comm_kernels", rank.comm_kernels},
          {"compute_kernels", rank.compute_kernels},
          {"exposed_wait_us", part_us(total.exposed_wait_ns, total.exposed_unsplit_ns, total.exposed_ns())},
          {"exposed_transfer_us", part_us(total.exposed_transfer_ns(), total.exposed_unsplit_ns, total.exposed_ns())},
          {"exposed_unsplit_us", us(total.exposed_unsplit_ns)},
          {"hidden_us", us(total.hidden_ns)},
          {"compute_only_us", us(total.compute_only_ns)},
          {"copy_only_us", us(total.copy_only_ns)},
          {"exposed_by_modes_us", exposed_by_modes_json(total)},
          {"modes", communication_json(rank, steps, &Split::modes)},
          {"purposes", communication_json(rank, steps, &Split::purposes)},
          {"steps", steps_json(steps)}};
}

// What the trace says of itself under `key`; null: nothing.
Json said(const Trace& trace, const char* key) {
  const auto found = trace.metadata.find(key);
  return found == trace.metadata.end() ? Json(nullptr) : Json(found->second);
}

Json source_json(const Trace& trace) {
  Json json = Json::object();
  for (const char* key : {"backend", "link", "clock", "format", "ranks", "work_before_its_launch"})
    json[key] = said(trace, key);
  return json;
}

// Where the steps come from, and the typical one of the job.
Json steps_source_json(const Summary& summary) {
  StepSource source = summary.has_steps ? StepSource::marks : StepSource::none;
  for (const RankSteps& rank : summary.steps.ranks) source = std::min(source, rank.source);
  Json json{{"source", to_string(source)}, {"text", steps_text(summary)}};
  if (!summary.shows_steps()) return json;
  json["statistic"] = statistic_text(summary);
  json["count"] = summary.job_steps.size();
  json["step_us"] = typical_step_ns(summary) / 1e3;
  json["exposed_us"] = typical(summary, [](const Split& s) { return s.exposed_ns(); }) / 1e3;
  json["stalled"] = Json::array();
  for (const StalledStep& stalled : summary.stalled)
    json["stalled"].push_back(
        {{"block", stalled.step.block}, {"step", stalled.step.step}, {"took_us", us(stalled.step.step_ns)}});
  return json;
}

// Those of the widest intervals.
Json clock_pairs_json(const Summary& summary) {
  constexpr std::size_t kMostPairs = 100;
  std::vector<std::pair<std::pair<std::int32_t, std::int32_t>, ClockOffset>> pairs(summary.clock_pairs.begin(),
                                                                                   summary.clock_pairs.end());
  std::ranges::stable_sort(pairs, {},
                           [](const auto& pair) { return std::pair(pair.second.is_known(), -pair.second.width_ns()); });
  Json json = Json::array();
  for (const auto& [ranks, offset] : pairs) {
    if (json.size() == kMostPairs) break;
    const auto known_us = [&](std::int64_t ns) { return offset.is_known() ? Json(us(ns)) : Json(nullptr); };
    const auto drift = [&](double ClockDrift::*part) {
      return offset.drift ? Json((*offset.drift).*part) : Json(nullptr);
    };
    json.push_back({{"pair", {ranks.first, ranks.second}},
                    {"offset_low_us", known_us(offset.low_ns)},
                    {"offset_high_us", known_us(offset.high_ns)},
                    {"rests_on", offset.count},
                    {"drift_ppm", drift(&ClockDrift::ppm)},
                    {"drift_low_ppm", drift(&ClockDrift::low_ppm)},
                    {"drift_high_ppm", drift(&ClockDrift::high_ppm)}});
  }
  return json;
}

// The rank that the others waited for.
Json late_rank_json(const Summary& summary) {
  const auto late = summary.waits ? summary.waits->late_rank() : std::nullopt;
  if (!late) return nullptr;
  return {
      {"rank", late->rank}, {"wait_us", us(late->wait_ns)}, {"share", late->share}, {"cause", to_string(late->cause)}};
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

}  // namespace

std::string analysis_json(const Trace& trace, const Summary& summary, const std::vector<std::string>& files,
                          std::span<const Breakdown> asked) {
  Json ranks = Json::array();
  for (const RankSummary& rank : summary.ranks) ranks.push_back(rank_json(trace, summary, rank));
  const auto us_or_null = [](const std::optional<std::int64_t>& ns) { return ns ? Json(us(*ns)) : Json(nullptr); };
  Json json;
  json["schema"] = "underlap.analysis/1";
  json["cell"] = said(trace, "cell");
  json["files"] = files;
  json["ranks"] = std::move(ranks);
  json["import"] = {{"events", trace.import.events}, {"skipped", trace.import.skipped}};
  json["clock"] = {{"residual_us", us_or_null(summary.clock_residual_ns)},
                   {"lateness_us", us_or_null(summary.lateness_ns)},
                   {"pairs", clock_pairs_json(summary)}};
  json["source"] = source_json(trace);
  json["window_errors"] = summary.window_errors;
  json["steps"] = steps_source_json(summary);
  json["late_rank"] = late_rank_json(summary);
  json["headline"] = headline(trace, summary);
  json["advice"] = said(trace, "advice");
  for (const Breakdown by : asked) json["by"][std::string(to_string(by))] = table_json(breakdown(trace, summary, by));
  return json_text(json);
}

}  // namespace underlap::analysis
