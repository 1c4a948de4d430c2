// SPDX-License-Identifier: Apache-2.0
#include "bench/verify/shrunk_cells.hpp"

#include "impl/plan/layout/chunk_buckets.hpp"
#include "tests/testing.hpp"

namespace underlap::bench {
namespace {

constexpr double kNothing = 1;  // as small as it goes
constexpr double kMuch = 1e30;

std::vector<plan::Cell> cells_of(const std::string& yaml) {
  plan::Matrix matrix = plan::parse(yaml, "config.yaml");
  EXPECT_THAT(matrix.errors, IsEmpty());
  return matrix.cells;
}

// The first of the cells.
ShrunkCell shrunk_cell(const std::string& yaml, double most = kNothing) {
  return shrunk_cells(cells_of(yaml), 5, most).front();
}

TEST(ShrunkCells, StayAsTheyAreWhereTheyAreSmallEnough) {
  const ShrunkCell shrunk = shrunk_cell("model: {preset: llama3-8b}\ndata_parallel_size: 2\n", kMuch);
  EXPECT_THAT(shrunk.changes, IsEmpty());
  EXPECT_EQ(shrunk.config.model.hidden_size, 4096);
}

TEST(ShrunkCells, KeepWhatAScheduleIsMadeOf) {
  const auto cells = cells_of(
      "model: {preset: llama3-8b}\ndata_parallel_size: 64\ntrain: {micro_batch_size: 4, num_microbatches: 6}\n"
      "comm_overlap: {bucket_size: 400000000}\n");
  const plan::Config before = cells.front().plan.config;
  const ShrunkCell shrunk = shrunk_cells(cells, 5, kNothing).front();
  const plan::Config& c = shrunk.config;
  EXPECT_EQ(c.train.micro_batch_size, 1);
  EXPECT_EQ(c.train.num_microbatches, 2);
  EXPECT_EQ(c.parallel.data_parallel_size, 8);
  EXPECT_EQ(c.model.num_layers, 2);
  EXPECT_EQ(c.model.vocab_size, 256);
  EXPECT_EQ(c.model.seq_length, 64);
  EXPECT_EQ(c.model.hidden_size, 64);
  EXPECT_EQ(c.model.num_attention_heads, 2 * c.model.num_query_groups);
  EXPECT_EQ(c.model.ffn_hidden_size * before.model.hidden_size, before.model.ffn_hidden_size * c.model.hidden_size);
  EXPECT_GT(bucket_layout(c).num_buckets(), 4);
  EXPECT_THAT(shrunk.changes, Contains("num_layers 32 -> 2"));
  EXPECT_THAT(shrunk.changes, Contains("data_parallel_size 64 -> 8"));
}

TEST(ShrunkCells, OfRanksThatShareKeyAndValueHeadsKeepTheirGroups) {
  const plan::Config small = shrunk_cell("model: {preset: llama3-70b, tensor_model_parallel_size: 16}\n").config;
  EXPECT_EQ(small.model.num_query_groups, 8);
  EXPECT_EQ(small.model.num_attention_heads, 32);
  EXPECT_EQ(small.model.hidden_size, 512);
}

TEST(ShrunkCells, RecomputeNoMoreLayersThanTheyHave) {
  const ShrunkCell shrunk = shrunk_cell(
      "model: {preset: llama3-8b, recompute_granularity: full, recompute_method: uniform, recompute_num_layers: 8}\n");
  EXPECT_EQ(shrunk.config.recompute.num_layers, 2);
  EXPECT_THAT(shrunk.changes, Contains("recompute_num_layers 8 -> 2"));
}

// All cells that compute the same have a layer that may be fp8, in sizes that can.
TEST(ShrunkCells, KeepALayerInFp8) {
  const auto cells = cells_of(
      "model: {preset: llama3-70b, tensor_model_parallel_size: 8, sequence_parallel: true}\n"
      "comm_overlap: {tp_comm_overlap: true}\n"
      "matrix: {mixed_precision.recipe: [bf16_mixed, bf16_with_fp8_current_scaling_mixed]}\n");
  for (const ShrunkCell& cell : shrunk_cells(cells, 5, kNothing)) {
    EXPECT_EQ(cell.config.model.num_layers, 3);
    EXPECT_EQ(cell.config.model.seq_length, 64);
    EXPECT_EQ(cell.config.model.hidden_size % (4 * 8), 0) << "four splits";
    EXPECT_EQ(cell.config.model.ffn_hidden_size % (8 * 16), 0);
  }
}

TEST(ShrunkCells, BecomeNoSmallerThanTheyNeed) {
  const ShrunkCell shrunk =
      shrunk_cell("model: {preset: tiny}\ndata_parallel_size: 2\ntrain: {micro_batch_size: 64}\n", 2e10);
  EXPECT_THAT(shrunk.changes, ElementsAre("micro_batch_size 64 -> 1"));
}

// Two cells that share a global batch must still share it.
TEST(ShrunkCells, DivideTheWorkAlike) {
  const auto cells = cells_of(
      "model: {preset: tiny}\ntrain: {micro_batch_size: 4}\nmatrix:\n  split:\n"
      "    - {name: ranks, data_parallel_size: 32, train.num_microbatches: 2}\n"
      "    - {name: microbatches, data_parallel_size: 4, train.num_microbatches: 16}\n");
  const auto shrunk = shrunk_cells(cells, 5, kNothing);
  const auto batch = [](const plan::Config& c) {
    return c.train.micro_batch_size * c.train.num_microbatches * c.parallel.data_parallel_size;
  };
  EXPECT_EQ(batch(shrunk[0].config), batch(shrunk[1].config));
  EXPECT_LT(batch(shrunk[0].config), batch(cells[0].plan.config));
}

TEST(ShrunkCells, KeepTheirRanksWhereOneOfThemCannotBeHalved) {
  const auto cells = cells_of("model: {preset: tiny}\nmatrix: {data_parallel_size: [64, 6]}\n");
  const auto shrunk = shrunk_cells(cells, 5, kNothing);
  EXPECT_EQ(shrunk[0].config.parallel.data_parallel_size, 32);
  EXPECT_EQ(shrunk[1].config.parallel.data_parallel_size, 3);
}

TEST(ShrunkCells, KeepRanksToShareTheShardsOfAnInstance) {
  const std::string yaml =
      "model: {preset: tiny}\ndata_parallel_size: 64\nddp: {num_distributed_optimizer_instances: 16}\n";
  EXPECT_EQ(shrunk_cell(yaml).config.parallel.data_parallel_size, 32);
}

// A layer is cut among tensor-parallel ranks by groups, a sequence by tokens, a model by chunks.
TEST(ShrunkCells, StayDivisible) {
  std::vector<plan::Cell> cells = cells_of("model: {preset: llama3-70b}\n");
  plan::ParallelConfig& p = cells[0].plan.config.parallel;
  p = {.tensor_model_parallel_size = 8, .pipeline_model_parallel_size = 4, .virtual_pipeline_model_parallel_size = 5};
  const plan::ModelConfig m = shrunk_cells(cells, 5, kNothing).front().config.model;
  EXPECT_EQ(m.num_layers, 20);
  EXPECT_EQ(m.num_query_groups, 8);
  EXPECT_EQ(m.num_attention_heads, 16);
  EXPECT_EQ(m.hidden_size, 256);
  EXPECT_EQ(m.ffn_hidden_size % (16 * 8), 0);
  EXPECT_EQ(m.seq_length % 16, 0);
  EXPECT_EQ(m.vocab_size % 8, 0);
}

// The splits of all pipelines of a layer divide its width.
class ShrunkSplits : public ::testing::Test {
 protected:
  plan::ModelConfig shrunk(int proj_splits, int fc2_splits) {
    std::vector<plan::Cell> cells =
        cells_of("model: {preset: llama3-8b, hidden_size: 6144, num_attention_heads: 48, num_query_groups: 8}\n");
    plan::Config& c = cells[0].plan.config;
    c.parallel.tensor_model_parallel_size = 2;
    c.tensor_overlap[plan::TensorSlot::proj_fprop] = {.method = plan::TensorMethod::pipeline,
                                                      .num_splits = proj_splits};
    c.tensor_overlap[plan::TensorSlot::fc2_fprop] = {.method = plan::TensorMethod::pipeline, .num_splits = fc2_splits};
    return shrunk_cells(cells, 5, kNothing).front().config.model;
  }
};

TEST_F(ShrunkSplits, OfAnOddNumberMakeHeadsLonger) {
  const plan::ModelConfig m = shrunk(3, 4);
  EXPECT_EQ(m.num_attention_heads, 8);
  EXPECT_EQ(m.hidden_size, 384) << "8 heads of 16 are 128, which 3 does not divide";
  EXPECT_EQ(m.head_size() * m.num_attention_heads, m.hidden_size);
}

// A cell is held against the one without overlap, which cuts nothing.
TEST(ShrunkCells, StayAsWideAsThoseThatTheyAreHeldAgainst) {
  std::vector<plan::Cell> cells = cells_of("model: {preset: llama3-8b}\nmatrix: {data_parallel_size: [2, 4, 8]}\n");
  plan::Config& pipelined = cells[1].plan.config;
  pipelined.tensor_overlap[plan::TensorSlot::proj_fprop] = {.method = plan::TensorMethod::pipeline, .num_splits = 256};
  cells[2].plan.config.parallel.tensor_model_parallel_size = 4;
  const auto shrunk = shrunk_cells(cells, 5, kNothing);
  for (const ShrunkCell& cell : shrunk) {
    EXPECT_EQ(cell.config.model.hidden_size, 256);
    EXPECT_EQ(cell.config.model.num_query_groups, 8);
    EXPECT_EQ(cell.config.model.ffn_hidden_size, shrunk[0].config.model.ffn_hidden_size);
  }
}

TEST_F(ShrunkSplits, AreNoneWithoutFeatures) { EXPECT_EQ(shrunk(256, 4).hidden_size, 256); }

TEST_F(ShrunkSplits, ThatOnlyTheWholeWidthCarriesKeepIt) { EXPECT_EQ(shrunk(3, 2048).hidden_size, 6144); }

}  // namespace
}  // namespace underlap::bench
