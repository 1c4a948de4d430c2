// SPDX-License-Identifier: Apache-2.0
#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

TEST(Override, IsStrongerThanTheFile) {
  const Matrix matrix = parse("model: {preset: tiny}\nrun: {link_gbps: 8, steps: 3}", "f", {{"run.link_gbps", "4"}});
  ASSERT_THAT(error_lines(matrix), IsEmpty());
  EXPECT_EQ(matrix.cells[0].plan.config.run.link_gbps, 4);
  EXPECT_EQ(matrix.cells[0].plan.config.run.steps, 3);
}

TEST(Override, IsWeakerThanAnAxis) {
  const Matrix matrix = parse("model: {preset: tiny}\nmatrix: {run.steps: [5]}", "f", {{"run.steps", "4"}});
  EXPECT_EQ(matrix.cells[0].plan.config.run.steps, 5);
}

TEST(Override, KeepsTheOneCellThatItNames) {
  const std::string yaml = "model: {preset: tiny}\nmatrix: {run.steps: [5, 6]}";
  const Matrix matrix = parse(yaml, "f", {{kOneCell, "steps=6"}});
  ASSERT_THAT(error_lines(matrix), IsEmpty());
  ASSERT_EQ(matrix.cells.size(), 1U);
  EXPECT_EQ(matrix.cells[0].plan.config.run.steps, 6);
  EXPECT_EQ(matrix.cells[0].values.size(), 1U);
  EXPECT_THAT(error_lines(parse(yaml, "f", {{kOneCell, "7"}})),
              ElementsAre(StartsWith("--cell: the matrix has no cell \"7\"; it has: steps=5; steps=6")));
}

TEST(Override, ReplacesTheSameKnobUnderAnotherName) {
  const Matrix matrix = parse("model: {preset: tiny}\ndata_parallel_size: 2\nddp: {overlap_grad_reduce: true}", "f",
                              {{"comm_overlap.overlap_grad_reduce", "false"}});
  ASSERT_THAT(error_lines(matrix), IsEmpty());
  EXPECT_FALSE(matrix.cells[0].plan.config.ddp.overlap_grad_reduce);
}

TEST(Override, ErrorsNameTheFlagAndComeAfterTheFile) {
  const Matrix matrix = parse("model: {preset: tiny}\nrun: {steps: 0}", "f",
                              {{"run.link_gbps", "fast"}, {"model.num_layers", "-1"}, {"run.link_gpbs", "1"}});
  EXPECT_THAT(error_lines(matrix),
              ElementsAre(StartsWith("f:2:14: run.steps"), StartsWith("--link-gbps: run.link_gbps must be"),
                          StartsWith("--layers: model.num_layers must be"),
                          StartsWith("--link-gpbs: unknown key \"run.link_gpbs\"; did you mean run.link_gbps?")));
}

TEST(Override, EmptyOrNullGivesTheDefaultBack) {
  for (const char* value : {"", "null"}) {
    const Matrix matrix = parse("model: {preset: tiny}\nrun: {steps: 3}", "f", {{"run.steps", value}});
    ASSERT_THAT(error_lines(matrix), IsEmpty());
    EXPECT_EQ(matrix.cells[0].plan.config.run.steps, RunConfig{}.steps);
  }
}

TEST(Override, BrokenYamlIsAnError) {
  EXPECT_THAT(error_lines(parse("model: {preset: tiny}", "f", {{"run.steps", "[1"}})),
              ElementsAre(StartsWith("--steps: not YAML")));
}

TEST(Overrides, KeepTheCellsThatTheyName) {
  const std::string yaml = "model: {preset: tiny}\nmatrix: {train.num_microbatches: [1, 2, 3]}\n";
  const auto kept = [&](const std::vector<Override>& overrides) {
    std::vector<std::string> names;
    for (const Cell& cell : parse(yaml, "f", overrides).cells) names.push_back(cell.name);
    return names;
  };
  EXPECT_THAT(kept({{kOneCell, "num_microbatches=3"}, {kOneCell, "num_microbatches=1"}}),
              ElementsAre("num_microbatches=1", "num_microbatches=3"));
  EXPECT_EQ(kept({}).size(), 3U);
}

}  // namespace
}  // namespace underlap::plan
