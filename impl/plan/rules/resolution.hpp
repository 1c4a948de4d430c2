// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "impl/plan/schema/settings.hpp"

namespace underlap::plan {

/// A rule's decision on one setting.
struct Decision {
  Value effective;
  std::string source;  ///< user, auto or gate
  std::string reason;
  std::optional<Value> requested = {};  ///< nullopt: the written value
};

/// The state while one cell is resolved: the requests, and the plan that rules build step by step.
struct Resolution {
  const Settings& settings;
  Problems& problems;
  Plan plan;
  std::map<std::size_t, Decision> decisions;  ///< by row; rows without one are reported as requested

  Config& config() { return plan.config; }
  void decide(std::string_view path, Decision decision) { decisions[row_index(path)] = std::move(decision); }

  /// The place of the first of `paths` that was written; otherwise the place of the model section.
  Place place_of(std::initializer_list<std::string_view> paths) const;
  void error(std::initializer_list<std::string_view> paths, std::string message) {
    problems.add(place_of(paths), std::move(message));
  }
  void notice(std::initializer_list<std::string_view> paths, std::string message) {
    plan.notices.push_back({problems.text(place_of(paths)), std::move(message)});
  }
  /// Whether to report how the backend changes a setting: a dump without a backend describes training elsewhere.
  bool has_backend() const { return !settings.is_dump || settings.given("run.backend"); }
  /// Reports settings that work as intended but prevent overlap.
  void expose(std::initializer_list<std::string_view> paths, std::string message) {
    plan.exposed.push_back({problems.text(place_of(paths)), std::move(message)});
  }
  void not_run(std::initializer_list<std::string_view> paths, std::string message) {
    plan.not_run.push_back({problems.text(place_of(paths)), std::move(message)});
  }
  /// Keeps the user's value of `path` and reports that it has no effect. Does nothing if it was not written. A dump
  /// gets no notice, because most of its values are defaults that the user did not request.
  void warn_no_effect(std::string_view path, const std::string& why);
  /// "set at config.yaml:3:5".
  std::string set_at(std::string_view path) const;
};

/// Whether a kind of parallelism has several ranks; true for a scope that is no kind of parallelism.
bool has_ranks(Scope scope, const ParallelConfig& parallel);

/// Whether keys of `scope` have an effect with this configuration.
bool in_scope(Scope scope, const Resolution& resolution);

/// The effective value of a setting in CommOverlapConfig's data-parallel block: `automatic` is that block's default,
/// `core` the default if the block does not run.
Decision decide_dp_knob(const Resolution& resolution, std::string_view path, const Value& automatic, const Value& core,
                        const std::string& why_automatic);

/// The value of the row if nothing was written.
Value default_of(std::size_t row);

/// Applies every rule to `settings`: the plan of one cell. Errors go to `problems`.
Plan resolve(const Settings& settings, Problems& problems);

// The rules, in the order of their application.
void resolve_model(Resolution& resolution);
void fill_sizes(Resolution& resolution);
void resolve_world(Resolution& resolution);
void resolve_layers(Resolution& resolution);
bool has_uneven_layers(const Resolution& resolution);
void check_sizes(Resolution& resolution);
void resolve_batch(Resolution& resolution);
void apply_precision_rules(Resolution& resolution);
void apply_dp_rules(Resolution& resolution);
void decide_step_gather(Resolution& resolution);
void apply_tp_rules(Resolution& resolution);
void apply_pp_rules(Resolution& resolution);
void apply_cp_rules(Resolution& resolution);
void apply_recompute_rules(Resolution& resolution);
void apply_memory_rules(Resolution& resolution);
void check_split_backward(Resolution& resolution);
void apply_expert_rules(Resolution& resolution);
void apply_run_rules(Resolution& resolution);
void find_what_is_exposed(Resolution& resolution);
void find_what_does_not_run(Resolution& resolution);
void plan_environment(Resolution& resolution);
void predict_memory(Resolution& resolution);
void lay_out_buckets(Resolution& resolution);

}  // namespace underlap::plan
