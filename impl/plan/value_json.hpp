// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "impl/plan/value.hpp"
#include "platform/json.hpp"

namespace underlap::plan {

nlohmann::ordered_json to_json_tree(const Value& value);

}  // namespace underlap::plan
