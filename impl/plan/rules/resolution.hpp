// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "impl/plan/schema/settings.hpp"

namespace underlap::plan {

/// What a rule made of one knob.
struct Decision {
  Value effective;
  std::string source;  ///< user, auto or gate
  std::string reason;
  std::optional<Value> requested = {};  ///< nullopt: what was written
};

/// The work on one cell: what was requested, and the plan that grows out of it rule by rule.
struct Resolution {
  const Settings& settings;
  Problems& problems;
  Plan plan;
  std::map<std::size_t, Decision> decisions;  ///< by row; rows without one are reported as requested

  Config& config() { return plan.config; }
  void decide(std::string_view path, Decision decision) { decisions[row_index(path)] = std::move(decision); }

  /// Where the first of `paths` that was written stands; else where the model is described.
  Place place_of(std::initializer_list<std::string_view> paths) const;
  void error(std::initializer_list<std::string_view> paths, std::string message) {
    problems.add(place_of(paths), std::move(message));
  }
  void notice(std::initializer_list<std::string_view> paths, std::string message) {
    plan.notices.push_back({problems.text(place_of(paths)), std::move(message)});
  }
  /// Whether what the backend makes of a setting is news: a dump without one is of a training elsewhere.
  bool has_backend() const { return !settings.is_dump || settings.given("run.backend"); }
  /// What keeps communication from overlapping, though it is set as it was meant.
  void expose(std::initializer_list<std::string_view> paths, std::string message) {
    plan.exposed.push_back({problems.text(place_of(paths)), std::move(message)});
  }
  void not_run(std::initializer_list<std::string_view> paths, std::string message) {
    plan.not_run.push_back({problems.text(place_of(paths)), std::move(message)});
  }
  /// Keeps the user's value of `path` and says that it does nothing. Silent where nobody wrote it; most values of a
  /// dump are defaults that nobody asked for, and get no notice.
  void tell_no_effect(std::string_view path, const std::string& why);
  /// "set at config.yaml:3:5".
  std::string set_at(std::string_view path) const;
};

/// Whether a kind of parallelism has several ranks; of a scope that is none, true.
bool has_ranks(Scope scope, const ParallelConfig& parallel);

/// Whether something in `config` makes keys of `scope` matter.
bool in_scope(Scope scope, const Resolution& resolution);

/// What is in effect of a knob of CommOverlapConfig's data-parallel block: `automatic` is its own value, `core` what
/// stands where it does not run.
Decision decide_dp_knob(const Resolution& resolution, std::string_view path, const Value& automatic, const Value& core,
                        const std::string& why_automatic);

/// The value that the row has where nothing was written.
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
