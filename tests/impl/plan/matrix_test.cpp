// SPDX-License-Identifier: Apache-2.0
#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

using testing::Pair;

const std::string kHead = "model: {preset: tiny}\ndata_parallel_size: 2\n";

std::vector<std::string> cell_names(const Matrix& matrix) {
  std::vector<std::string> names;
  for (const Cell& cell : matrix.cells) names.push_back(cell.name);
  return names;
}

TEST(Matrix, WithoutOneThereIsASingleCell) {
  EXPECT_THAT(cell_names(parse(kHead, "f")), ElementsAre("cell"));
  EXPECT_THAT(cell_names(parse(kHead + "matrix:\n", "f")), ElementsAre("cell"));
}

TEST(Matrix, MultipliesAxesTheLastOneFastest) {
  const Matrix matrix = parse(kHead +
                                  "matrix:\n  comm_overlap.overlap_grad_reduce: [false, true]\n"
                                  "  mixed_precision.grad_reduce_in_fp32: [true, false]\n",
                              "f");
  EXPECT_THAT(cell_names(matrix), ElementsAre("overlap_grad_reduce=false grad_reduce_in_fp32=true",
                                              "overlap_grad_reduce=false grad_reduce_in_fp32=false",
                                              "overlap_grad_reduce=true grad_reduce_in_fp32=true",
                                              "overlap_grad_reduce=true grad_reduce_in_fp32=false"));
  EXPECT_TRUE(matrix.cells[3].plan.config.ddp.overlap_grad_reduce);
  EXPECT_FALSE(matrix.cells[3].plan.config.ddp.grad_reduce_in_fp32);
  EXPECT_THAT(matrix.cells[1].values,
              ElementsAre(Pair("overlap_grad_reduce", "false"), Pair("grad_reduce_in_fp32", "false")));
}

TEST(Matrix, NamedAxisHoldsSetsOfSettings) {
  const Matrix matrix = parse(kHead +
                                  "matrix:\n  overlap:\n"
                                  "    - {name: off, comm_overlap.overlap_grad_reduce: false, run.steps: 3}\n"
                                  "    - {name: none, no_comm: true}\n",
                              "f");
  ASSERT_THAT(error_lines(matrix), IsEmpty());
  EXPECT_THAT(cell_names(matrix), ElementsAre("off", "none"));
  EXPECT_FALSE(matrix.cells[0].plan.config.ddp.overlap_grad_reduce);
  EXPECT_EQ(matrix.cells[0].plan.config.run.steps, 3);
  EXPECT_FALSE(matrix.cells[0].plan.config.run.no_comm);
  EXPECT_TRUE(matrix.cells[1].plan.config.run.no_comm);
}

TEST(Matrix, AListIsOneProductAfterAnother) {
  const Matrix matrix = parse(kHead +
                                  "matrix:\n"
                                  "  - {size: [{name: small, model.num_layers: 2}], run.steps: [3, 4]}\n"
                                  "  - {size: [{name: large}], run.blocks: [7]}\n",
                              "f");
  ASSERT_THAT(error_lines(matrix), IsEmpty());
  EXPECT_THAT(cell_names(matrix), ElementsAre("small steps=3", "small steps=4", "large blocks=7"));
  EXPECT_EQ(matrix.cells[1].plan.config.model.num_layers, 2);
  EXPECT_EQ(matrix.cells[2].plan.config.model.num_layers, 4);
  EXPECT_THAT(matrix.cells[2].values, ElementsAre(Pair("size", "large"), Pair("blocks", "7")));
}

TEST(Matrix, NullGivesAKnobBackToItsRule) {
  const Matrix matrix =
      parse(kHead + "ddp: {overlap_grad_reduce: false}\nmatrix: {ddp.overlap_grad_reduce: [null, false]}", "f");
  EXPECT_TRUE(matrix.cells[0].plan.config.ddp.overlap_grad_reduce);
  EXPECT_FALSE(matrix.cells[1].plan.config.ddp.overlap_grad_reduce);
}

