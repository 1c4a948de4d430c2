// SPDX-License-Identifier: Apache-2.0
// The layer of gpt3-175b over 4 ranks in virtual time: bench/matrices/tp_modelled.yaml.
#include <gmock/gmock.h>

#include <algorithm>
#include <stdexcept>

#include "bench/claims/evidence.hpp"

namespace underlap::bench {
namespace {

const ClaimCell& cell_named(const Evidence& evidence, const std::string& name) {
  const auto found = std::find_if(evidence.cells.begin(), evidence.cells.end(),
                                  [&](const ClaimCell& cell) { return cell.name == name; });
  if (found == evidence.cells.end() || !found->run) throw std::invalid_argument("no cell " + name + " that ran");
  return *found;
}

TEST(TensorParallelLayer, GainsByThePresetMadeForItAndLosesByWaiting) {
  const Evidence evidence = gather_evidence(UNDERLAP_SOURCE_DIR "/bench/matrices/tp_modelled.yaml", true);
  const CellSummary& preset = *cell_named(evidence, "preset").run;
  const CellSummary& off = *cell_named(evidence, "off").run;
  EXPECT_LT(preset.step_ms->value, off.step_ms->value);
  EXPECT_LT(preset.exposed_ms->value, off.exposed_ms->value / 2);
  EXPECT_GT(cell_named(evidence, "waited").run->step_ms->value, off.step_ms->value);
}

}  // namespace
}  // namespace underlap::bench
