// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/fields/json_schema.hpp"
#include "profiler/analysis/mode_name.hpp"
#include "profiler/graph/details/details.hpp"

namespace underlap::graph {
namespace {

using analysis::BandwidthRow, analysis::Communications, analysis::IdleCause, analysis::IdleTime;
using analysis::kNumIdleCauses, analysis::LateArrival, analysis::Match, analysis::MatchBasis, analysis::Matching;
using analysis::SlowedCompute, analysis::SlowedKernel, analysis::Summary, analysis::WaitReport, analysis::WaitTotals;

using fields::Derived, fields::Each, fields::Is, fields::Object;
using Json = fields::Json;

constexpr std::size_t kMostKernels = 100;
constexpr std::size_t kMostArrivals = 1000;

double us(std::int64_t ns) { return static_cast<double>(ns) / 1000.0; }
double us(double ns) { return ns / 1000.0; }

template <class Key>
std::map<Key, double> us(const std::map<Key, std::int64_t>& times) {
  std::map<Key, double> result;
  for (const auto& [key, ns] : times) result[key] = us(ns);
  return result;
}

template <class T>
std::optional<T> if_known(bool is_known, const T& value) {
  return is_known ? std::optional(value) : std::nullopt;
}

void add_matching(const Communications& communications, auto&& field) {
  const Matching& matching = communications.matching;
  std::map<MatchBasis, std::int64_t> bases{{MatchBasis::sequence, 0}, {MatchBasis::order, 0}, {MatchBasis::assumed, 0}};
  for (const Match& match : matching.matches) ++bases[match.basis];
  field("communications", matching.slices);
  field("matched", matching.matched_slices);
  field("partly_matched", matching.partly_matched_slices);
  field("matches", bases);
  field("assumed", matching.is_assumed());
  field("unmatched", matching.unmatched);
  field("missing_ranks", communications.missing_ranks);
}

void add_totals(const WaitTotals& totals, auto&& field) {
  field("count", totals.count);
  field("wait_us", us(totals.wait_ns));
  field("exposed_wait_us", us(totals.exposed_wait_ns));
  field("transfer_us", us(totals.transfer_ns));
  field("exposed_transfer_us", us(totals.exposed_transfer_ns));
  field("unresolved_us", us(totals.unresolved_ns));
  field("wait_for_transfer_us", us(totals.behind_transfer_ns));
  field("wait_by_last_rank_us", us(totals.wait_ns_by_last_rank));
  field("wait_by_blamed_rank_us", us(totals.wait_ns_by_blamed_rank));
  field("wait_by_cause_us", us(totals.wait_ns_by_cause));
}

// A schema is made of an arrival that is in no match: what follows from its match is derived.
void add_arrival(const Trace& trace, const Matching& matching, const WaitReport& waits, const LateArrival& arrival,
                 auto&& field) {
  const auto match = [&]() -> const Match& { return matching.matches[arrival.match]; };
  field("collective", Derived{[&] { return match().is_message() ? "message" : to_string(match().collective); }});
  field("mode", Derived{[&] { return analysis::mode_name(trace.tag(match().members.front().slice).mode); }});
  field("step", if_known(arrival.step >= 0, arrival.step));
  field("num_ranks", Derived{[&] { return match().members.size(); }});
  field("at_us", Derived{[&] { return us(arrival.last_ns - waits.arrivals.front().first_ns); }});
  field("skew_us", us(arrival.last_ns - arrival.first_ns));
  field("transfer_us", us(arrival.transfer_ns));
  field("waited_us", us(arrival.waited_ns));
  field("last_rank", arrival.last_rank);
  field("cause", arrival.cause);
  field("blamed_rank", if_known(arrival.blamed_rank >= 0, arrival.blamed_rank));
  field("cause_us", us(arrival.cause_ns));
  field("kernel", arrival.kernel == kNoName ? std::nullopt : std::optional(name_of(arrival.kernel)));
  field("hops", arrival.hops);
}

// Those for which ranks waited longest, in order of time.
std::vector<LateArrival> chosen_arrivals(const WaitReport& waits) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < waits.arrivals.size(); ++i) chosen.push_back(i);
  std::ranges::stable_sort(chosen, {}, [&](std::size_t i) { return -waits.arrivals[i].waited_ns; });
  chosen.resize(std::min(chosen.size(), kMostArrivals));
  std::ranges::sort(chosen);
  std::vector<LateArrival> arrivals;
  for (const std::size_t i : chosen) arrivals.push_back(waits.arrivals[i]);
  return arrivals;
}

