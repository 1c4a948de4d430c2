// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>

#include <stdexcept>
#include <string>
#include <string_view>

#include "impl/plan/plan.hpp"
#include "research/studies/claims/judge.hpp"

namespace underlap::bench::claims_testing {

inline constexpr double kNoticeable = 0.01;

// Cells of a matrix, planned and not run.
inline Evidence planned(const std::string& yaml) {
  Evidence evidence{.link = {}, .cells = {}, .not_run = {}, .knobs = plan::known_knobs()};
  const plan::Matrix matrix = plan::parse("model: {preset: tiny}\nrun: {backend: sim}\n" + yaml, "a.yaml");
  EXPECT_THAT(matrix.errors, testing::IsEmpty());
  for (const plan::Cell& cell : matrix.cells) {
    ClaimCell& found = evidence.cells.emplace_back();
    found.name = cell.name;
    found.values = {cell.values.begin(), cell.values.end()};
    found.plan = cell.plan;
  }
  return evidence;
}

inline void set_step(ClaimCell& cell, double step_ms) {
  if (!cell.run) cell.run.emplace();
  cell.run->step_ms = report::Estimate{.value = step_ms, .interval = {}, .blocks = 1};
  cell.run->exposed_ms = report::Estimate{.value = 1, .interval = {}, .blocks = 1};
}

inline void set_purpose(ClaimCell& cell, const std::string& purpose, report::PurposeSummary of) {
  if (!cell.run) set_step(cell, 100);
  cell.run->purposes[purpose] = of;
}

inline Finding found(std::string_view id, const Evidence& evidence) {
  const Judge* const judge = judge_of(id);
  if (judge == nullptr) throw std::out_of_range(std::string(id));
  return examine(*judge, evidence, kNoticeable);
}

inline Verdict verdict(std::string_view id, const Evidence& evidence) {
  return verdict_of(evidence, found(id, evidence));
}

}  // namespace underlap::bench::claims_testing
