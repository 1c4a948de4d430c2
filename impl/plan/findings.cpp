// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "impl/plan/plan_words.hpp"
#include "impl/plan/rules/resolution.hpp"
#include "platform/json.hpp"
#include "platform/text/digits.hpp"
#include "platform/text/escape.hpp"

namespace underlap::plan {
namespace {

struct Kind {
  std::string_view name, level, about;
};
constexpr std::array<Kind, 6> kKinds{{
    {"error", "error", "The configuration cannot be run"},
    {"not-as-requested", "warning", "A rule or a gate overrides a requested setting"},
    {"exposed", "warning", "Communication that overlaps with nothing"},
    {"contradiction", "warning", "Requests that contradict each other"},
    {"not-run", "note", "Planned, but cannot run here"},
    {"notice", "note", "Other notices"},
}};

class Collector {
 public:
  void add(std::size_t kind, Message message) {
    if (seen_.emplace(kind, message.where, message.message).second)
      all_.push_back({kKinds[kind].name, kKinds[kind].level, std::move(message)});
  }
  void add(std::size_t kind, const std::vector<Message>& messages) {
    for (const Message& message : messages) add(kind, message);
  }
  std::vector<Finding> take() {
    std::ranges::stable_sort(
        all_, {}, [](const Finding& f) { return std::ranges::find(kKinds, f.kind, &Kind::name) - kKinds.begin(); });
    return std::move(all_);
  }

 private:
  std::set<std::tuple<std::size_t, std::string, std::string>> seen_;
  std::vector<Finding> all_;
};

std::string gate_finding(const Knob& knob) {
  return fmt::format("{} was requested as {} but is {}: {}", knob.name, to_json_text(knob.requested),
                     to_json_text(knob.effective), knob.reason);
}

/// Whether a request has no object: a switch of overlap that is on, or an unusual value for an unused kind of
/// parallelism. Settings without effect because of a switch that is off do not count.
bool asks_for_what_is_not_there(const Knob& knob, const ParallelConfig& parallel) {
  const std::size_t i = row_index(knob.name);
  const Row& row = rows()[i];
  if (row.role == Role::overlap) return knob.requested != Value(false);
  return knob.requested != default_of(i) && !has_ranks(row.scope, parallel);
}

/// The number after the last colon of `text`, which is removed with it; 0 if there is none.
int take_number(std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return 0;
  const auto number = parse_number<int>(std::string_view(text).substr(colon + 1));
  if (number) text.resize(colon);
  return number.value_or(0);
}

}  // namespace

std::vector<Finding> findings(const Matrix& matrix) {
  Collector all;
  all.add(0, matrix.errors);
  if (matrix.has_errors()) return all.take();
  for (const Cell& cell : matrix.cells) {
    for (const Knob& knob : cell.plan.knobs)
      if (knob.source == "gate")
        all.add(1, {knob.where.empty() ? matrix.source.where : knob.where, gate_finding(knob)});
    // A matrix holds modes against each other, those that expose too.
    if (matrix.cells.size() == 1) all.add(2, cell.plan.exposed);
    all.add(3, cell.plan.contradictions);
    all.add(4, cell.plan.not_run);
    all.add(5, cell.plan.notices);
  }
  return all.take();
}

std::vector<std::string> unmet_requests(const Plan& plan) {
  std::vector<std::string> unmet;
  for (const Knob& knob : plan.knobs) {
    if (knob.source == "gate") unmet.push_back(gate_finding(knob));
    const std::string_view why = why_no_effect(knob);
    if (knob.source == "user" && !why.empty() && asks_for_what_is_not_there(knob, plan.config.parallel))
      unmet.push_back(
          fmt::format("{} was requested as {} but has no effect: {}", knob.name, to_json_text(knob.requested), why));
  }
  return unmet;
}

Location location_of(const std::string& where) {
  Location location{.file = where};
  location.column = take_number(location.file);
  location.line = take_number(location.file);
  return location.line > 0 ? location : Location{.file = where};
}

std::string to_github(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    const Location at = location_of(finding.message.where);
    text += fmt::format("::{} file={}{},title=underlap {}::{}\n", finding.level == "note" ? "notice" : finding.level,
                        annotation_text(at.file, true),
                        at.line > 0 ? fmt::format(",line={},col={}", at.line, at.column) : "", finding.kind,
                        annotation_text(finding.message.message, false));
  }
  return text;
}

std::string to_sarif(const std::vector<Finding>& findings) {
  using Json = nlohmann::ordered_json;
  Json rules = Json::array(), results = Json::array();
  for (const Kind& kind : kKinds)
    rules.push_back({{"id", kind.name},
                     {"shortDescription", {{"text", kind.about}}},
                     {"defaultConfiguration", {{"level", kind.level}}}});
  for (const Finding& finding : findings) {
    const Location at = location_of(finding.message.where);
    Json place = {{"artifactLocation", {{"uri", at.file}}}};
    if (at.line > 0) place["region"] = {{"startLine", at.line}, {"startColumn", at.column}};
    results.push_back({{"ruleId", finding.kind},
                       {"level", finding.level},
                       {"message", {{"text", finding.message.message}}},
                       {"locations", Json::array({{{"physicalLocation", place}}})}});
  }
  const Json driver = {{"name", "underlap"}, {"rules", rules}};
  return json_text(Json{{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                        {"version", "2.1.0"},
                        {"runs", Json::array({{{"tool", {{"driver", driver}}}, {"results", results}}})}},
                   2);
}

}  // namespace underlap::plan
