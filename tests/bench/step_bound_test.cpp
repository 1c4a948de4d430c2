// SPDX-License-Identifier: Apache-2.0
// Steps of gpt3-175b in virtual time against the bounds of their schedules.
#include <gmock/gmock.h>

#include <algorithm>
#include <stdexcept>

#include "bench/claims/evidence.hpp"

namespace underlap::bench {
namespace {

const CellSummary& cell_named(const Evidence& evidence, const std::string& name) {
  const auto found = std::find_if(evidence.cells.begin(), evidence.cells.end(),
                                  [&](const ClaimCell& cell) { return cell.name == name; });
  if (found == evidence.cells.end() || !found->run) throw std::invalid_argument("no cell " + name + " that ran");
  return *found->run;
}

TEST(TensorParallelLayer, GainsByThePresetMadeForItAndLosesByWaiting) {
  const Evidence evidence = gather_evidence(UNDERLAP_SOURCE_DIR "/bench/matrices/tp_modelled.yaml", true);
  const CellSummary& preset = cell_named(evidence, "preset");
  const CellSummary& off = cell_named(evidence, "off");
  EXPECT_LT(preset.step_ms->value, off.step_ms->value);
  EXPECT_LT(preset.exposed_ms->value, off.exposed_ms->value / 2);
  EXPECT_GT(cell_named(evidence, "waited").step_ms->value, off.step_ms->value);
  EXPECT_LE(*preset.step_ratio_to_bound, 1.05);
  for (const ClaimCell& cell : evidence.cells) EXPECT_GE(*cell.run->step_ratio_to_bound, 1) << cell.name;
}

TEST(ComposedStep, TakesLittleMoreThanItsScheduleForces) {
  const Evidence evidence = gather_evidence(UNDERLAP_SOURCE_DIR "/tests/bench/gpt3_175b_composed.yaml", true);
  ASSERT_EQ(evidence.cells.size(), 1);
  EXPECT_GE(*evidence.cells[0].run->step_ratio_to_bound, 1);
  EXPECT_LE(*evidence.cells[0].run->step_ratio_to_bound, 1.05);
}

}  // namespace
}  // namespace underlap::bench
