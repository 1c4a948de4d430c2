// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/layout/layer_range.hpp"
#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

std::string pipeline(int layers, int stages, int chunks, const std::string& more) {
  return "model: {preset: tiny, num_layers: " + std::to_string(layers) +
         ", pipeline_model_parallel_size: " + std::to_string(stages) +
         (chunks > 1 ? ", virtual_pipeline_model_parallel_size: " + std::to_string(chunks) : "") + ", " + more +
         "}\ntrain: {num_microbatches: 24}\n";
}

/// Layers of each range, the first of every stage before the second of any.
std::vector<std::int32_t> ranges_of(const std::string& yaml) {
  const Config config = plan_of(yaml).config;
  std::vector<std::int32_t> counts;
  std::int32_t next = 0;
  for (std::int32_t c = 0; c < config.parallel.virtual_pipeline_model_parallel_size; ++c)
    for (std::int32_t s = 0; s < config.parallel.pipeline_model_parallel_size; ++s) {
      const LayerRange range = layers_of(config, s, c);
      EXPECT_EQ(range.first_layer, next);
      next += range.num_layers;
      counts.push_back(range.num_layers);
    }
  EXPECT_EQ(next, config.model.num_layers);
  return counts;
}

const std::string kLayout = "pipeline_model_parallel_layout: ";
const std::string kBothCount =
    "account_for_embedding_in_pipeline_split: true, account_for_loss_in_pipeline_split: true";

TEST(LayersOfStages, FollowTheEndsTheCountsOrTheLayout) {
  const std::vector<std::pair<std::string, std::vector<std::int32_t>>> cases = {
      {pipeline(10, 4, 1, "num_layers_in_first_pipeline_stage: 1, num_layers_in_last_pipeline_stage: 3"), {1, 3, 3, 3}},
      {pipeline(8, 3, 2, "num_layers_in_last_pipeline_stage: 4"), {1, 1, 2, 1, 1, 2}},
      {pipeline(14, 2, 4, kBothCount), {1, 2, 2, 2, 2, 2, 2, 1}},
      {pipeline(8, 2, 1, kLayout + "Et*3|t*5L"), {3, 5}},
      {pipeline(6, 2, 1, kLayout + "'Et|t*2|(t|)tt L'"), {1, 2, 1, 2}},
      {pipeline(3, 2, 1, kLayout + "[[embedding, decoder], [decoder, decoder, loss]]"), {1, 2}}};
  for (const auto& [yaml, layers] : cases) EXPECT_EQ(ranges_of(yaml), layers) << yaml;
  EXPECT_EQ(ranges_of(pipeline(6, 2, 4, kBothCount)), (std::vector<std::int32_t>{0, 1, 1, 1, 1, 1, 1, 0}));
  EXPECT_THAT(plan_of(pipeline(4, 2, 2, kLayout + "'Ett||tt|L'")).not_run.at(0).message,
              HasSubstr("neither layers nor embedding nor loss"));
}

TEST(LayersOfStages, RefuseWhatLeavesLayersOverOrIsNoLayout) {
  expect_refused({
      {pipeline(8, 4, 1, "num_layers_in_first_pipeline_stage: 1"), "7 of 8 layers remain for 3 other pipeline stages"},
      {pipeline(16, 2, 4, kBothCount), "18 layers, counting embedding and loss"},
      {pipeline(14, 2, 4, kBothCount + ", num_layers_in_first_pipeline_stage: 4"), "exclude layer counts"},
      {pipeline(6, 2, 1, kLayout + "'(Et|)t*2|(t|)*2tL'"), "has 5 ranges"},
      {pipeline(4, 2, 1, kLayout + "Et*3|t*5L"), "has 8 layers, but model.num_layers is 4"},
      {pipeline(4, 2, 1, kLayout + "Ex|tL"), "is invalid"},
      {pipeline(4, 2, 1, kLayout + "'" + std::string(500'000, '(') + "'"), "is invalid"},
  });
}

TEST(LayersOfStages, MakeLlama405BValidWithItsOwnLayers) {
  const std::string model =
      "model: {preset: llama3.1-405b, tensor_model_parallel_size: 8, sequence_parallel: true, "
      "pipeline_model_parallel_size: 8, virtual_pipeline_model_parallel_size: 8";
  const std::string train = "}\ntrain: {num_microbatches: 24}\n";
  expect_refused({{model + train, "num_layers is 126"}});
  EXPECT_THAT(errors_of(model + ", " + kBothCount + train), IsEmpty());
}

}  // namespace
}  // namespace underlap::plan
