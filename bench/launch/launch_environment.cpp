// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/launch_environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "impl/plan/modes/mode_rules.hpp"
#include "impl/plan/nccl_variables.hpp"

namespace underlap::bench {

std::optional<std::string> own_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

namespace {

// The setting of a knob that corresponds to the caller's value.
std::string as_setting(const plan::EnvironmentVariable& variable, const std::string& value) {
  const bool is_switch = variable.name == "TORCH_NCCL_HIGH_PRIORITY";
  return fmt::format("{}: {}", variable.knob, !is_switch ? value : value == "1" ? "true" : "false");
}

std::string conflict(const plan::Cell& cell, const plan::EnvironmentVariable& wanted, const std::string& has) {
  std::string text = fmt::format("{} is {} in the environment, but the plan of cell {} sets {}: {}\n  unset {}",
                                 wanted.name, has, cell.name, wanted.value, wanted.reason, wanted.name);
  if (!wanted.knob.empty()) text += fmt::format(", or write {} into the configuration", as_setting(wanted, has));
  return text;
}

const plan::EnvironmentVariable* find(const plan::Plan& plan, const std::string& name) {
  for (const plan::EnvironmentVariable& variable : plan.environment)
    if (variable.name == name) return &variable;
  return nullptr;
}

constexpr const char* kBlocking = "NCCL_COMM_BLOCKING";

bool uses_nccl(const plan::Cell& cell) {
  const plan::RunConfig& run = cell.plan.config.run;
  return run.traits().runs_on_gpus && !run.emulated_link;
}

// Collectives that run during a GEMM use the multiprocessors of their slot.
bool gives_hints(const plan::Cell& cell) {
  return plan::ranks_sharing(plan::Shared::weights, cell.plan.config.parallel) > 1 &&
         std::ranges::any_of(cell.plan.config.tensor_overlap.slots, [](const plan::TensorSlotOverlap& slot) {
           return slot.method == plan::TensorMethod::bulk || slot.method == plan::TensorMethod::pipeline;
         });
}

// Finds variables of the caller that override the configuration of communicators. Without a plan for communicators,
// ranks report such variables themselves.
void find_overridden(const plan::Cell& cell, const ReadVariable& read, std::map<std::string, std::string>& conflicts) {
  if (!uses_nccl(cell)) return;
  if (const auto has = read(kBlocking); has == "0")
    conflicts.try_emplace(kBlocking, fmt::format("{0} is 0 in the environment, but the run needs blocking "
                                                 "communicators; NCCL would connect in the background\n  unset {0}",
                                                 kBlocking));
  if (!gives_hints(cell)) return;
  for (const char* name : plan::kInPlaceOfCommunicatorConfig)
    if (const auto has = read(name); has && find(cell.plan, name) == nullptr)
      conflicts.try_emplace(name,
                            fmt::format("{0} is {1} in the environment, which overrides the SMs and clusters that the "
                                        "plan of cell {2} gives its tensor-parallel collectives\n  unset {0}",
                                        name, *has, cell.name));
}

}  // namespace

Environment launch_environment(const plan::Plan& plan) {
  Environment environment;
  for (const plan::EnvironmentVariable& variable : plan.environment)
    environment.emplace_back(variable.name, variable.value);
  std::ranges::sort(environment);
  return environment;
}

void check_caller_environment(std::span<const plan::Cell> cells, const ReadVariable& given) {
  const ReadVariable read = given ? given : own_variable;
  std::map<std::string, std::string> conflicts;  // by variable: the first of each
  std::map<std::string, std::string> set;        // the caller's values of variables that some cell sets
  for (const plan::Cell& cell : cells) {
    find_overridden(cell, read, conflicts);
    for (const plan::EnvironmentVariable& wanted : cell.plan.environment) {
      const std::optional<std::string> has = read(wanted.name);
      if (has) set[wanted.name] = *has;
      if (has && *has != wanted.value) conflicts.try_emplace(wanted.name, conflict(cell, wanted, *has));
    }
  }
  // A cell without the variable would inherit the caller's value, and would not differ from the cell that sets it.
  for (const auto& [name, value] : set)
    for (const plan::Cell& cell : cells)
      if (find(cell.plan, name) == nullptr)
        conflicts.try_emplace(
            name, fmt::format("{} is {} in the environment, but the plan of cell {} leaves it unset\n  unset {}", name,
                              value, cell.name, name));
  std::string text;
  for (const auto& [name, what] : conflicts) text += (text.empty() ? "" : "\n") + what;
  if (!text.empty()) throw std::invalid_argument(text);
}

}  // namespace underlap::bench
