// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "platform/json.hpp"
#include "profiler/graph/details/details.hpp"

namespace underlap::graph {
namespace {

using analysis::BandwidthReport;
using analysis::BandwidthRow;
using analysis::Communications;
using analysis::IdleCause;
using analysis::IdleTime;
using analysis::kNumIdleCauses;
using analysis::LateArrival;
using analysis::LateRank;
using analysis::Match;
using analysis::MatchBasis;
using analysis::Matching;
using analysis::SlowedCompute;
using analysis::SlowedKernel;
using analysis::WaitReport;
using analysis::WaitTotals;

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostKernels = 100;
constexpr std::size_t kMostArrivals = 1000;

double us(std::int64_t ns) { return static_cast<double>(ns) / 1000.0; }
double us(double ns) { return ns / 1000.0; }

Json matching_json(const Communications& communications) {
  const Matching& matching = communications.matching;
  Json bases = Json::object();
  for (const MatchBasis basis : {MatchBasis::sequence, MatchBasis::order, MatchBasis::assumed}) {
    std::int64_t count = 0;
    for (const Match& match : matching.matches) count += match.basis == basis ? 1 : 0;
    bases[std::string(to_string(basis))] = count;
  }
  return {{"communications", matching.slices},
          {"matched", matching.matched_slices},
          {"matches", bases},
          {"assumed", matching.is_assumed()},
          {"unmatched", matching.unmatched},
          {"missing_ranks", communications.missing_ranks}};
}

template <class Key>
Json by_key_us(const std::map<Key, std::int64_t>& times) {
  Json json = Json::object();
  for (const auto& [key, ns] : times) {
    if constexpr (requires { to_string(key); })
      json[std::string(to_string(key))] = us(ns);
    else if constexpr (std::is_arithmetic_v<Key>)
      json[std::to_string(key)] = us(ns);
    else
      json[key] = us(ns);
  }
  return json;
}

Json totals_json(const WaitTotals& totals) {
  return {{"count", totals.count},
          {"wait_us", us(totals.wait_ns)},
          {"exposed_wait_us", us(totals.exposed_wait_ns)},
          {"transfer_us", us(totals.transfer_ns)},
          {"exposed_transfer_us", us(totals.exposed_transfer_ns)},
          {"unresolved_us", us(totals.unresolved_ns)},
          {"wait_for_transfer_us", us(totals.behind_transfer_ns)},
          {"wait_by_last_rank_us", by_key_us(totals.wait_ns_by_last_rank)},
          {"wait_by_blamed_rank_us", by_key_us(totals.wait_ns_by_blamed_rank)},
          {"wait_by_cause_us", by_key_us(totals.wait_ns_by_cause)}};
}

Json late_rank_json(const WaitReport& waits) {
  const std::optional<LateRank> late = waits.late_rank();
  if (!late) return nullptr;
  return {
      {"rank", late->rank}, {"wait_us", us(late->wait_ns)}, {"share", late->share}, {"cause", to_string(late->cause)}};
}

Json arrival_json(const Trace& trace, const Matching& matching, const LateArrival& arrival, std::int64_t begin_ns) {
  const Match& match = matching.matches[arrival.match];
  const Mode mode = trace.tag(match.members.front().slice).mode;
  return {{"collective", match.is_message() ? "message" : to_string(match.collective)},
          {"mode", mode == Mode::none ? "unattributed" : to_string(mode)},
          {"step", arrival.step < 0 ? Json(nullptr) : Json(arrival.step)},
          {"num_ranks", match.members.size()},
          {"at_us", us(arrival.last_ns - begin_ns)},
          {"skew_us", us(arrival.last_ns - arrival.first_ns)},
          {"transfer_us", us(arrival.transfer_ns)},
          {"waited_us", us(arrival.waited_ns)},
          {"last_rank", arrival.last_rank},
          {"cause", to_string(arrival.cause)},
          {"blamed_rank", arrival.blamed_rank < 0 ? Json(nullptr) : Json(arrival.blamed_rank)},
          {"cause_us", us(arrival.cause_ns)},
          {"kernel", arrival.kernel == kNoName ? Json(nullptr) : Json(std::string(name_of(arrival.kernel)))},
          {"hops", arrival.hops}};
}

// Those for which ranks waited longest, in order of time.
Json arrivals_json(const Trace& trace, const Matching& matching, const WaitReport& waits) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < waits.arrivals.size(); ++i) chosen.push_back(i);
  if (chosen.size() > kMostArrivals) {
    std::ranges::stable_sort(chosen, {}, [&](std::size_t i) { return -waits.arrivals[i].waited_ns; });
    chosen.resize(kMostArrivals);
    std::ranges::sort(chosen);
  }
  Json json = Json::array();
  for (const std::size_t i : chosen)
    json.push_back(arrival_json(trace, matching, waits.arrivals[i], waits.arrivals.front().first_ns));
  return json;
}