TEST(Matrix, AxesThatEndAlikeKeepTheirWholePath) {
  const Matrix matrix =
      parse(kHead + "matrix: {ddp.check_for_nan_in_grad: [false], ddp.bucket_size: [4], run.seed: [5]}", "f");
  EXPECT_THAT(cell_names(matrix), ElementsAre("check_for_nan_in_grad=false bucket_size=4 seed=5"));
  const Matrix alike = parse(kHead + "matrix: {run.seed: [1], seed: [{name: a, run.steps: 1}]}", "f");
  EXPECT_THAT(cell_names(alike), ElementsAre("run.seed=1 a"));
}

TEST(Matrix, ErrorsOfACellPointIntoTheMatrix) {
  EXPECT_THAT(error_lines(parse(kHead + "matrix:\n  model.hidden_size: [128, 130]\n  run.steps: [1, 2]\n", "f")),
              ElementsAre(StartsWith("f:4:28: model.hidden_size is 130")));
}

TEST(Matrix, ValuesAreCheckedLikeTheFilesOwn) {
  EXPECT_THAT(errors_of(kHead + "matrix: {run.steps: [1, x, 0]}"),
              ElementsAre(StartsWith("f:3:25: run.steps must"), StartsWith("f:3:28: run.steps must")));
}

struct WrongMatrix {
  std::string matrix;
  std::string what;
};

class WrongMatrices : public testing::TestWithParam<WrongMatrix> {};

TEST_P(WrongMatrices, AreErrors) {
  EXPECT_THAT(errors_of(kHead + "matrix: " + GetParam().matrix), Only(GetParam().what));
}

INSTANTIATE_TEST_SUITE_P(
    Matrix, WrongMatrices,
    testing::Values(
        WrongMatrix{"[1]", "matrix must be a mapping of axes, or a list of such mappings, not \"1\""},
        WrongMatrix{"[]", "matrix must be a mapping of axes"}, WrongMatrix{"7", "matrix must be a mapping of axes"},
        WrongMatrix{"[{a: [{name: x, run.steps: 1}]}, {a: [{name: y, run.steps: 1}]}]", "request the same settings"},
        WrongMatrix{"[{a: [{name: x, run.steps: 1}]}, {a: [{name: x, run.steps: 2}]}]", "two cells are named \"x\""},
        WrongMatrix{"{run.steps: []}", "not an empty list"}, WrongMatrix{"{run.steps: 3}", "must be a list"},
        WrongMatrix{"{run.steps: {a: 1}}", "must be a list"}, WrongMatrix{"{run.step: [1]}", "did you mean run.steps?"},
        WrongMatrix{"{steps: [1]}", "it belongs at run.steps"}, WrongMatrix{"{a: [{run.steps: 1}]}", "needs a name"},
        WrongMatrix{"{a: [{name: x, run.step: 1}]}", "did you mean run.steps?"},
        WrongMatrix{"{a: [{name: x, run: {steps: 1}}]}", "write its settings with dots"},
        WrongMatrix{"{a: [{name: x y, run.steps: 1}]}", "without blanks"},
        WrongMatrix{"{a: [{name: x}, 3]}", "holds sets of settings"}, WrongMatrix{"{a: []}", "an empty list"},
        WrongMatrix{"{a: [{name: x, run.steps: 1}, {name: x, run.steps: 2}]}", "x twice"},
        WrongMatrix{"{a: [{name: x, run.steps: 1}, {name: y, run.steps: 1}]}", "request the same settings"},
        WrongMatrix{"{a: [{name: x}, {name: y}]}", "request the same settings"},
        WrongMatrix{"{a: [{name: x, ddp.bucket_size: 1, comm_overlap.bucket_size: 2}]}", "set twice in one set"},
        WrongMatrix{"{ddp.bucket_size: [1, 2], comm_overlap.bucket_size: [3]}", "both set"}));

TEST(Matrix, EqualValuesOfAnAxisAreErrors) {
  EXPECT_THAT(errors_of(kHead + "matrix: {run.steps: [1, 1]}"), Contains(HasSubstr("has 1 twice")));
}

