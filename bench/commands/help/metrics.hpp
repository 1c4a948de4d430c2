// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace underlap::bench {

/// The files of bench/metrics, which the program carries, one after the other; common.yaml describes them.
std::string_view metrics_text();

/// Gives each property of the JSON Schema of `format` (such as "results") a `description` with its unit.
void describe_properties(nlohmann::ordered_json& schema, std::string_view format);

}  // namespace underlap::bench
