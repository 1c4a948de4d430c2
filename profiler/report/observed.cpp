// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/observed.hpp"

#include <fmt/format.h>

#include "platform/fields/json_schema.hpp"
#include "profiler/trace/enum_names.hpp"

namespace underlap::report {
namespace {

using analysis::ExposedCause, analysis::OverlapEvidence;
using fields::JsonText;
using Json = fields::Json;

constexpr double kObservedPct = 50;
constexpr double kPartlyPct = 5;
constexpr EnumNames<ObservedStatus, 4> kStatuses{{"observed", "partly", "not_observed", "not_in_trace"}};

double us(std::int64_t ns) { return static_cast<double>(ns) / 1e3; }

std::string cause_text(ExposedCause cause, const std::string& other) {
  switch (cause) {
    case ExposedCause::same_stream: return "on the same stream as the compute that follows it";
    case ExposedCause::no_compute_after: return "nothing to overlap with: no compute starts after it in the step";
    case ExposedCause::held_by_stream: return fmt::format("started late, queued behind {} on its own stream", other);
    case ExposedCause::one_connection:
      return fmt::format(
          "one connection: the next compute was queued behind {} in the only hardware queue "
          "(CUDA_DEVICE_MAX_CONNECTIONS is 1, so work starts in the order of enqueueing), whatever else it waited for",
          other);
    case ExposedCause::waited_at_once:
      return fmt::format("waited for immediately: the next compute, {}, started only after its end", other);
    case ExposedCause::outlasted_compute: return "longer than the compute that ran during it";
    case ExposedCause::not_shown: break;
  }
  return "the trace does not show why";
}

using Cause = std::pair<const ExposedCause, analysis::CauseShare>;

const Cause& main_cause(const OverlapEvidence& evidence) {
  return *std::max_element(evidence.causes.begin(), evidence.causes.end(),
                           [](const Cause& a, const Cause& b) { return a.second.exposed_ns < b.second.exposed_ns; });
}

std::string exposed_text(const OverlapEvidence& evidence) {
  if (evidence.causes.empty()) return "all of it ran during compute";
  const auto& [cause, share] = main_cause(evidence);
  std::int64_t exposed_ns = 0;
  for (const auto& [any, its_share] : evidence.causes) exposed_ns += its_share.exposed_ns;
  return fmt::format("{} ({} of {} operations, {:.0f} % of the exposed time)", cause_text(cause, share.other),
                     share.operations, evidence.operations,
                     100 * static_cast<double>(share.exposed_ns) / static_cast<double>(exposed_ns));
}

std::string absence_text(const OverlapEvidence& evidence, const Trace& trace) {
  if (evidence.operations_outside > 0)
    return fmt::format("its {} operations end outside the measured steps", evidence.operations_outside);
  if (trace.size() == 0) return "the trace has no operations: it was written with run.trace false";
  return "none of its operations is in the trace";
}

// Why nothing can be observed in any case; empty if something can.
std::string nothing_text(const OverlapKnob& knob, const OverlapEvidence& evidence, const TracedRun& run,
                         const Trace& trace) {
  if (!run.has_transfers) return "run.no_comm removed its transfers";
  if (knob.group_size < 2) return "a single rank exchanges nothing";
  if (evidence.operations == 0) return absence_text(evidence, trace);
  return evidence.comm_ns > 0 ? "" : fmt::format("its {} operations took no time", evidence.operations);
}

// A slot that is not as requested may still overlap.
std::string request_text(const OverlapKnob& knob) {
  if (!knob.gate.empty()) return fmt::format("{}, {}; ", knob.is_on ? "changed" : "switched off", knob.gate);
  return knob.is_on ? "" : "off; ";
}

double observed_pct(const OverlapKnob& knob, const OverlapEvidence& evidence) {
  const bool of_transfers = knob.waits_are_the_schedules && evidence.transfer_ns > 0;
  return 100 * static_cast<double>(of_transfers ? evidence.hidden_transfer_ns : evidence.hidden_ns) /
         static_cast<double>(of_transfers ? evidence.transfer_ns : evidence.comm_ns);
}

ObservedStatus status_of(double observed_pct) {
  if (observed_pct >= kObservedPct) return ObservedStatus::observed;
  return observed_pct >= kPartlyPct ? ObservedStatus::partly : ObservedStatus::not_observed;
}

ObservedKnob judge(const OverlapKnob& knob, const OverlapEvidence& evidence, const std::string& nothing) {
  ObservedKnob judged{.knob = knob.name,
                      .requested = knob.requested,
                      .effective = knob.effective,
                      .observed_pct = {},
                      .operations = evidence.operations,
                      .comm_ns = evidence.comm_ns,
                      .hidden_ns = evidence.hidden_ns,
                      .hidden_transfer_ns = {},
                      .status = ObservedStatus::not_in_trace,
                      .cause = {},
                      .reason = request_text(knob) + (nothing.empty() ? exposed_text(evidence) : nothing)};
  if (!nothing.empty()) return judged;
  judged.observed_pct = observed_pct(knob, evidence);
  judged.status = status_of(*judged.observed_pct);
  if (evidence.unsplit_ns < evidence.comm_ns) judged.hidden_transfer_ns = evidence.hidden_transfer_ns;
  if (!evidence.causes.empty()) judged.cause = main_cause(evidence).first;
  return judged;
}

std::string share_text(const ObservedKnob& knob) {
  std::string words(to_string(knob.status));
  std::replace(words.begin(), words.end(), '_', ' ');
  return knob.observed_pct ? fmt::format("{}, {:.1f} %", words, *knob.observed_pct) : words;
}

// A slot's request by its method alone; other values as they are.
std::string short_value(const std::string& text) {
  const Json value = parse_json(text);
  if (value.is_object()) return value.contains("method") ? value["method"].get<std::string>() : "{...}";
  return value.is_string() ? value.get<std::string>() : text;
}

// The knobs of one table are of one section.
std::string short_name(const std::string& knob) { return knob.substr(knob.find('.') + 1); }

}  // namespace

void visit_fields(fields::Is<ObservedKnob> auto& knob, auto&& field) {
  field("knob", knob.knob);
  field("requested", JsonText{knob.requested});
  field("effective", JsonText{knob.effective});
  field("observed_pct", knob.observed_pct);
  field("operations", knob.operations);
  field("comm_us", us(knob.comm_ns));
  field("hidden_us", us(knob.hidden_ns));
  field("hidden_transfer_us", knob.hidden_transfer_ns ? std::optional(us(*knob.hidden_transfer_ns)) : std::nullopt);
  field("status", knob.status);
  field("cause", knob.cause);
  field("reason", knob.reason);
}

std::string_view to_string(ObservedStatus status) { return kStatuses[status]; }

std::vector<ObservedKnob> observe(const std::vector<OverlapKnob>& knobs, const TracedRun& run, const Trace& trace,
                                  const analysis::Summary& summary) {
  const std::vector<analysis::Window> windows = summary.shown_windows();
  std::vector<analysis::EvidenceRequest> requests;
  for (const OverlapKnob& knob : knobs)
    requests.push_back({.is_asked = knob.is_its_own, .one_connection = run.one_connection});
  const std::vector<OverlapEvidence> found = analysis::find_evidence(trace, windows, requests);
  std::vector<ObservedKnob> observed;
  for (std::size_t i = 0; i < knobs.size(); ++i) {
    const OverlapKnob& knob = knobs[i];
    const OverlapEvidence& evidence = found[i];
    if (knob.is_asked_for || evidence.operations + evidence.operations_outside > 0)
      observed.push_back(judge(knob, evidence, nothing_text(knob, evidence, run, trace)));
  }
  return observed;
}

Table observed_table(const std::vector<ObservedKnob>& knobs) {
  Table table{{{"knob", Align::left},
               {"requested"},
               {"effective"},
               {"observed", Align::left},
               {"operations"},
               {"comm ms"},
               {"hidden ms"},
               {"reason", Align::left}},
              {}};
  for (const ObservedKnob& knob : knobs)
    table.rows.push_back({{short_name(knob.knob)},
                          {short_value(knob.requested)},
                          {short_value(knob.effective)},
                          {share_text(knob)},
                          {fmt::format("{}", knob.operations)},
                          {fmt::format("{:.3f}", us(knob.comm_ns) / 1e3)},
                          {fmt::format("{:.3f}", us(knob.hidden_ns) / 1e3)},
                          {knob.reason}});
  return table;
}

std::string with_observed(const std::string& analysis_json, const std::string& cell,
                          const std::vector<ObservedKnob>& knobs) {
  Json json = parse_json(analysis_json);
  json["cell"] = cell;
  json["observed"] = fields::encode(knobs);
  return json_text(json);
}

void add_observed_schema(Json& analysis_schema) {
  analysis_schema["properties"]["observed"] = fields::schema_of<std::vector<ObservedKnob>>();
}

}  // namespace underlap::report
