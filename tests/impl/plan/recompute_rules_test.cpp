// SPDX-License-Identifier: Apache-2.0
#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Eight layers, of which a stage has four and a chunk two.
std::string recompute(const std::string& model) {
  return "model: {preset: tiny, num_layers: 8, pipeline_model_parallel_size: 2, "
         "virtual_pipeline_model_parallel_size: 2, " +
         model + "}\ntrain: {num_microbatches: 4}\n";
}

std::string reason(const Plan& plan) { return knob_of(plan, "model.recompute_granularity").reason; }

TEST(Recompute, IsOffByDefault) {
  const Plan plan = plan_of(recompute("recompute_granularity: null"));
  EXPECT_EQ(plan.config.recompute.method, RecomputeMethod::none);
  EXPECT_THAT(plan.notices, IsEmpty());
}

TEST(Recompute, FullTakesGroupsOfAllLayersOrTheFirstOnes) {
  const Plan uniform =
      plan_of(recompute("recompute_granularity: full, recompute_method: uniform, recompute_num_layers: 2"));
  EXPECT_EQ(uniform.config.recompute.method, RecomputeMethod::uniform);
  EXPECT_EQ(uniform.config.recompute.num_layers, 2);
  EXPECT_THAT(reason(uniform), HasSubstr("the input of every 2 layers"));
  const Plan block =
      plan_of(recompute("recompute_granularity: full, recompute_method: block, recompute_num_layers: 1"));
  EXPECT_EQ(block.config.recompute.method, RecomputeMethod::block);
  EXPECT_EQ(block.config.recompute.num_layers, 1);
  EXPECT_THAT(reason(block), HasSubstr("the first 1 layers"));
  EXPECT_THAT(block.not_run, IsEmpty());
  EXPECT_EQ(outcome(block, "model.recompute_method"), "\"block\" user");
}

TEST(Recompute, FullNeedsAMethodAndLayersThatAChunkHas) {
  EXPECT_THAT(
      errors_of(recompute("recompute_granularity: full")),
      ElementsAre(AllOf(testing::StartsWith("f:1:112: "), HasSubstr("recompute_method; write uniform or block")),
                  AllOf(testing::StartsWith("f:1:112: "), HasSubstr("recompute_num_layers; write it, from 1 to 2"))));
  EXPECT_THAT(errors_of(recompute("recompute_granularity: full, recompute_method: block, recompute_num_layers: 3")),
              ElementsAre(AllOf(HasSubstr("recompute_num_layers is 3"), HasSubstr("from 1 to 2"))));
  EXPECT_THAT(errors_of(recompute("recompute_granularity: full, recompute_method: some, recompute_num_layers: 2")),
              ElementsAre(HasSubstr("one of uniform, block")));
  EXPECT_THAT(errors_of(recompute("recompute_granularity: whole")), ElementsAre(HasSubstr("one of full, selective")));
}

TEST(Recompute, AGroupNeedNotDivideTheLayers) {
  const std::string full = "recompute_granularity: full, recompute_method: uniform, recompute_num_layers: 3";
  EXPECT_EQ(plan_of("model: {preset: tiny, num_layers: 8, " + full + "}").config.recompute.num_layers, 3);
}

TEST(Recompute, SelectiveAttentionCostsNothing) {
  const Plan plan = plan_of(recompute("recompute_granularity: selective"));
  EXPECT_EQ(plan.config.recompute.method, RecomputeMethod::none);
  EXPECT_EQ(outcome(plan, "model.recompute_granularity"), "\"selective\" user");
  EXPECT_THAT(reason(plan), HasSubstr("core_attn costs nothing"));
  EXPECT_THAT(plan.not_run, IsEmpty());
  EXPECT_THAT(plan_of(recompute("recompute_granularity: selective, recompute_modules: [core_attn]")).not_run,
              IsEmpty());
}