void add_waits(const Trace& trace, const Matching& matching, const WaitReport& waits, auto&& field) {
  const auto add_each = [](const auto& of, auto&& put) { add_totals(of.second, put); };
  std::map<std::int32_t, WaitTotals> steps = waits.steps;
  steps.erase(-1);
  field("residual_us", waits.residual_ns ? std::optional(us(*waits.residual_ns)) : std::nullopt);
  field("least_transfer_us", us(waits.least_transfer_ns));
  field("late_rank", waits.late_rank());
  field("total", Object{[&](auto&& put) { add_totals(waits.total, put); }});
  field("ranks", Each{waits.ranks, add_each});
  field("modes", Each{waits.modes, add_each});
  field("steps", Each{steps, add_each});
  field("arrivals", Each{chosen_arrivals(waits), [&](const LateArrival& arrival, auto&& put) {
                           add_arrival(trace, matching, waits, arrival, put);
                         }});
}

void add_bandwidth(const BandwidthRow& row, auto&& field) {
  const bool has_ranks = row.num_ranks > 0, is_split = row.transfer.has_value();
  const analysis::Bandwidth transfer = row.transfer.value_or(analysis::Bandwidth{});
  field("collective", row.collective);
  field("num_ranks", row.num_ranks);
  field("least_bytes", row.least_bytes);
  field("count", row.count);
  field("bytes", row.median_bytes);
  field("time_us", us(row.median_ns));
  field("algbw_gb_per_s", row.whole.algbw_gb_per_s);
  field("busbw_gb_per_s", if_known(has_ranks, row.whole.busbw_gb_per_s));
  field("transfers", row.transfers);
  field("transfer_us", if_known(is_split, us(row.median_transfer_ns.value_or(0))));
  field("transfer_algbw_gb_per_s", if_known(is_split, transfer.algbw_gb_per_s));
  field("transfer_busbw_gb_per_s", if_known(is_split && has_ranks, transfer.busbw_gb_per_s));
}

void add_slowed_kernel(const SlowedKernel& kernel, auto&& field) {
  const bool is_known = kernel.shape.grid[0] != 0;
  field("kernel", Derived{[&] { return name_of(kernel.name); }});
  field("purpose", Derived{[&] { return name_of(kernel.purpose); }});
  field("grid", if_known(is_known, kernel.shape.grid));
  field("block", if_known(is_known, kernel.shape.block));
  field("beside", kernel.concurrent);
  field("alone", kernel.alone);
  field("median_beside_us", us(kernel.median_concurrent_ns));
  field("median_alone_us", us(kernel.median_alone_ns));
  field("slowdown", kernel.slowdown());
  field("cost_us", us(kernel.cost_ns));
}

void add_slowed(const SlowedCompute& slowed, auto&& field) {
  const std::span kernels(slowed.kernels);
  field("cost_us", us(slowed.cost_ns));
  field("beside_us", us(slowed.concurrent_ns));
  field("compared_us", us(slowed.compared_ns));
  field("compared_share", if_known(slowed.concurrent_ns != 0, slowed.compared_share()));
  field("partly_beside_us", us(slowed.partly_concurrent_ns));
  field("unknown_shape_us", us(slowed.unknown_shape_ns));
  field("num_kernels", slowed.kernels.size());
  field("kernels", Each{kernels.first(std::min(kernels.size(), kMostKernels)),
                        [](const SlowedKernel& kernel, auto&& put) { add_slowed_kernel(kernel, put); }});
}

void add_idle(const std::pair<std::int32_t, IdleTime>& of, auto&& field) {
  const auto& [rank, idle] = of;
  field("rank", rank);
  field("idle_us", us(idle.total_ns()));
  for (std::size_t i = 0; i < kNumIdleCauses; ++i)
    field((std::string(to_string(static_cast<IdleCause>(i))) + "_us").c_str(), us(idle.ns[i]));
  field("gaps", idle.gaps);
  field("gaps_with_call", idle.gaps_with_call);
}

