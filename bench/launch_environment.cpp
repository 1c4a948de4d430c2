// SPDX-License-Identifier: Apache-2.0
#include "bench/launch_environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <stdexcept>

namespace underlap::bench {
namespace {

std::optional<std::string> own_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

// The knob that takes the caller's value, as it would be written.
std::string as_setting(const plan::EnvironmentVariable& variable, const std::string& value) {
  const bool is_switch = variable.name == "TORCH_NCCL_HIGH_PRIORITY";
  return fmt::format("{}: {}", variable.knob, !is_switch ? value : value == "1" ? "true" : "false");
}

std::string conflict(const plan::Cell& cell, const plan::EnvironmentVariable& wanted, const std::string& has) {
  std::string text = fmt::format("{} is {} in the environment, and the plan of cell {} sets {}: {}\n  unset {}",
                                 wanted.name, has, cell.name, wanted.value, wanted.reason, wanted.name);
  if (!wanted.knob.empty()) text += fmt::format(", or write {} into the configuration", as_setting(wanted, has));
  return text;
}

const plan::EnvironmentVariable* find(const plan::Plan& plan, const std::string& name) {
  for (const plan::EnvironmentVariable& variable : plan.environment)
    if (variable.name == name) return &variable;
  return nullptr;
}

}  // namespace

Environment launch_environment(const plan::Plan& plan) {
  Environment environment;
  for (const plan::EnvironmentVariable& variable : plan.environment)
    environment.emplace_back(variable.name, variable.value);
  std::sort(environment.begin(), environment.end());
  return environment;
}

void check_caller_environment(std::span<const plan::Cell> cells, const ReadVariable& read) {
  std::map<std::string, std::string> conflicts;  // by variable: the first of each
  std::map<std::string, std::string> set;        // what some cell wants and the caller has
  for (const plan::Cell& cell : cells) {
    for (const plan::EnvironmentVariable& wanted : cell.plan.environment) {
      const std::optional<std::string> has = read ? read(wanted.name) : own_variable(wanted.name);
      if (has) set[wanted.name] = *has;
      if (has && *has != wanted.value) conflicts.try_emplace(wanted.name, conflict(cell, wanted, *has));
    }
  }
  // A cell without the variable would inherit the caller's, and no longer differ from the one that sets it.
  for (const auto& [name, value] : set)
    for (const plan::Cell& cell : cells)
      if (find(cell.plan, name) == nullptr)
        conflicts.try_emplace(
            name, fmt::format("{} is {} in the environment, and the plan of cell {} leaves it unset\n  unset {}", name,
                              value, cell.name, name));
  std::string text;
  for (const auto& [name, what] : conflicts) text += (text.empty() ? "" : "\n") + what;
  if (!text.empty()) throw std::invalid_argument(text);
}

}  // namespace underlap::bench
