// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "impl/plan/plan.hpp"

namespace underlap::plan {

/// Errors of the input as JSON text, schema underlap.errors/1.
std::string errors_json(const std::vector<Message>& errors);

/// The JSON Schemas of that text and of to_json().
std::string errors_json_schema();
std::string plan_json_schema();

}  // namespace underlap::plan