Json waits_json(const Trace& trace, const Matching& matching, const WaitReport& waits) {
  Json ranks = Json::object(), modes = Json::object(), steps = Json::object();
  for (const auto& [rank, totals] : waits.ranks) ranks[std::to_string(rank)] = totals_json(totals);
  for (const auto& [mode, totals] : waits.modes) modes[mode] = totals_json(totals);
  for (const auto& [step, totals] : waits.steps)
    if (step >= 0) steps[std::to_string(step)] = totals_json(totals);
  return {{"residual_us", waits.residual_ns ? Json(us(*waits.residual_ns)) : Json(nullptr)},
          {"least_transfer_us", us(waits.least_transfer_ns)},
          {"late_rank", late_rank_json(waits)},
          {"total", totals_json(waits.total)},
          {"ranks", ranks},
          {"modes", modes},
          {"steps", steps},
          {"arrivals", arrivals_json(trace, matching, waits)}};
}

Json bandwidth_json(const BandwidthReport& report) {
  Json rows = Json::array();
  for (const BandwidthRow& row : report.rows) {
    const bool split = row.transfer.has_value(), has_ranks = row.num_ranks > 0;
    rows.push_back(
        {{"collective", to_string(row.collective)},
         {"num_ranks", row.num_ranks},
         {"least_bytes", row.least_bytes},
         {"count", row.count},
         {"bytes", row.median_bytes},
         {"time_us", us(row.median_ns)},
         {"algbw_gb_per_s", row.whole.algbw_gb_per_s},
         {"busbw_gb_per_s", has_ranks ? Json(row.whole.busbw_gb_per_s) : Json(nullptr)},
         {"transfers", row.transfers},
         {"transfer_us", split ? Json(us(*row.median_transfer_ns)) : Json(nullptr)},
         {"transfer_algbw_gb_per_s", split ? Json(row.transfer->algbw_gb_per_s) : Json(nullptr)},
         {"transfer_busbw_gb_per_s", split && has_ranks ? Json(row.transfer->busbw_gb_per_s) : Json(nullptr)}});
  }
  return {{"rows", rows}, {"without_bytes", report.without_bytes}, {"of_several", report.of_several}};
}

Json slowed_json(const SlowedCompute& slowed) {
  Json kernels = Json::array();
  for (std::size_t i = 0; i < std::min(slowed.kernels.size(), kMostKernels); ++i) {
    const SlowedKernel& kernel = slowed.kernels[i];
    const bool is_known = kernel.shape.grid[0] != 0;
    kernels.push_back({{"kernel", std::string(name_of(kernel.name))},
                       {"purpose", std::string(name_of(kernel.purpose))},
                       {"grid", is_known ? Json(kernel.shape.grid) : Json(nullptr)},
                       {"block", is_known ? Json(kernel.shape.block) : Json(nullptr)},
                       {"beside", kernel.beside},
                       {"alone", kernel.alone},
                       {"median_beside_us", us(kernel.median_beside_ns)},
                       {"median_alone_us", us(kernel.median_alone_ns)},
                       {"slowdown", kernel.slowdown()},
                       {"cost_us", us(kernel.cost_ns)}});
  }
  return {{"cost_us", us(slowed.cost_ns)},
          {"beside_us", us(slowed.beside_ns)},
          {"compared_us", us(slowed.compared_ns)},
          {"compared_share", slowed.beside_ns == 0 ? Json(nullptr) : Json(slowed.compared_share())},
          {"partly_beside_us", us(slowed.partly_beside_ns)},
          {"unknown_shape_us", us(slowed.unknown_shape_ns)},
          {"num_kernels", slowed.kernels.size()},
          {"kernels", kernels}};
}

