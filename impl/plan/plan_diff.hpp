// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "impl/plan/plan.hpp"
#include "platform/table.hpp"

namespace underlap::plan {

/// Something that is in effect in one plan and not in another.
struct Difference {
  std::string what;    ///< a knob, a variable of the launch environment, or a sum such as "buckets of stage 0, chunk 0"
  std::string before;  ///< "-" where the plan does not have it
  std::string after;
  std::string why;  ///< the second plan's reason
};

/// The effective settings in `after` that differ from `before`. Requests with the same effect are not reported.
std::vector<Difference> differences(const Plan& before, const Plan& after);

/// The same as a table.
std::string differences_text(const std::vector<Difference>& differences, const TableFormat& format);

/// The same as JSON text, schema underlap.plan_diff/1, and the JSON Schema of that text.
std::string differences_json(const std::vector<Difference>& differences);
std::string differences_json_schema();

}  // namespace underlap::plan
