// SPDX-License-Identifier: Apache-2.0
// Steps of gpt3-175b in virtual time against the bounds of their schedules.

#include <algorithm>
#include <stdexcept>

#include "bench/measure/bound.hpp"
#include "impl/device/sim/machine.hpp"
#include "research/studies/claims/evidence.hpp"

namespace underlap::bench {
namespace {

const ClaimCell& cell_named(const Evidence& evidence, const std::string& name) {
  const auto found = std::ranges::find_if(evidence.cells, [&](const ClaimCell& cell) { return cell.name == name; });
  if (found == evidence.cells.end() || !found->run) throw std::invalid_argument("no cell " + name + " that ran");
  return *found;
}

// The step over bound_schedule.
double ratio_to_bound(const ClaimCell& cell) {
  const StepBound bound = step_bound(cell.plan.config, *sim::make_time_model(cell.plan.config));
  return cell.run->step_ms->value * 1e6 / static_cast<double>(bound.ns->schedule_ns);
}

TEST(TensorParallelLayer, GainsByThePresetMadeForItAndLosesByWaiting) {
  const Evidence evidence = gather_evidence(UNDERLAP_SOURCE_DIR "/bench/matrices/tp_modelled.yaml", true);
  const ClaimCell& preset = cell_named(evidence, "preset");
  const report::CellSummary& off = *cell_named(evidence, "off").run;
  EXPECT_LT(preset.run->step_ms->value, off.step_ms->value);
  EXPECT_LT(preset.run->exposed_ms->value, off.exposed_ms->value / 2);
  EXPECT_GT(cell_named(evidence, "waited").run->step_ms->value, off.step_ms->value);
  EXPECT_LE(ratio_to_bound(preset), 1.05);
  for (const ClaimCell& cell : evidence.cells) EXPECT_GE(ratio_to_bound(cell), 1) << cell.name;
}

TEST(ComposedStep, TakesLittleMoreThanItsScheduleForces) {
  const Evidence evidence = gather_evidence(UNDERLAP_SOURCE_DIR "/tests/bench/measure/gpt3_175b_composed.yaml", true);
  ASSERT_EQ(evidence.cells.size(), 1);
  const double ratio = ratio_to_bound(evidence.cells[0]);
  EXPECT_GE(ratio, 1);
  EXPECT_LE(ratio, 1.05);
}

}  // namespace
}  // namespace underlap::bench
