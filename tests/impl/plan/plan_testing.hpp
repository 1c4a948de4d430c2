// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "impl/plan/plan_text.hpp"

namespace underlap::plan {

/// "file:line:column: message" of every error.
inline std::vector<std::string> error_lines(const Matrix& matrix) {
  std::vector<std::string> lines;
  for (const Message& error : matrix.errors) lines.push_back(error.where + ": " + error.message);
  return lines;
}

inline std::vector<std::string> errors_of(const std::string& yaml) { return error_lines(parse(yaml, "f")); }

/// The plan of a configuration that must be right and has one cell.
inline Plan plan_of(const std::string& yaml) {
  Matrix matrix = parse(yaml, "f");
  EXPECT_THAT(error_lines(matrix), testing::IsEmpty()) << yaml;
  EXPECT_EQ(matrix.cells.size(), 1U);
  return matrix.cells.front().plan;
}

/// The plan for people, on a wide terminal.
inline std::string text_of(const Plan& plan) { return to_text(plan, {.width = 160}); }

/// The knob named `name`; fails the test where the plan does not report it.
inline Knob knob_of(const Plan& plan, const std::string& name) {
  const auto found = std::find_if(plan.knobs.begin(), plan.knobs.end(), [&](const Knob& k) { return k.name == name; });
  if (found != plan.knobs.end()) return *found;
  ADD_FAILURE() << "no knob " << name;
  return {};
}

/// "effective source" of a knob.
inline std::string outcome(const Plan& plan, const std::string& name) {
  const Knob knob = knob_of(plan, name);
  return to_json_text(knob.effective) + " " + knob.source;
}

}  // namespace underlap::plan
