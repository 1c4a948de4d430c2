// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "impl/plan/plan.hpp"

namespace underlap::bench {

/// plan::parse, completed with what only the model's weights tell: the buckets.
plan::Matrix parse_matrix(const std::string& yaml, const std::string& where,
                          const std::vector<plan::Override>& overrides = {});

}  // namespace underlap::bench
