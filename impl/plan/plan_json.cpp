// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/plan_json.hpp"

#include "impl/plan/value_json.hpp"
#include "platform/fields/json_schema.hpp"

namespace underlap::yaml {

void visit_fields(fields::Is<Message> auto& message, auto&& field) {
  field("where", message.where);
  field("message", message.message);
  field("hint", fields::Derived{[&] { return std::string(hint_of(message.message)); }});
}

}  // namespace underlap::yaml

namespace underlap::plan {
namespace {

constexpr const char* kPlanSchema = "underlap.plan/1";
constexpr const char* kErrorsSchema = "underlap.errors/1";

struct Errors {
  std::vector<Message> errors;
};

/// One list of what is worth saying, the weightiest first.
std::vector<Message> all_notices(const Plan& plan) {
  std::vector<Message> all;
  for (const auto* messages : {&plan.exposed, &plan.contradictions, &plan.notices})
    all.insert(all.end(), messages->begin(), messages->end());
  return all;
}

void visit_fields(fields::Is<Errors> auto& errors, auto&& field) { field("errors", errors.errors); }

}  // namespace

using fields::Derived, fields::Is;

void visit_fields(Is<Knob> auto& knob, auto&& field) {
  field("name", knob.name);
  field("requested", Derived{[&] { return to_json_tree(knob.requested); }});
  field("effective", Derived{[&] { return to_json_tree(knob.effective); }});
  field("source", knob.source);
  field("reason", knob.reason);
}

void visit_fields(Is<EnvironmentVariable> auto& variable, auto&& field) {
  field("name", variable.name);
  field("value", variable.value);
  field("reason", variable.reason);
}

void visit_fields(Is<PeakMemory> auto& peak, auto&& field) {
  field("parameters", peak.parameters);
  field("gradients", peak.gradients);
  field("optimizer", peak.optimizer);
  field("activations", peak.activations);
  field("userbuffers", peak.userbuffers);
  field("exchange", peak.exchange);
  field("workspaces", peak.workspaces);
  field("communicators", peak.communicators);
  field("context", peak.context);
  field("total", Derived{[&] { return peak.total(); }});
}

void visit_fields(Is<ChunkBuckets> auto& chunk, auto&& field) {
  field("stage", chunk.stage);
  field("chunk", chunk.chunk);
  field("elements", chunk.elements);
}

void visit_fields(Is<Plan> auto& plan, auto&& field) {
  field("knobs", plan.knobs);
  field("environment", plan.environment);
  field("buckets", plan.buckets);
  field("peak_memory_bytes", plan.peak_memory);
  field("notices", Derived{[&] { return all_notices(plan); }});
  field("not_run", plan.not_run);
  field("errors", plan.errors);
}

std::string to_json(const Plan& plan) { return json_text(fields::document(kPlanSchema, plan)); }

std::string errors_json(const std::vector<Message>& errors) {
  return json_text(fields::document(kErrorsSchema, Errors{errors}), 2);
}

std::string plan_json_schema() { return fields::schema_text<Plan>(kPlanSchema); }
std::string errors_json_schema() { return fields::schema_text<Errors>(kErrorsSchema); }

}  // namespace underlap::plan
