// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/layout/chunk_buckets.hpp"

#include <map>
#include <set>

#include "tests/testing.hpp"

namespace underlap::plan {
namespace {

Config config_of(const std::string& yaml) {
  const Matrix matrix = parse(yaml, "f");
  EXPECT_TRUE(matrix.errors.empty()) << matrix.errors.front().message;
  return matrix.cells.at(0).plan.config;
}

/// Four layers of 128 hidden, 384 inside the MLP, four heads and two key/value heads; 256 tokens.
Config tiny(const std::string& model, const std::string& rest = "") {
  return config_of("model: {preset: tiny, " + model + "}\ndata_parallel_size: 2\ntrain: {num_microbatches: 4}\n" +
                   rest);
}

std::vector<Parameter> weights_of(const Config& config, std::int32_t stage, std::int32_t chunk) {
  return chunk_parameters(config, stage, chunk, {config.parallel.tensor_model_parallel_size, 0}).all;
}

std::vector<std::string> names_of(const Config& config, std::int32_t stage, std::int32_t chunk) {
  std::vector<std::string> names;
  for (const Parameter& parameter : weights_of(config, stage, chunk)) names.push_back(parameter.name);
  return names;
}

std::int64_t elements_of(const Config& config, std::int32_t stage, const std::string& name) {
  for (const Parameter& parameter : weights_of(config, stage, 0))
    if (parameter.name == name) return parameter.elements();
  return -1;
}

TEST(ChunkParameters, OneChunkIsTheWholeModel) {
  const Config config = tiny("");
  std::vector<std::string> names;
  for (const Parameter& parameter : list_parameters(config.model).all) names.push_back(parameter.name);
  EXPECT_EQ(names_of(config, 0, 0), names);
}

TEST(ChunkParameters, FollowTheOrderOfMegatronsModules) {
  EXPECT_THAT(names_of(tiny("num_layers: 1, position_embedding_type: rope"), 0, 0),
              ElementsAre("word_embedding", "layer0.proj", "layer0.attention_norm", "layer0.qkv", "layer0.mlp_norm",
                          "layer0.fc1", "layer0.fc2", "final_norm", "head"));
}

TEST(ChunkParameters, HaveBiasesWhereTheModelHasThem) {
  const Config config = tiny(
      "num_layers: 2, tensor_model_parallel_size: 2, add_bias_linear: true, "
      "normalization: LayerNorm, pipeline_model_parallel_size: 2");
  EXPECT_THAT(names_of(config, 1, 0),
              ElementsAre("layer1.proj", "layer1.proj_bias", "layer1.attention_norm", "layer1.attention_norm_bias",
                          "layer1.qkv", "layer1.qkv_bias", "layer1.mlp_norm", "layer1.mlp_norm_bias", "layer1.fc1",
                          "layer1.fc1_bias", "layer1.fc2", "layer1.fc2_bias", "final_norm", "final_norm_bias", "head"));
  EXPECT_EQ(elements_of(config, 1, "layer1.qkv_bias"), 128) << "a tensor-parallel rank's part";
  EXPECT_EQ(elements_of(config, 1, "layer1.fc1_bias"), 384);
  EXPECT_EQ(elements_of(config, 1, "layer1.fc2_bias"), 128) << "whole, on every rank";
}

TEST(ChunkParameters, HaveHeadsAsLargeAsTheModelSaysAndBiasesOfQkvAlone) {
  const Config config = tiny("num_layers: 1, kv_channels: 48, add_qkv_bias: true, position_embedding_type: rope");
  EXPECT_THAT(names_of(config, 0, 0), AllOf(Contains("layer0.qkv_bias"), SizeIs(10)));
  EXPECT_EQ(elements_of(config, 0, "layer0.qkv"), (4 + 2 * 2) * 48 * 128);
  EXPECT_EQ(elements_of(config, 0, "layer0.qkv_bias"), (4 + 2 * 2) * 48);
  EXPECT_EQ(elements_of(config, 0, "layer0.proj"), 128 * 4 * 48);
}

TEST(ChunkParameters, ChunksTakeTurnsOverTheStages) {
  const Config config = tiny("pipeline_model_parallel_size: 2, virtual_pipeline_model_parallel_size: 2");
  const auto has = [](std::string name) { return Contains(std::move(name)); };
  EXPECT_THAT(names_of(config, 0, 0), AllOf(has("word_embedding"), has("layer0.qkv"), SizeIs(8)));
  EXPECT_THAT(names_of(config, 1, 0), AllOf(has("layer1.qkv"), SizeIs(6)));
  EXPECT_THAT(names_of(config, 0, 1), AllOf(has("layer2.fc2"), SizeIs(6)));
  EXPECT_THAT(names_of(config, 1, 1), AllOf(has("layer3.qkv"), has("final_norm"), has("head"), SizeIs(8)));
}

// A weight begins with values that follow from its number.
TEST(ChunkParameters, HaveTheNumbersThatTheyHaveInTheWholeModel) {
  for (const char* const model : {"position_embedding_type: rope", "position_embedding_type: learned_absolute",
                                  "add_bias_linear: true, normalization: LayerNorm",
                                  "share_embeddings_and_output_weights: true, add_bias_linear: true"}) {
    const Config config = tiny(std::string(model) + ", pipeline_model_parallel_size: 2");
    std::map<std::string, std::int32_t> numbers;
    for (const Parameter& parameter : list_parameters(config.model).all) numbers[parameter.name] = parameter.number;
    for (const std::int32_t stage : {0, 1})
      for (const Parameter& parameter : weights_of(config, stage, 0))
        EXPECT_EQ(parameter.number, numbers.at(parameter.name)) << model << ": " << parameter.name;
    std::set<std::int32_t> distinct;
    for (const auto& [name, number] : numbers) distinct.insert(number);
    EXPECT_EQ(distinct.size(), numbers.size()) << model;
  }
}

TEST(ChunkParameters, ATiedHeadIsACopyOnItsOwnStage) {
  const std::string tied = "share_embeddings_and_output_weights: true";
  const auto last = weights_of(tiny(tied + ", pipeline_model_parallel_size: 2"), 1, 0);
  EXPECT_EQ(last.back().name, "word_embedding");
  EXPECT_TRUE(last.back().shared_embedding);
  EXPECT_EQ(names_of(tiny(tied), 0, 0).back(), "final_norm");
}

TEST(ChunkParameters, TensorRanksSplitLinearWeightsAndTablesAlone) {
  const Config config = tiny("tensor_model_parallel_size: 2, sequence_parallel: true");
  EXPECT_EQ(elements_of(config, 0, "layer0.qkv"), 128 * 128);
  EXPECT_EQ(elements_of(config, 0, "layer0.proj"), 128 * 64);
  EXPECT_EQ(elements_of(config, 0, "layer0.fc1"), 384 * 128);
  EXPECT_EQ(elements_of(config, 0, "layer0.fc2"), 128 * 192);
  EXPECT_EQ(elements_of(config, 0, "layer0.mlp_norm"), 128);
  EXPECT_EQ(elements_of(config, 0, "word_embedding"), 128 * 128);
  EXPECT_EQ(elements_of(config, 0, "head"), 128 * 128);
  const Config four = tiny("tensor_model_parallel_size: 4, sequence_parallel: true");
  EXPECT_EQ(elements_of(four, 0, "layer0.qkv"), (4 + 2 * 2) * 32 / 4 * 128)
      << "two ranks share a key and value head, and its features";
}

TEST(PlanBuckets, AreThoseOfEveryChunkOfEveryStage) {
  const Plan plan = parse(
                        "model: {preset: tiny, pipeline_model_parallel_size: 2, "
                        "virtual_pipeline_model_parallel_size: 2}\n"
                        "data_parallel_size: 2\ntrain: {num_microbatches: 4}\n"
                        "comm_overlap: {bucket_size: 100000}\n",
                        "f")
                        .cells.at(0)
                        .plan;
  const std::vector<ChunkBuckets> laid_out = chunk_buckets(plan.config);
  ASSERT_EQ(plan.buckets.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(plan.buckets[i].stage, i / 2);
    EXPECT_EQ(plan.buckets[i].chunk, i % 2);
    EXPECT_EQ(plan.buckets[i].elements, laid_out[i].elements);
  }
  const std::int64_t layer = (4 + 2 * 2) * 32 * 128 + 128 * 128 + 3 * 384 * 128 + 2 * 128;
  EXPECT_THAT(plan.buckets[1].elements, ElementsAre(layer)) << "one layer, which is a multiple of 128 elements";
}

TEST(PlanBuckets, AreLeftOutWhereTheCellIsWrong) {
  const auto num_buckets = [](const std::string& yaml) { return parse(yaml, "f").cells.at(0).plan.buckets.size(); };
  EXPECT_EQ(num_buckets("model: {preset: tiny}\n"), 1U);
  EXPECT_EQ(num_buckets("model: {preset: tiny}\nrun: {stepz: 3}\n"), 0U);
  EXPECT_EQ(num_buckets("model: {preset: tiny, num_layers: 10000}\n"), 1U);
  EXPECT_EQ(num_buckets("model: {preset: tiny, num_layers: 10001}\n"), 0U);
  EXPECT_EQ(num_buckets("model: {preset: tiny, ffn_hidden_size: 1099511627776}\n"), 0U);
}

TEST(ChunkBuckets, OnlyTheFirstChunkOfTheFirstStageIsCut) {
  Config config = tiny("pipeline_model_parallel_size: 2, virtual_pipeline_model_parallel_size: 2",
                       "comm_overlap: {bucket_size: 100000}\n");
  const auto counts = [&] {
    std::vector<std::size_t> buckets;
    for (const ChunkBuckets& chunk : chunk_buckets(config)) buckets.push_back(chunk.elements.size());
    return buckets;
  };
  EXPECT_THAT(counts(), ElementsAre(2, 1, 1, 1));
  config.extensions.bucket_every_stage = true;
  EXPECT_THAT(counts(), ElementsAre(2, 2, 2, 2));
  config.optimizer.overlap_param_gather_with_optimizer_step = true;
  EXPECT_THAT(counts(), ElementsAre(1, 1, 1, 1));
}

TEST(ChunkBuckets, ArePaddedSoThatEveryShardIsWhole) {
  const Config config = tiny("pipeline_model_parallel_size: 2");
  for (const ChunkBuckets& chunk : chunk_buckets(config))
    for (const std::int64_t elements : chunk.elements) EXPECT_EQ(elements % 128, 0);
}

TEST(ChunkBuckets, ArePaddedForTheShardsOfOneInstance) {
  Config config = tiny("");
  config.parallel.data_parallel_size = 21;
  const std::int64_t of_one_instance = chunk_buckets(config)[0].elements[0];
  config.ddp.num_distributed_optimizer_instances = 3;
  const std::int64_t of_three = chunk_buckets(config)[0].elements[0];
  EXPECT_EQ(of_one_instance % (21 * 128), 0);
  EXPECT_EQ(of_three % (7 * 128), 0);
  EXPECT_LT(of_three, of_one_instance);
}

}  // namespace
}  // namespace underlap::plan
