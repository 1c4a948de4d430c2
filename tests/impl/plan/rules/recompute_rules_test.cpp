// SPDX-License-Identifier: Apache-2.0
#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

/// Eight layers, of which a stage has four and a chunk two.
std::string recompute(const std::string& model) {
  return "model: {preset: tiny, num_layers: 8, pipeline_model_parallel_size: 2, "
         "virtual_pipeline_model_parallel_size: 2, " +
         model + "}\ntrain: {num_microbatches: 4}\n";
}

const std::string kSelective = "recompute_granularity: selective";

std::string full(const std::string& method, int layers) {
  return "recompute_granularity: full, recompute_method: " + method +
         ", recompute_num_layers: " + std::to_string(layers);
}

std::string reason(const Plan& plan) { return knob_of(plan, "model.recompute_granularity").reason; }

TEST(Recompute, IsOffByDefault) {
  const Plan plan = plan_of(recompute("recompute_granularity: null"));
  EXPECT_EQ(plan.config.recompute.method, RecomputeMethod::none);
  EXPECT_THAT(plan.notices, IsEmpty());
}

TEST(Recompute, FullTakesGroupsOfAllLayersOrTheFirstOnes) {
  const Plan uniform = plan_of(recompute(full("uniform", 2)));
  EXPECT_EQ(uniform.config.recompute.method, RecomputeMethod::uniform);
  EXPECT_EQ(uniform.config.recompute.num_layers, 2);
  EXPECT_THAT(reason(uniform), HasSubstr("the input of every 2 layers"));
  const Plan block = plan_of(recompute(full("block", 1)));
  EXPECT_EQ(block.config.recompute.method, RecomputeMethod::block);
  EXPECT_EQ(block.config.recompute.num_layers, 1);
  EXPECT_THAT(reason(block), HasSubstr("its first 1 layers"));
  EXPECT_THAT(block.not_run, IsEmpty());
  EXPECT_EQ(outcome(block, "model.recompute_method"), "\"block\" user");
  const std::string thirds = "model: {preset: tiny, num_layers: 8, " + full("uniform", 3) + "}";
  EXPECT_EQ(plan_of(thirds).config.recompute.num_layers, 3) << "a group need not divide the layers";
}

TEST(Recompute, SelectiveAttentionCostsNothing) {
  const Plan plan = plan_of(recompute(kSelective));
  EXPECT_EQ(plan.config.recompute.method, RecomputeMethod::none);
  EXPECT_EQ(outcome(plan, "model.recompute_granularity"), "\"selective\" user");
  EXPECT_THAT(reason(plan), HasSubstr("core_attn costs nothing"));
  EXPECT_THAT(plan.not_run, IsEmpty());
  EXPECT_THAT(plan_of(recompute(kSelective + ", recompute_modules: [core_attn]")).not_run, IsEmpty());
}

TEST(Recompute, OtherModulesAreNotRun) {
  const Plan plan = plan_of(recompute(kSelective + ", recompute_modules: [core_attn, mlp]"));
  EXPECT_THAT(lines_of(plan.not_run), Only("mlp is planned"));
  EXPECT_TRUE(plan.config.recompute.mlp);
  EXPECT_THAT(reason(plan), AllOf(HasSubstr("core_attn costs nothing"), HasSubstr("the MLP keeps only its input")));
  for (const std::string module : {"layernorm", "moe_act"}) {
    const Plan idle = plan_of(recompute(kSelective + ", recompute_modules: [" + module + "]"));
    EXPECT_THAT(idle.not_run, IsEmpty());
    EXPECT_THAT(lines_of(idle.notices), Only(module + " has no effect"));
    EXPECT_THAT(reason(idle), Not(HasSubstr("costs nothing")));
  }
}

TEST(Recompute, RefusesWhatMegatronRefuses) {
  EXPECT_THAT(
      errors_of(recompute("recompute_granularity: full")),
      ElementsAre(AllOf(StartsWith("f:1:112: "), HasSubstr("recompute_method; write uniform or block")),
                  AllOf(StartsWith("f:1:112: "), HasSubstr("recompute_num_layers; set it to a value from 1 to 2"))));
  EXPECT_THAT(errors_of(recompute(full("block", 3))),
              ElementsAre(AllOf(HasSubstr("recompute_num_layers is 3"), HasSubstr("from 1 to 2"))));
  EXPECT_THAT(errors_of(recompute(kSelective + ", recompute_modules: [attention]")),
              ElementsAre(AllOf(HasSubstr("\"attention\""), HasSubstr("core_attn, layernorm"))));
  expect_refused({
      {recompute(full("some", 2)), "one of uniform, block"},
      {recompute("recompute_granularity: whole"), "one of full, selective"},
      {recompute(kSelective + ", recompute_num_layers: 1"), "recompute_num_layers is 1, but"},
      {recompute(kSelective + ", recompute_modules: [3]"), "\"3\""},
      {recompute(kSelective + ", recompute_modules: core_attn"), "must be a list"},
  });
}

TEST(Recompute, WhatAnotherGranularityLeavesIdleIsSaid) {
  EXPECT_THAT(
      notices_of(recompute("recompute_method: block, recompute_num_layers: 9, recompute_modules: [mlp]")),
      ElementsAre(HasSubstr("recompute_method has no effect: recompute_granularity is null"),
                  HasSubstr("recompute_num_layers has no effect"), HasSubstr("recompute_modules has no effect")));
  expect_noticed({{recompute(kSelective + ", recompute_method: block"),
                   "recompute_method has no effect: recompute_granularity is selective"},
                  {recompute(full("block", 1) + ", recompute_modules: [mlp]"),
                   "recompute_modules has no effect: recompute_granularity is full"}});
}

TEST(Recompute, ADumpOfBridgeSaysItToo) {
  const std::string dump =
      "_target_: megatron.bridge.training.config.ConfigContainer\n"
      "model: {_target_: megatron.bridge.models.GPTModelProvider, num_layers: 8, hidden_size: 64, "
      "num_attention_heads: 4, vocab_size: 256, seq_length: 32, recompute_modules: [core_attn], ";
  for (const auto& [fields, method] : {std::pair(full("uniform", 1), RecomputeMethod::uniform),
                                       {"recompute_granularity: null", RecomputeMethod::none}}) {
    const Plan plan = plan_of(dump + fields + "}\n");
    EXPECT_EQ(plan.config.recompute.method, method);
    EXPECT_THAT(lines_of(plan.notices), Each(Not(HasSubstr("recompute"))));
  }
}

}  // namespace
}  // namespace underlap::plan
