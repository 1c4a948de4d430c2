// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/rules/resolution.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "impl/plan/modes/mode_rules.hpp"
#include "impl/plan/precision.hpp"
#include "impl/plan/schema/paths.hpp"

namespace underlap::plan {
namespace {

void store_requests(Resolution& r) {
  for (std::size_t i = 0; i < rows().size(); ++i)
    if (rows()[i].field.store != nullptr && r.settings[i].state == Setting::State::given)
      rows()[i].field.store(r.config(), r.settings[i].value);
}

/// Sizes of modes that have no field in the configuration.
void store_further_sizes(Resolution& r) {
  for (const ModeRules& mode : all_mode_rules())
    if (const SizeField& size = mode.sizes.front(); size.field == nullptr)
      set_size(r.config().parallel, mode, size, static_cast<std::int32_t>(r.settings.integer(size.knob, 1)));
}

/// nullptr for a scope that is no mode.
const ModeRules* rules_of(Scope scope) {
  return scope <= Scope::cp ? find_mode_rules(static_cast<Mode>(scope)) : nullptr;
}

std::string scope_words(Scope scope) {
  switch (scope) {
    case Scope::fp8: return "the precision recipe has no fp8";
    case Scope::moe: return "the model has no experts";
    case Scope::fsdp: return "ddp.use_megatron_fsdp is not set";
    default: break;
  }
  const ModeRules* mode = rules_of(scope);
  return mode == nullptr ? "" : fmt::format("{} is 1", last_component(mode->sizes.front().knob));
}

Decision without_rule(Resolution& r, std::size_t i) {
  const Row& row = rows()[i];
  const Setting& setting = r.settings[i];
  const bool given = setting.state == Setting::State::given;
  Decision decision{fallback(i), given ? "user" : "auto", fmt::format("default: {}", row.rule)};
  if (row.field.read != nullptr)
    decision.effective = row.field.read(r.plan.config);
  else if (given)
    decision.effective = setting.value;
  if (given) decision.reason = r.set_at(row.path);
  if (given && !in_scope(row.scope, r)) {
    decision.reason += fmt::format("; no effect: {}", scope_words(row.scope));
    if (decision.effective != fallback(i) && !r.settings.is_dump)
      r.notice({row.path}, fmt::format("{} has no effect: {}", row.path, scope_words(row.scope)));
  }
  return decision;
}

/// Every setting of a kind of parallelism in use is listed.
bool is_listed(const Row& row, const Resolution& r) {
  return row.listed || (row.scope != Scope::always && in_scope(row.scope, r));
}

/// A part of a preset was requested where the preset was.
std::string where_requested(const Resolution& r, std::size_t i, const Decision& decision) {
  const std::string_view path = rows()[i].path;
  if (r.settings.given(path)) return r.problems.text(r.settings[i].place);
  const auto whole = find_row(path.substr(0, path.rfind('.')));
  const bool is_part = decision.requested && whole && r.settings[*whole].state == Setting::State::given;
  return is_part ? r.problems.text(r.settings[*whole].place) : "";
}

/// The first copy of the knob that Megatron-Bridge writes over with another value than it has; nullptr: none.
const Setting* overwritten_copy(const Resolution& r, std::size_t row, const Value& effective) {
  for (const auto& [overwritten, setting] : r.settings.overwritten)
    if (overwritten == row && setting.state == Setting::State::given && setting.value != effective) return &setting;
  return nullptr;
}

/// An overwritten value is still a request, unless it is the default of a dump.
void warn_overwritten(Resolution& r, std::size_t i, const Setting& copy, Knob& knob) {
  const std::string_view path = rows()[i].path;
  const bool is_overlap = path.starts_with("comm_overlap.");
  if (r.settings[i].state == Setting::State::given) {
    r.plan.contradictions.push_back(
        {r.problems.text(copy.place),
         fmt::format("{} is {}, but {} is {} at {}: Megatron-Bridge uses the latter; make them agree", copy.spelling,
                     to_json_text(copy.value), r.settings[i].spelling, to_json_text(r.settings[i].value),
                     r.problems.text(r.settings[i].place))});
    return;
  }
  knob.requested = copy.value;
  knob.where = r.problems.text(copy.place);
  knob.source = "gate";
  knob.reason +=
      fmt::format("; Megatron-Bridge's {} overwrites {}; write {} to keep it",
                  is_overlap ? "CommOverlapConfig" : "precision recipe", copy.spelling,
                  is_overlap ? std::string(path) : fmt::format("mixed_precision.{}", path.substr(path.find('.') + 1)));
}

/// A dump lists defaults that the user did not request. Those of CommOverlapConfig are null.
void call_defaults_of_dump_automatic(const Resolution& r, std::size_t i, Knob& knob) {
  if (!r.settings.is_dump || knob.source != "user") return;
  if (knob.effective != default_of(i) && in_scope(rows()[i].scope, r)) return;
  if (r.settings[i].spelling.starts_with("comm_overlap.")) return;
  knob.source = "auto";
  knob.reason = fmt::format("default: {}", rows()[i].rule);
}

void report_knobs(Resolution& r) {
  for (std::size_t i = 0; i < rows().size(); ++i) {
    const Setting& setting = r.settings[i];
    if (setting.state == Setting::State::invalid) continue;
    const auto decided = r.decisions.find(i);
    const auto written_over = [&](const auto& each) { return each.first == i; };
    const bool is_news = setting.state == Setting::State::given || decided != r.decisions.end() ||
                         (!r.settings.is_dump && std::ranges::any_of(r.settings.overwritten, written_over));
    if (!is_news && !is_listed(rows()[i], r)) continue;
    const Decision decision = decided != r.decisions.end() ? decided->second : without_rule(r, i);
    Knob knob{std::string(rows()[i].path),
              decision.requested.value_or(setting.value),
              decision.effective,
              decision.source,
              decision.reason,
              where_requested(r, i, decision)};
    const Setting* copy = r.settings.is_dump ? nullptr : overwritten_copy(r, i, decision.effective);
    if (copy != nullptr) warn_overwritten(r, i, *copy, knob);
    call_defaults_of_dump_automatic(r, i, knob);
    r.plan.knobs.push_back(std::move(knob));
  }
  std::stable_partition(r.plan.knobs.begin(), r.plan.knobs.end(),
                        [](const Knob& knob) { return knob.source == "gate"; });
}

}  // namespace

Place Resolution::place_of(std::initializer_list<std::string_view> paths) const {
  for (const std::string_view path : paths)
    if (settings.given(path)) return settings[path].place;
  return settings.model_place;
}

std::string Resolution::set_at(std::string_view path) const {
  return fmt::format("set at {}", problems.text(settings[path].place));
}

void Resolution::warn_no_effect(std::string_view path, const std::string& why) {
  if (!settings.given(path)) return;
  decide(path, {settings[path].value, "user", fmt::format("{}; no effect: {}", set_at(path), why)});
  if (!settings.is_dump) notice({path}, fmt::format("{} has no effect: {}", path, why));
}

Value default_of(std::size_t row) {
  static const Config kDefaults;
  if (rows()[row].fallback.empty() && rows()[row].field.read != nullptr) return rows()[row].field.read(kDefaults);
  return fallback(row);
}

bool has_ranks(Scope scope, const ParallelConfig& parallel) {
  const ModeRules* mode = rules_of(scope);
  return mode == nullptr || mode->is_in_use(parallel);
}

bool in_scope(Scope scope, const Resolution& r) {
  switch (scope) {
    case Scope::fp8: return is_fp8(scaling_of(r.plan.config));
    case Scope::moe: return r.settings.integer("model.num_moe_experts", 1) > 1;
    case Scope::fsdp: return r.settings.flag("ddp.use_megatron_fsdp", false);
    default: return has_ranks(scope, r.plan.config.parallel);
  }
}

Plan resolve(const Settings& settings, Problems& problems) {
  Resolution resolution{settings, problems, {}, {}};
  for (const auto& [place, message] : settings.notices)
    resolution.plan.notices.push_back({problems.text(place), message});
  resolve_model(resolution);
  store_requests(resolution);
  store_further_sizes(resolution);
  fill_sizes(resolution);
  resolve_world(resolution);
  resolve_layers(resolution);
  check_sizes(resolution);
  resolve_batch(resolution);
  apply_precision_rules(resolution);
  apply_dp_rules(resolution);
  apply_tp_rules(resolution);
  apply_pp_rules(resolution);
  apply_cp_rules(resolution);
  apply_recompute_rules(resolution);
  apply_memory_rules(resolution);
  check_split_backward(resolution);
  apply_expert_rules(resolution);
  apply_run_rules(resolution);
  find_what_is_exposed(resolution);
  find_what_does_not_run(resolution);
  plan_environment(resolution);
  predict_memory(resolution);
  lay_out_buckets(resolution);
  report_knobs(resolution);
  return std::move(resolution.plan);
}

}  // namespace underlap::plan