void add_path(const Details& details, auto&& field) {
  const CriticalPath& path = details.path;
  const analysis::Window step = details.path_step.value_or(analysis::Window{});
  field("block", if_known(details.path_step.has_value(), step.block));
  field("step", if_known(details.path_step.has_value(), step.step));
  field("length_us", us(path.span.length()));
  field("kinds", us(path.kinds));
  field("modes", us(path.modes));
  field("ranks", us(path.ranks));
  field("pieces", path.pieces.size());
  field("rank_changes", path.num_changes);
  field("guessed_edges", path.guessed_edges);
}

void add_replay(const ReplayCheck& check, auto&& field) {
  std::map<EdgeKind, std::int64_t> edges, guessed;
  for (std::size_t i = 0; i < kNumEdgeKinds; ++i) {
    if (check.edges[i] > 0) edges[static_cast<EdgeKind>(i)] = check.edges[i];
    if (check.guessed[i] > 0) guessed[static_cast<EdgeKind>(i)] = check.guessed[i];
  }
  field("measured_us", us(check.measured_ns));
  field("mean_gaps_us", us(check.mean_ns));
  field("zero_gaps_us", us(check.zero_ns));
  field("error", check.error());
  field("unexplained_share", check.unexplained());
  field("what_if_withheld", check.is_too_large());
  field("edges", edges);
  field("guessed", guessed);
  field("dropped_edges", check.dropped_edges);
}

void add_what_if(const WhatIf& answer, auto&& field) {
  field("name", answer.name);
  field("of", std::string_view(answer.is_step ? "median step" : "trace"));
  field("before_us", us(answer.before_ns));
  field("after_us", us(answer.after_ns));
  field("saved_us", us(answer.saved_ns()));
  field("saved_without_guesses_us", us(answer.saved_unguessed_ns()));
  field("assumption", answer.assumption);
}

std::optional<std::string_view> known(NameId name) {
  return name == kNoName ? std::nullopt : std::optional(name_of(name));
}

void add_reason(const analysis::ExposureReasonSum& sum, auto&& field) {
  field("mode", analysis::mode_name(sum.mode));
  field("purpose", name_of(sum.purpose));
  field("reason", sum.reason);
  field("waits_for", known(sum.waits_for));
  field("holds_up", known(sum.holds_up));
  field("guessed", sum.is_guessed);
  field("count", sum.count);
  field("exposed_us", us(sum.exposed_ns));
}

struct AllDetails {
  const Trace& trace;
  const Summary& summary;
  const Details& details;
};

void visit_fields(Is<AllDetails> auto& all, auto&& field) {
  const auto& [trace, summary, details] = all;
  field("matching", Object{[&](auto&& put) { add_matching(*summary.communications, put); }});
  field("waits", Object{[&](auto&& put) { add_waits(trace, summary.communications->matching, details.waits, put); }});
  field("bandwidth", Object{[&](auto&& put) {
          put("rows", Each{details.bandwidth.rows, [](const auto& row, auto&& of) { add_bandwidth(row, of); }});
          put("without_bytes", details.bandwidth.without_bytes);
          put("of_several", details.bandwidth.of_several);
        }});
  field("slowed_compute", Object{[&](auto&& put) { add_slowed(details.slowed, put); }});
  field("exposed_because", Each{summary.reasons.sums, [](const auto& sum, auto&& put) { add_reason(sum, put); }});
  const std::vector<std::pair<std::int32_t, IdleTime>> idle(details.idle.begin(), details.idle.end());
  field("idle", Each{idle, [](const auto& of, auto&& put) { add_idle(of, put); }});
  field("critical_path", Object{[&](auto&& put) { add_path(details, put); }});
  field("replay", Object{[&](auto&& put) { add_replay(details.replay, put); }});
  field("what_if", Each{details.what_if, [](const WhatIf& answer, auto&& put) { add_what_if(answer, put); }});
}

}  // namespace

std::string with_details(const std::string& analysis_json, const Trace& trace, const Summary& summary,
                         const Details& details) {
  Json json = parse_json(analysis_json);
  json.update(fields::encode(AllDetails{trace, summary, details}));
  return json_text(json);
}

void add_details_schema(Json& analysis_schema) {
  const Trace trace;
  Summary summary;
  summary.communications.emplace();
  const Details details;
  fields::add_optional_fields(analysis_schema, AllDetails{trace, summary, details});
}

}  // namespace underlap::graph
