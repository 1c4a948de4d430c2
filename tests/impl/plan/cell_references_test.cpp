// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/cell_references.hpp"

#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

using Named = std::map<std::string, std::string>;

const std::string kTwoRanks = "model: {preset: tiny}\ndata_parallel_size: 2\n";

std::vector<Cell> cells_of(const std::string& yaml) {
  Matrix matrix = parse(yaml, "f");
  EXPECT_THAT(error_lines(matrix), IsEmpty()) << yaml;
  return matrix.cells;
}

/// Cell -> what it is held against; "" where it is nothing.
Named by_name(const std::vector<Cell>& cells, std::optional<std::size_t> CellReferences::*which) {
  Named names;
  const std::vector<CellReferences> references = cell_references(cells);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::optional<std::size_t> other = references[i].*which;
    names[cells[i].name] = other ? cells[*other].name : "";
  }
  return names;
}

Named off_cells(const std::string& yaml) { return by_name(cells_of(yaml), &CellReferences::off); }
Named no_comm_cells(const std::string& yaml) { return by_name(cells_of(yaml), &CellReferences::no_comm); }

TEST(CellReferences, DoNotHangOnWhatAxesAndSetsAreCalled) {
  const std::string matrix = kTwoRanks +
                             "matrix:\n  alpha:\n"
                             "    - {name: b, comm_overlap.overlap_grad_reduce: true}\n"
                             "    - {name: a, comm_overlap.overlap_grad_reduce: false, "
                             "comm_overlap.overlap_param_gather: false}\n"
                             "    - {name: c, comm_overlap.overlap_grad_reduce: false, "
                             "comm_overlap.overlap_param_gather: false, no_comm: true}\n";
  EXPECT_EQ(off_cells(matrix), (Named{{"a", "a"}, {"b", "a"}, {"c", "a"}}));
  EXPECT_EQ(no_comm_cells(matrix), (Named{{"a", "c"}, {"b", "c"}, {"c", "c"}}));
}

TEST(CellReferences, NameTheSwitchesThatAreInEffect) {
  const auto cells = cells_of(kTwoRanks + "extensions: {cp_overlap: true}\n");
  EXPECT_THAT(cell_references(cells)[0].overlaps,
              ElementsAre("comm_overlap.overlap_grad_reduce", "comm_overlap.overlap_param_gather"))
      << "there is no context parallelism to overlap";
}

TEST(CellReferences, AreOfCellsThatDoTheSameWork) {
  const std::string matrix = kTwoRanks +
                             "comm_overlap: {overlap_param_gather: false}\n"
                             "matrix:\n  comm_overlap.overlap_grad_reduce: [false, true]\n"
                             "  mixed_precision.grad_reduce_in_fp32: [true, false]\n";
  EXPECT_EQ(
      off_cells(matrix),
      (Named{
          {"overlap_grad_reduce=false grad_reduce_in_fp32=true", "overlap_grad_reduce=false grad_reduce_in_fp32=true"},
          {"overlap_grad_reduce=false grad_reduce_in_fp32=false",
           "overlap_grad_reduce=false grad_reduce_in_fp32=false"},
          {"overlap_grad_reduce=true grad_reduce_in_fp32=true", "overlap_grad_reduce=false grad_reduce_in_fp32=true"},
          {"overlap_grad_reduce=true grad_reduce_in_fp32=false",
           "overlap_grad_reduce=false grad_reduce_in_fp32=false"}}));
  EXPECT_EQ(off_cells(kTwoRanks + "matrix: {train.num_microbatches: [1, 2]}\n"),
            (Named{{"num_microbatches=1", ""}, {"num_microbatches=2", ""}}));
}

TEST(CellReferences, HaveTheFewestSwitchesOnThatTheMatrixHas) {
  const std::string matrix = kTwoRanks +
                             "matrix:\n  x:\n"
                             "    - {name: both}\n"
                             "    - {name: grads, comm_overlap.overlap_param_gather: false}\n"
                             "    - {name: params, comm_overlap.overlap_grad_reduce: false}\n";
  EXPECT_EQ(off_cells(matrix), (Named{{"both", "grads"}, {"grads", "grads"}, {"params", ""}}));
}

