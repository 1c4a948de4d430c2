// SPDX-License-Identifier: Apache-2.0
#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

TEST(ModelPreset, NamesAreSortedAndEachPlans) {
  const auto names = preset_names();
  EXPECT_TRUE(std::ranges::is_sorted(names));
  EXPECT_EQ(names.size(), 8U);
  for (const std::string& name : names) EXPECT_EQ(plan_of("model: {preset: " + name + "}").config.model.preset, name);
}

/// Parameters as the models' publishers count them, to 2 %.
TEST(ModelPreset, HasAsManyParametersAsItsNameSays) {
  const auto billions = [](const std::string& name) {
    return double(plan_of("model: {preset: " + name + "}").peak_memory.parameters) / 2e9;
  };
  EXPECT_NEAR(billions("llama3-8b"), 8.03, 0.01);
  EXPECT_NEAR(billions("llama3-70b"), 70.55, 0.01);
  EXPECT_NEAR(billions("llama3.1-405b"), 405.85, 0.05);
  EXPECT_NEAR(billions("gpt3-175b"), 175, 2);
  EXPECT_NEAR(billions("gpt3-20b"), 20.2, 0.4);
  EXPECT_NEAR(billions("nemotron4-340b"), 341, 2);
  EXPECT_NEAR(billions("nemotron4-15b"), 15.6, 0.3);
}

TEST(ModelPreset, FieldsOverrideIt) {
  const ModelConfig model = plan_of("model: {num_layers: 2, preset: llama3-8b, activation: gelu}").config.model;
  EXPECT_EQ(model.num_layers, 2);
  EXPECT_EQ(model.activation, Activation::gelu);
  EXPECT_EQ(model.hidden_size, 4096);
}

TEST(ModelPreset, UnknownNameListsAllAndTheNearest) {
  EXPECT_THAT(errors_of("model: {preset: llama3-9b}"),
              ElementsAre(AllOf(HasSubstr("nemotron4-340b, tiny"), HasSubstr("did you mean llama3-8b?"))));
}

TEST(Model, WithoutPresetEverySizeMustBeGiven) {
  const std::string all =
      "model: {num_layers: 2, hidden_size: 64, ffn_hidden_size: 96, num_attention_heads: 4, num_query_groups: 2, "
      "vocab_size: 256, seq_length: 32";
  EXPECT_EQ(plan_of(all + "}").config.model.head_size(), 16);
  EXPECT_THAT(
      errors_of("\nmodel: {num_layers: 2}"),
      ElementsAre(AllOf(StartsWith("f:2:1: "), HasSubstr("model.hidden_size, "), HasSubstr("model.seq_length;"))));
  EXPECT_THAT(errors_of("run: {steps: 1}"), Only("model.num_layers, "));
}

TEST(Model, ASizeThatCannotBeReadIsNotMissingToo) {
  EXPECT_THAT(errors_of("model: {num_layers: x, hidden_size: 64, ffn_hidden_size: 96, num_attention_heads: 4, "
                        "num_query_groups: 2, vocab_size: 256, seq_length: 32}"),
              Only("num_layers must be"));
}

TEST(Batch, GlobalBatchSizeGivesTheMicrobatches) {
  const Plan plan =
      plan_of("model: {preset: tiny}\ndata_parallel_size: 2\ntrain: {global_batch_size: 12, micro_batch_size: 2}");
  EXPECT_EQ(plan.config.train.num_microbatches, 3);
}

TEST(Batch, GlobalBatchSizeMustFit) {
  EXPECT_THAT(errors_of("model: {preset: tiny}\ndata_parallel_size: 2\ntrain: {global_batch_size: 5}"),
              Only("global_batch_size is 5"));
  EXPECT_THAT(errors_of("model: {preset: tiny}\ntrain: {global_batch_size: 4, num_microbatches: 3}"),
              Only("num_microbatches is 3"));
}

TEST(Rope, TurnsAPartOfEachHeadInPairs) {
  const auto model = [](const std::string& more) {
    return plan_of("model: {preset: tiny, position_embedding_type: rope, " + more + "}\n").config.model;
  };
  EXPECT_EQ(model("rotary_percent: 1").rotary_features(), 32);
  EXPECT_EQ(model("rotary_percent: 0.25, rotary_base: 500000").rotary_features(), 8);
  EXPECT_EQ(model("rotary_percent: 0.25, rotary_base: 500000").rotary_base, 500'000);
  const auto errors = [](const std::string& percent) {
    return errors_of("model: {preset: tiny, position_embedding_type: rope, rotary_percent: " + percent + "}\n");
  };
  EXPECT_THAT(errors("0.1"), Only("rotates 3 of the 32 features of a head"));
  EXPECT_THAT(errors("0.01"), Only("rotates 0 of the 32 features"));
  const Plan learned = plan_of("model: {preset: tiny, rotary_base: 5}\n");
  EXPECT_THAT(lines_of(learned.notices), Only("rotary_base has no effect"));
}

TEST(Rope, OfPresetsIsThatOfTheModels) {
  EXPECT_EQ(plan_of("model: {preset: llama3-8b}\n").config.model.rotary_base, 500'000);
  const ModelConfig nemotron = plan_of("model: {preset: nemotron4-15b}\n").config.model;
  EXPECT_EQ(nemotron.rotary_features(), nemotron.head_size() / 2);
}

}  // namespace
}  // namespace underlap::plan