Json idle_json(const std::map<std::int32_t, IdleTime>& ranks) {
  Json json = Json::array();
  for (const auto& [rank, idle] : ranks) {
    Json row{{"rank", rank}, {"idle_us", us(idle.total_ns())}};
    for (std::size_t i = 0; i < kNumIdleCauses; ++i)
      row[std::string(to_string(static_cast<IdleCause>(i))) + "_us"] = us(idle.ns[i]);
    row["gaps"] = idle.gaps;
    row["gaps_with_call"] = idle.gaps_with_call;
    json.push_back(row);
  }
  return json;
}

Json path_json(const Details& details) {
  const CriticalPath& path = details.path;
  return {{"block", details.path_step ? Json(details.path_step->block) : Json(nullptr)},
          {"step", details.path_step ? Json(details.path_step->step) : Json(nullptr)},
          {"length_us", us(path.span.length())},
          {"kinds", by_key_us(path.kinds)},
          {"modes", by_key_us(path.modes)},
          {"ranks", by_key_us(path.ranks)},
          {"pieces", path.pieces.size()},
          {"rank_changes", path.num_changes},
          {"guessed_edges", path.guessed_edges}};
}

Json replay_json(const ReplayCheck& check) {
  Json edges = Json::object(), guessed = Json::object();
  for (std::size_t i = 0; i < kNumEdgeKinds; ++i) {
    const std::string kind(to_string(static_cast<EdgeKind>(i)));
    if (check.edges[i] > 0) edges[kind] = check.edges[i];
    if (check.guessed[i] > 0) guessed[kind] = check.guessed[i];
  }
  return {{"measured_us", us(check.measured_ns)},
          {"mean_gaps_us", us(check.mean_ns)},
          {"zero_gaps_us", us(check.zero_ns)},
          {"error", check.error()},
          {"unexplained_share", check.unexplained()},
          {"what_if_withheld", check.is_too_large()},
          {"edges", edges},
          {"guessed", guessed},
          {"dropped_edges", check.dropped_edges}};
}

Json what_if_json(const std::vector<WhatIf>& answers) {
  Json json = Json::array();
  for (const WhatIf& answer : answers)
    json.push_back({{"name", answer.name},
                    {"of", answer.is_step ? "median step" : "trace"},
                    {"before_us", us(answer.before_ns)},
                    {"after_us", us(answer.after_ns)},
                    {"saved_us", us(answer.saved_ns())},
                    {"saved_without_guesses_us", us(answer.saved_unguessed_ns())},
                    {"assumption", answer.assumption}});
  return json;
}

}  // namespace

std::string with_details(const std::string& analysis_json, const Trace& trace, const Communications& communications,
                         const Details& details) {
  Json json = parse_json(analysis_json);
  json["matching"] = matching_json(communications);
  json["waits"] = waits_json(trace, communications.matching, details.waits);
  json["bandwidth"] = bandwidth_json(details.bandwidth);
  json["slowed_compute"] = slowed_json(details.slowed);
  json["idle"] = idle_json(details.idle);
  json["critical_path"] = path_json(details);
  json["replay"] = replay_json(details.replay);
  json["what_if"] = what_if_json(details.what_if);
  return json_text(json);
}

}  // namespace underlap::graph
