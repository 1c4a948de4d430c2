// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "platform/json.hpp"
#include "profiler/analysis/analysis.hpp"

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
  if (unsplit_ns > 0 && unsplit_ns == exposed_ns) return nullptr;
  return us(part_ns);
}

Json communication_json(const std::map<std::string, CommunicationSplit>& splits) {
  Json json = Json::object();
  for (const auto& [key, split] : splits)
    json[key] = {
        {"comm_us", us(split.comm_ns)},
        {"exposed_us", us(split.exposed_ns)},
        {"hidden_us", us(split.hidden_ns)},
        {"overlap_pct", overlap_pct(split.hidden_ns, split.comm_ns)},
        {"exposed_wait_us", part_us(split.exposed_wait_ns, split.exposed_unsplit_ns, split.exposed_ns)},
        {"pipeline_dependency_us", part_us(split.pipeline_dependency_ns, split.exposed_unsplit_ns, split.exposed_ns)},
        {"exposed_transfer_us", part_us(split.exposed_transfer_ns, split.exposed_unsplit_ns, split.exposed_ns)},
        {"exposed_unsplit_us", us(split.exposed_unsplit_ns)},
        {"bytes_on_wire", split.bytes_on_wire},
        {"count", split.count}};
  return json;
}

double median_us(const std::vector<Split>& splits, const std::function<std::int64_t(const Split&)>& part) {
  std::vector<std::int64_t> values;
  for (const Split& split : splits) values.push_back(part(split));
  std::sort(values.begin(), values.end());
  const std::size_t upper = values.size() / 2;
  const std::size_t lower = (values.size() - 1) / 2;
  return (us(values[lower]) + us(values[upper])) / 2;
}

Json steps_json(const Summary& summary, const RankSummary& rank) {
  if (!summary.has_steps || rank.splits.empty()) return nullptr;
  const auto median = [&](auto part) { return median_us(rank.splits, part); };
  return {{"count", rank.splits.size()},
          {"window_us", median([](const Split& s) { return s.window_ns; })},
          {"compute_only_us", median([](const Split& s) { return s.compute_only_ns; })},
          {"hidden_us", median([](const Split& s) { return s.hidden_ns; })},
          {"exposed_us", median([](const Split& s) { return s.exposed_ns(); })},
          {"exposed_wait_us",
           part_us(rank.total.exposed_wait_ns, rank.total.exposed_unsplit_ns, rank.total.exposed_ns()).is_null()
               ? Json(nullptr)
               : Json(median([](const Split& s) { return s.exposed_wait_ns; }))},
          {"copy_only_us", median([](const Split& s) { return s.copy_only_ns; })},
          {"idle_us", median([](const Split& s) { return s.idle_ns; })}};
}

Json exposed_by_modes_json(const Split& total) {
  Json json = Json::object();
  for (const auto& [modes, ns] : total.exposed_ns_by_modes) json[modes] = us(ns);
  return json;
}

Json rank_json(const Summary& summary, const RankSummary& rank) {
  const Split& total = rank.total;
  return {{"rank", rank.rank},
          {"device", 0},  // a rank drives one device, the first that it sees
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
          {"modes", communication_json(total.modes)},
          {"purposes", communication_json(total.purposes)},
          {"steps", steps_json(summary, rank)}};
}

Json source_json(const Trace& trace) {
  Json json = Json::object();
  for (const char* key : {"backend", "link", "clock"}) {
    const auto found = trace.metadata.find(key);
    json[key] = found == trace.metadata.end() ? Json(nullptr) : Json(found->second);
  }
  return json;
}

}  // namespace

std::string analysis_json(const Trace& trace, const Summary& summary) {
  Json ranks = Json::array();
  for (const RankSummary& rank : summary.ranks) ranks.push_back(rank_json(summary, rank));
  const auto us_or_null = [](const std::optional<std::int64_t>& ns) { return ns ? Json(us(*ns)) : Json(nullptr); };
  Json json;
  json["schema"] = "underlap.analysis/1";
  json["ranks"] = std::move(ranks);
  json["import"] = {{"events", trace.import.events}, {"skipped", trace.import.skipped}};
  json["clock"] = {{"residual_us", us_or_null(summary.clock_residual_ns)},
                   {"lateness_us", us_or_null(summary.lateness_ns)}};
  json["source"] = source_json(trace);
  json["window_errors"] = summary.window_errors;
  return json_text(json);
}

}  // namespace underlap::analysis