TEST(Matrix, HasAtMost4096Cells) {
  std::string axes;
  for (const char* path : {"run.steps", "run.blocks", "run.warmup", "run.seed"})
    axes += std::string(path) + ": [1, 2, 3, 4, 5, 6, 7, 8],";
  EXPECT_EQ(parse(kHead + "matrix: {" + axes + "}", "f").cells.size(), 4096U);
  EXPECT_THAT(errors_of(kHead + "matrix: {" + axes + "run.trace: [true, false]}"), Only("more than 4096 cells"));
  EXPECT_THAT(errors_of(kHead + "matrix: [{" + axes + "}, {run.trace: [true]}]"), Only("more than 4096 cells"));
}

TEST(Matrix, TheShippedQuickMatrixPlansAndRuns) {
  const Matrix matrix = load(UNDERLAP_SOURCE_DIR "/bench/matrices/quick.yaml");
  EXPECT_THAT(error_lines(matrix), IsEmpty());
  std::vector<std::string> expected;
  for (const std::string overlap : {"off", "grads", "params", "both", "no_comm"})
    for (const std::string fp32 : {"true", "false"}) expected.push_back(overlap + " grad_reduce_in_fp32=" + fp32);
  EXPECT_EQ(cell_names(matrix), expected);
  for (const Cell& cell : matrix.cells) {
    EXPECT_THAT(cell.plan.not_run, IsEmpty());
    EXPECT_EQ(cell.plan.config.parallel.world_size(), 2);
    EXPECT_EQ(cell.plan.config.run.no_comm, cell.name.starts_with("no_comm "));
    EXPECT_EQ(cell.plan.config.ddp.grad_reduce_in_fp32, cell.name.ends_with("=true"));
  }
}

/// Every mode has a cell off, a cell on and one without transfers; in all of them the same batch is trained.
TEST(Matrix, TheShippedModesPlan) {
  const Matrix matrix = load(UNDERLAP_SOURCE_DIR "/bench/matrices/modes.yaml");
  EXPECT_THAT(error_lines(matrix), IsEmpty());
  std::vector<std::string> expected;
  for (const std::string mode : {"dp", "tp", "pp", "cp", "tp_pp_dp", "cp_pp_dp"})
    for (const std::string overlap : {"off", "on", "no_comm"}) expected.push_back(mode + " " + overlap);
  EXPECT_THAT(cell_names(matrix), testing::IsSupersetOf(expected));
  for (const Cell& cell : matrix.cells) {
    const Config& c = cell.plan.config;
    EXPECT_THAT(cell.plan.knobs, Each(testing::Field(&Knob::source, testing::Ne("gate")))) << cell.name;
    EXPECT_EQ(c.train.num_microbatches * c.train.micro_batch_size * c.parallel.data_parallel_size, 8) << cell.name;
    EXPECT_EQ(c.run.no_comm, cell.name.ends_with(" no_comm"));
    const bool has_stages = c.parallel.pipeline_model_parallel_size > 1;
    EXPECT_EQ(c.pipeline.overlap_p2p_comm, has_stages && cell.name.ends_with(" on")) << cell.name;
    EXPECT_EQ(c.parallel.virtual_pipeline_model_parallel_size, c.pipeline.overlap_p2p_comm ? 2 : 1) << cell.name;
  }
}

TEST(Matrix, TheShippedModelledModesPlanAndFit) {
  const Matrix matrix = load(UNDERLAP_SOURCE_DIR "/bench/matrices/modes_modelled.yaml");
  EXPECT_THAT(error_lines(matrix), IsEmpty());
  for (const Cell& cell : matrix.cells) {
    EXPECT_EQ(cell.plan.config.run.hardware, "h100-sxm");
    EXPECT_THAT(cell.plan.knobs, Each(testing::Field(&Knob::source, testing::Ne("gate")))) << cell.name;
    EXPECT_LE(cell.plan.peak_memory.total(), 80e9) << cell.name;
  }
}

}  // namespace
}  // namespace underlap::plan