TEST(Recompute, OtherModulesAreNotRun) {
  const Plan plan = plan_of(recompute("recompute_granularity: selective, recompute_modules: [core_attn, mlp]"));
  ASSERT_EQ(plan.not_run.size(), 1U);
  EXPECT_THAT(plan.not_run[0].message, HasSubstr("mlp alone"));
  EXPECT_TRUE(plan.config.recompute.mlp);
  EXPECT_THAT(reason(plan), AllOf(HasSubstr("core_attn costs nothing"), HasSubstr("of the MLP nothing is kept but")));
  const Plan norms = plan_of(recompute("recompute_granularity: selective, recompute_modules: [layernorm]"));
  EXPECT_THAT(norms.not_run, IsEmpty());
  ASSERT_EQ(norms.notices.size(), 1U);
  EXPECT_THAT(norms.notices[0].message, HasSubstr("layernorm has no effect"));
  const Plan experts = plan_of(recompute("recompute_granularity: selective, recompute_modules: [moe_act]"));
  EXPECT_THAT(experts.not_run, IsEmpty());
  ASSERT_EQ(experts.notices.size(), 1U);
  EXPECT_THAT(experts.notices[0].message, HasSubstr("moe_act has no effect"));
  EXPECT_THAT(reason(experts), testing::Not(HasSubstr("costs nothing")));
}

TEST(Recompute, SelectiveTakesNamesAndNoLayers) {
  EXPECT_THAT(errors_of(recompute("recompute_granularity: selective, recompute_num_layers: 1")),
              ElementsAre(HasSubstr("recompute_num_layers is 1, and")));
  EXPECT_THAT(errors_of(recompute("recompute_granularity: selective, recompute_modules: [attention]")),
              ElementsAre(AllOf(HasSubstr("\"attention\""), HasSubstr("core_attn, layernorm"))));
  EXPECT_THAT(errors_of(recompute("recompute_granularity: selective, recompute_modules: [3]")),
              ElementsAre(HasSubstr("\"3\"")));
  EXPECT_THAT(errors_of(recompute("recompute_granularity: selective, recompute_modules: core_attn")),
              ElementsAre(HasSubstr("must be a list")));
}

TEST(Recompute, WhatAnotherGranularityLeavesIdleIsSaid) {
  const auto notices = [](const std::string& model) {
    std::vector<std::string> messages;
    for (const Message& notice : plan_of(recompute(model)).notices) messages.push_back(notice.message);
    return messages;
  };
  EXPECT_THAT(
      notices("recompute_method: block, recompute_num_layers: 9, recompute_modules: [mlp]"),
      ElementsAre(HasSubstr("recompute_method has no effect: recompute_granularity is null"),
                  HasSubstr("recompute_num_layers has no effect"), HasSubstr("recompute_modules has no effect")));
  EXPECT_THAT(notices("recompute_granularity: selective, recompute_method: block"),
              ElementsAre(HasSubstr("recompute_method has no effect: recompute_granularity is selective")));
  EXPECT_THAT(notices("recompute_granularity: full, recompute_method: block, recompute_num_layers: 1, "
                      "recompute_modules: [mlp]"),
              ElementsAre(HasSubstr("recompute_modules has no effect: recompute_granularity is full")));
}

TEST(Recompute, ADumpOfBridgeSaysItToo) {
  const std::string dump =
      "_target_: megatron.bridge.training.config.ConfigContainer\n"
      "model: {_target_: megatron.bridge.models.GPTModelProvider, num_layers: 8, hidden_size: 64, "
      "num_attention_heads: 4, vocab_size: 256, seq_length: 32, ";
  const Plan full = plan_of(dump +
                            "recompute_granularity: full, recompute_method: uniform, recompute_num_layers: 1, "
                            "recompute_modules: [core_attn]}\n");
  EXPECT_EQ(full.config.recompute.method, RecomputeMethod::uniform);
  const Plan none = plan_of(dump + "recompute_granularity: null, recompute_modules: [core_attn]}\n");
  EXPECT_EQ(none.config.recompute.method, RecomputeMethod::none);
  for (const Plan& plan : {full, none})
    for (const Message& notice : plan.notices) EXPECT_THAT(notice.message, testing::Not(HasSubstr("recompute")));
}

}  // namespace
}  // namespace underlap::plan
