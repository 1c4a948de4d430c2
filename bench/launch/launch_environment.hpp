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

/// What a plan wants set before the first call to CUDA.
Environment launch_environment(const plan::Plan& plan);

/// The value of a variable in the environment of the caller, or nullopt.
using ReadVariable = std::function<std::optional<std::string>(const std::string& name)>;

/// The value in this process's environment.
std::optional<std::string> own_variable(const std::string& name);

/// Refuses a launch environment that the caller has set to something else, in whole or for some cells: nothing of the
/// caller's is overwritten. Equal values are fine. So refused are variables that NCCL takes in place of what the plan
/// has communicators made with. An empty `read` reads this process's environment.
/// Throws std::invalid_argument with two lines for each conflict: variable, both values and the plan's reason; how to
/// mend it.
void check_caller_environment(std::span<const plan::Cell> cells, const ReadVariable& read = {});

}  // namespace underlap::bench
