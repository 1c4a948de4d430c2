// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "impl/plan/plan_text.hpp"
#include "tests/testing.hpp"

namespace underlap::plan {

/// "file:line:column: message" of each message.
inline std::vector<std::string> lines_of(const std::vector<Message>& messages) {
  std::vector<std::string> lines;
  for (const Message& message : messages) lines.push_back(message.text());
  return lines;
}

inline std::vector<std::string> error_lines(const Matrix& matrix) { return lines_of(matrix.errors); }
inline std::vector<std::string> errors_of(const std::string& yaml) { return error_lines(parse(yaml, "f")); }

/// Matches a list of one line that holds `text`.
inline auto Only(const std::string& text) { return ElementsAre(HasSubstr(text)); }

/// A configuration, and a part of the only error or notice that it has.
struct OneMessage {
  std::string yaml;
  std::string text;
};

inline void expect_refused(const std::vector<OneMessage>& cases) {
  for (const auto& [yaml, error] : cases) EXPECT_THAT(errors_of(yaml), Only(error)) << yaml;
}

/// The plan of a configuration that must be right and has one cell.
inline Plan plan_of(const std::string& yaml) {
  Matrix matrix = parse(yaml, "f");
  EXPECT_THAT(error_lines(matrix), IsEmpty()) << yaml;
  EXPECT_EQ(matrix.cells.size(), 1U);
  return matrix.cells.front().plan;
}

inline std::vector<std::string> notices_of(const std::string& yaml) { return lines_of(plan_of(yaml).notices); }

inline void expect_noticed(const std::vector<OneMessage>& cases) {
  for (const auto& [yaml, notice] : cases) EXPECT_THAT(notices_of(yaml), Only(notice)) << yaml;
}

/// The plan for people, on a wide terminal.
inline std::string text_of(const Plan& plan) { return to_text(plan, {.width = 160}); }

/// The knob named `name`; fails the test where the plan does not report it.
inline Knob knob_of(const Plan& plan, const std::string& name) {
  const auto found = std::ranges::find_if(plan.knobs, [&](const Knob& k) { return k.name == name; });
  if (found != plan.knobs.end()) return *found;
  ADD_FAILURE() << "no knob " << name;
  return {};
}

/// "effective source" of a knob.
inline std::string outcome(const Plan& plan, const std::string& name) {
  const Knob knob = knob_of(plan, name);
  return to_json_text(knob.effective) + " " + knob.source;
}

/// A configuration, and "effective source" of a knob in its plan.
struct KnobOutcome {
  std::string yaml;
  std::string knob;
  std::string expected;
};

inline void expect_outcomes(const std::vector<KnobOutcome>& cases) {
  for (const auto& [yaml, knob, expected] : cases)
    EXPECT_EQ(outcome(plan_of(yaml), knob), expected) << knob << " of\n" << yaml;
}

}  // namespace underlap::plan
