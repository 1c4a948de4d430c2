// SPDX-License-Identifier: Apache-2.0
// What a newcomer begins with must work as it is.
#include "impl/device/sim/hardware.hpp"
#include "impl/plan/plan.hpp"
#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

class StartingConfig : public ::testing::TestWithParam<std::string> {};

TEST_P(StartingConfig, PlansAllThatItAsksForAndFitsItsMachine) {
  const TemporaryFolder folder;
  const std::string file = folder / "config.yaml";
  expect_success({"init", "--like", GetParam(), file});
  expect_success({"plan", "--strict", file});
  const plan::Matrix matrix = plan::parse(read_text(file), file);
  ASSERT_EQ(matrix.cells.size(), 3U);  // off, on, without transfers
  for (const plan::Cell& cell : matrix.cells) {
    EXPECT_THAT(cell.plan.not_run, IsEmpty());
    if (cell.plan.config.run.traits().measures_time) continue;
    const double gpu_bytes = sim::load_hardware(cell.plan.config.run.hardware).gpu.hbm_gb.value * 1e9;
    EXPECT_LE(static_cast<double>(cell.plan.peak_memory.total()), gpu_bytes) << cell.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Presets, StartingConfig, ::testing::ValuesIn(plan::preset_names()), [](const auto& preset) {
  std::string name = preset.param;
  std::erase_if(name, [](unsigned char c) { return std::isalnum(c) == 0; });
  return name;
});

}  // namespace
}  // namespace underlap::bench