// Of two cells with different overlaps neither is the other without overlap, whichever has more of it.
TEST(CellReferences, AreNotCellsWithAnOverlapThatTheCellHasNot) {
  const std::string matrix =
      "model: {preset: tiny, context_parallel_size: 2}\ndata_parallel_size: 2\n"
      "matrix:\n  x:\n"
      "    - {name: dp, extensions.cp_overlap: false}\n"
      "    - {name: cp, comm_overlap.overlap_grad_reduce: false, "
      "comm_overlap.overlap_param_gather: false}\n";
  EXPECT_EQ(off_cells(matrix), (Named{{"dp", ""}, {"cp", ""}}));
}

// A pipeline overlaps through virtual stages, which are how it is done and no switch.
TEST(CellReferences, HoldVirtualStagesAgainstAPlainPipeline) {
  const std::string model =
      "model: {preset: tiny, num_layers: 8, pipeline_model_parallel_size: 2}\n"
      "train: {num_microbatches: 4}\n";
  EXPECT_EQ(off_cells(model + "matrix: {model.virtual_pipeline_model_parallel_size: [1, 2, 4]}\n"),
            (Named{{"virtual_pipeline_model_parallel_size=1", "virtual_pipeline_model_parallel_size=1"},
                   {"virtual_pipeline_model_parallel_size=2", "virtual_pipeline_model_parallel_size=1"},
                   {"virtual_pipeline_model_parallel_size=4", "virtual_pipeline_model_parallel_size=1"}}));
  EXPECT_EQ(off_cells(model + "matrix: {model.virtual_pipeline_model_parallel_size: [2, 4]}\n"),
            (Named{{"virtual_pipeline_model_parallel_size=2", ""}, {"virtual_pipeline_model_parallel_size=4", ""}}));
}

// What overlap needs of its surroundings means nothing without it; where the matrix has both, equals are compared.
TEST(CellReferences, TakeTheLaunchEnvironmentForAMannerOfOverlap) {
  const std::string off = "comm_overlap.overlap_grad_reduce: false, comm_overlap.overlap_param_gather: false";
  EXPECT_EQ(off_cells(kTwoRanks + "matrix:\n  x: [{name: off, " + off +
                      "}, {name: on, environment.layernorm_sm_margin: 24, "
                      "environment.cuda_device_max_connections: 1}]\n"),
            (Named{{"off", "off"}, {"on", "off"}}));
  EXPECT_EQ(off_cells(kTwoRanks + "matrix:\n  environment.layernorm_sm_margin: [16, 24]\n  x: [{name: off, " + off +
                      "}, {name: on}]\n")
                .at("layernorm_sm_margin=24 on"),
            "layernorm_sm_margin=24 off");
}

TEST(CellReferences, HoldTheFloorAgainstWhatMegatronRuns) {
  const std::string matrix =
      "model: {preset: tiny, tensor_model_parallel_size: 2, sequence_parallel: true}\n"
      "matrix:\n  x:\n"
      "    - {name: floor, extensions.tp_async_collectives: false}\n"
      "    - {name: plain}\n"
      "    - {name: ring, comm_overlap.tp_comm_overlap: true, "
      "extensions.tp_ring_transport: nccl}\n";
  EXPECT_EQ(off_cells(matrix), (Named{{"floor", "plain"}, {"plain", "plain"}, {"ring", "plain"}}));
}

TEST(CellReferences, AreRecordedAsTheCellItselfWhereOneIs) {
  const std::string matrix = kTwoRanks +
                             "comm_overlap: {overlap_param_gather: false}\n"
                             "matrix:\n  run.trace: [true, false]\n  comm_overlap.overlap_grad_reduce: [false, true]\n";
  const Named off = off_cells(matrix);
  EXPECT_EQ(off.at("trace=true overlap_grad_reduce=true"), "trace=true overlap_grad_reduce=false");
  EXPECT_EQ(off.at("trace=false overlap_grad_reduce=true"), "trace=false overlap_grad_reduce=false");
}

TEST(CellReferences, TakeComputeAloneOfTheSameWork) {
  const std::string matrix = kTwoRanks +
                             "comm_overlap: {overlap_grad_reduce: false, overlap_param_gather: false}\n"
                             "matrix:\n  x: [{name: on, comm_overlap.overlap_grad_reduce: true}, {name: off}, "
                             "{name: alone, no_comm: true}]\n"
                             "  mixed_precision.grad_reduce_in_fp32: [true, false]\n";
  EXPECT_EQ(no_comm_cells(matrix).at("on grad_reduce_in_fp32=false"), "alone grad_reduce_in_fp32=false");
}

}  // namespace
}  // namespace underlap::plan
