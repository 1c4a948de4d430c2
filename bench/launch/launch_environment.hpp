// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "impl/plan/plan.hpp"

namespace underlap::bench {

/// Environment variables, name and value, sorted.
using Environment = std::vector<std::pair<std::string, std::string>>;

/// Variables that a plan sets before the first CUDA call.
Environment launch_environment(const plan::Plan& plan);

/// The value of a variable in the caller's environment, or nullopt.
using ReadVariable = std::function<std::optional<std::string>(const std::string& name)>;

/// The value in this process's environment.
std::optional<std::string> own_variable(const std::string& name);

/// Refuses a launch environment that the caller has set to other values, for all or some cells: the caller's values are
/// never overwritten. Equal values are accepted. Also refuses variables with which NCCL overrides the plan's
/// configuration of communicators. An empty `read` reads this process's environment. Throws std::invalid_argument with
/// two lines for each conflict: the variable, both values and the plan's reason; how to fix it.
void check_caller_environment(std::span<const plan::Cell> cells, const ReadVariable& read = {});

}  // namespace underlap::bench
