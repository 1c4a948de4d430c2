// SPDX-License-Identifier: Apache-2.0
// What a newcomer begins with must work as it is.
#include "impl/device/sim/hardware.hpp"
#include "impl/plan/plan.hpp"
#include "profiler/report/results.hpp"
#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

using ::testing::HasSubstr;

class StartingConfig : public ::testing::TestWithParam<std::string> {};

TEST_P(StartingConfig, PlansAllThatItAsksForAndFitsItsMachine) {
  const testing_support::TemporaryFolder folder;
  const std::string file = folder / "config.yaml";
  ASSERT_EQ(underlap_program({"init", "--like", GetParam(), file}).exit_code, 0);
  const Outcome planned = underlap_program({"plan", "--strict", file});
  EXPECT_EQ(planned.exit_code, 0) << planned.err;
  const plan::Matrix matrix = plan::parse(testing_support::read_text(file), file);
  ASSERT_EQ(matrix.cells.size(), 3U);  // off, on, without transfers
  for (const plan::Cell& cell : matrix.cells) {
    EXPECT_THAT(cell.plan.not_run, ::testing::IsEmpty());
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

TEST(Init, WritesWhatThisHostChecksAndMeasures) {
  const RunFolder folder("");
  ASSERT_EQ(underlap_program({"init", "--force", folder.config()}).exit_code, 0);
  EXPECT_EQ(underlap_program({"check", "--no-numerics", folder.config()}).exit_code, 0);
  ASSERT_EQ(underlap_program(folder.arguments({"--blocks", "1", "--steps", "1"})).exit_code, 0);
  EXPECT_TRUE(traits_of(report::read_results(folder.run()).info.backend).measures_time);
}

TEST(Init, WritesALargeModelThatIsModelled) {
  const RunFolder folder("");
  ASSERT_EQ(underlap_program({"init", "--force", "--like", "llama3-8b", folder.config()}).exit_code, 0);
  ASSERT_EQ(underlap_program(folder.arguments()).exit_code, 0);
  EXPECT_FALSE(traits_of(report::read_results(folder.run()).info.backend).measures_time);
}

TEST(Init, NamesTheCommandsThatFollow) {
  const testing_support::TemporaryFolder folder;
  const std::string file = folder / "mine.yaml";
  EXPECT_THAT(underlap_program({"init", file}).out, HasSubstr("underlap run " + file));
  EXPECT_THAT(testing_support::read_text(file), HasSubstr("underlap run " + file + " -o DIR"));
}

TEST(Init, OverwritesAFileOnlyWhereItIsTold) {
  const testing_support::TemporaryFolder folder;
  const std::string file = folder / "config.yaml";
  testing_support::write_text(file, "mine\n");
  EXPECT_THAT(underlap_program({"init", file}), fails_with(2, "is there already: name another file, or --force"));
  EXPECT_EQ(testing_support::read_text(file), "mine\n");
  EXPECT_EQ(underlap_program({"init", file, "--force"}).exit_code, 0);
  EXPECT_THAT(testing_support::read_text(file), HasSubstr("preset: tiny"));
}

TEST(Init, WritesToStandardOutputWhereTheFileIsADash) {
  const Outcome outcome = underlap_program({"init", "--like", "gpt3-20b", "-"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("preset: gpt3-20b"));
}

TEST(Init, RefusesAPresetThatThereIsNoneOf) {
  EXPECT_THAT(underlap_program({"init", "--like", "llama3-8", "-"}), fails_with(2, "did you mean llama3-8b?"));
}

}  // namespace
}  // namespace underlap::bench
