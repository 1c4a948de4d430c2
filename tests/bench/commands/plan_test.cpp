// SPDX-License-Identifier: Apache-2.0
// `underlap plan`: what it gives as JSON, and that it finds what `run` refuses. tests/data/commands/plan.txt has what
// it prints.
#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

TEST(Plan, FindsWhatRunRefusesWithItsPlace) {
  const RunFolder folder(tiny_config("matrix: {run.blocks: [1, 2]}\n"));
  const Outcome planned = underlap_program({"plan", folder.config()});
  EXPECT_THAT(planned, fails_with(2, "all cells of a matrix share their blocks"));
  EXPECT_THAT(planned.err, StartsWith(folder.config() + ":"));
  EXPECT_THAT(planned.out, IsEmpty());
  EXPECT_EQ(underlap_program(folder.arguments()).err, planned.err);
  EXPECT_FALSE(fs::exists(folder.run()));
}

// The errors of a configuration, on standard output alone.
Json refused_as_json(const std::string& config, const std::string& command = "plan") {
  const Outcome outcome = underlap_program({command, config, "--json"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, IsEmpty());
  return parse_json(outcome.out);
}

TEST(Plan, TellsErrorsAsJsonOnceAndOnStandardOutputAlone) {
  const RunFolder folder(tiny_config(std::string(kOffAndOn) + "run_: {}\nmodle: {}\n"));
  const Json json = refused_as_json(folder.config());
  EXPECT_EQ(json["schema"], "underlap.errors/1");
  ASSERT_EQ(json["errors"].size(), 2U);
  EXPECT_THAT(json["errors"][1]["where"].get<std::string>(), HasSubstr("config.yaml:"));
  EXPECT_THAT(json["errors"][1]["message"].get<std::string>(), HasSubstr("unknown key \"modle\""));
  EXPECT_EQ(json["errors"][1]["hint"], "did you mean model?");
}

TEST(Plan, TellsOfAFileThatCannotBeReadAsJsonToo) {
  const TemporaryFolder folder;
  for (const std::string command : {"plan", "check"}) {
    const Json error = refused_as_json(folder / "none.yaml", command)["errors"][0];
    EXPECT_EQ(error["where"].get<std::string>(), std::string(folder / "none.yaml"));
    EXPECT_THAT(error["message"].get<std::string>(), StartsWith("no such file"));
  }
}

TEST(Plan, HoldsTheErrorsOfOneConfiguration) {
  const RunFolder folder("model: {preset: tiny}\nrun: {stepz: 1}\n");
  const Json json = refused_as_json(folder.config());
  EXPECT_EQ(json["schema"], "underlap.plan/1");
  EXPECT_EQ(json["errors"][0]["hint"], "did you mean run.steps?");
}

TEST(Plan, HoldsTheErrorsOfAWrongCellBesideTheOtherCells) {
  const RunFolder folder(
      tiny_config("matrix: {cell: [{name: good}, {name: bad, model.tensor_model_parallel_size: 3}]}\n"));
  const Json json = refused_as_json(folder.config());
  EXPECT_EQ(json["schema"], "underlap.plans/1");
  ASSERT_EQ(json["cells"].size(), 2U);
  EXPECT_THAT(json["cells"][0]["plan"]["errors"], IsEmpty());
  EXPECT_FALSE(json["cells"][0]["plan"]["knobs"].empty());
  EXPECT_EQ(json["cells"][1]["name"], "bad");
  EXPECT_THAT(json["cells"][1]["plan"]["errors"][0]["message"].get<std::string>(),
              HasSubstr("not divisible by tensor_model_parallel_size (3)"));
  const std::string holding = fs::path(folder.config()).parent_path().string();
  const auto of_folder = parse_json(underlap_program({"plan", holding, "--json"}).out);
  EXPECT_EQ(of_folder["files"].at(0)["plans"], json);
}

TEST(Plan, HoldsEachConfigurationOfAFolder) {
  const TemporaryFolder folder;
  write_text(folder / "a.yaml", "model: {preset: tiny}\n");
  write_text(folder / "b.yml", "model: {preset: tiny}\ntrain: 4\n");
  EXPECT_EQ(parse_json(underlap_program({"plan", folder / "", "--sarif"}).out)["runs"][0]["results"].size(), 1U);
  EXPECT_EQ(parse_json(underlap_program({"plan", folder / "", "--json"}).out)["files"].size(), 2U);
}

}  // namespace
}  // namespace underlap::bench
