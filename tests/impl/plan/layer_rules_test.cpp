// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/layout/layer_range.hpp"
#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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

TEST(LayersOfStages, MayBeOthersAtTheEnds) {
  EXPECT_THAT(
      ranges_of(pipeline(10, 4, 1, "num_layers_in_first_pipeline_stage: 1, num_layers_in_last_pipeline_stage: 3")),
      ElementsAre(1, 3, 3, 3));
  EXPECT_THAT(ranges_of(pipeline(8, 3, 2, "num_layers_in_last_pipeline_stage: 4")), ElementsAre(1, 1, 2, 1, 1, 2));
  EXPECT_THAT(errors_of(pipeline(8, 4, 1, "num_layers_in_first_pipeline_stage: 1")),
              ElementsAre(HasSubstr("7 of 8 layers are left for 3 other stages")));
}

TEST(LayersOfStages, CountEmbeddingAndLossWhereAsked) {
  const std::string both = "account_for_embedding_in_pipeline_split: true, account_for_loss_in_pipeline_split: true";
  EXPECT_THAT(ranges_of(pipeline(14, 2, 4, both)), ElementsAre(1, 2, 2, 2, 2, 2, 2, 1));
  EXPECT_THAT(errors_of(pipeline(16, 2, 4, both)), ElementsAre(HasSubstr("18 layers with embedding and loss counted")));
  EXPECT_THAT(errors_of(pipeline(14, 2, 4, both + ", num_layers_in_first_pipeline_stage: 4")),
              ElementsAre(HasSubstr("exclude numbers of layers")));
  const Plan empty = plan_of(pipeline(6, 2, 4, both));
  EXPECT_THAT(empty.not_run.at(0).message, HasSubstr("a range of the pipeline has no layer"));
}

TEST(LayersOfStages, AreALayouts) {
  EXPECT_THAT(ranges_of(pipeline(8, 2, 1, "pipeline_model_parallel_layout: Et*3|t*5L")), ElementsAre(3, 5));
  const std::string virtual_stages = pipeline(6, 2, 1, "pipeline_model_parallel_layout: '(Et|)t*2|(t|)*2tL'");
  EXPECT_THAT(errors_of(virtual_stages), ElementsAre(HasSubstr("has 5 ranges")));
  EXPECT_THAT(ranges_of(pipeline(6, 2, 1, "pipeline_model_parallel_layout: 'Et|t*2|(t|)tt L'")),
              ElementsAre(1, 2, 1, 2));
  EXPECT_THAT(ranges_of(pipeline(3, 2, 1,
                                 "pipeline_model_parallel_layout: [[embedding, decoder], [decoder, decoder, "
                                 "loss]]")),
              ElementsAre(1, 2));
  EXPECT_THAT(errors_of(pipeline(4, 2, 1, "pipeline_model_parallel_layout: Et*3|t*5L")),
              ElementsAre(HasSubstr("has 8 layers, and model.num_layers is 4")));
  EXPECT_THAT(errors_of(pipeline(4, 2, 1, "pipeline_model_parallel_layout: Ex|tL")),
              ElementsAre(HasSubstr("is no layout")));
}

TEST(LayersOfStages, OfBracketsInBracketsAreRefused) {
  EXPECT_THAT(errors_of(pipeline(4, 2, 1, "pipeline_model_parallel_layout: '" + std::string(500'000, '(') + "'")),
              ElementsAre(HasSubstr("is no layout")));
}

TEST(LayersOfStages, MakeLlama405BValidWithItsOwnLayers) {
  const std::string model =
      "model: {preset: llama3.1-405b, tensor_model_parallel_size: 8, sequence_parallel: true, "
      "pipeline_model_parallel_size: 8, virtual_pipeline_model_parallel_size: 8";
  const std::string train = "}\ntrain: {num_microbatches: 24}\n";
  EXPECT_THAT(errors_of(model + train), ElementsAre(HasSubstr("num_layers is 126")));
  EXPECT_THAT(errors_of(model +
                        ", account_for_embedding_in_pipeline_split: true, "
                        "account_for_loss_in_pipeline_split: true" +
                        train),
              IsEmpty());
}

}  // namespace
}  // namespace underlap::plan
