// SPDX-License-Identifier: Apache-2.0
// Settings that are planned for their memory alone.
#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> texts(const std::vector<Message>& messages) {
  std::vector<std::string> all;
  for (const Message& message : messages) all.push_back(message.message);
  return all;
}

const std::string kTiny = "model: {preset: tiny}\ndata_parallel_size: 2\n";

TEST(MemoryRules, MegatronFsdpIsPlannedForItsMemoryAndNotRun) {
  const Plan plan = plan_of(kTiny +
                            "ddp: {use_megatron_fsdp: true, data_parallel_sharding_strategy: optim_grads_params, "
                            "suggested_communication_unit_size: 1000}");
  ASSERT_TRUE(plan.config.ddp.fsdp.has_value());
  EXPECT_EQ(plan.config.ddp.fsdp->strategy, ShardingStrategy::optim_grads_params);
  EXPECT_EQ(plan.config.ddp.fsdp->communication_unit_size, 1000);
  EXPECT_THAT(texts(plan.notices), ElementsAre(HasSubstr("transfers and what of them is exposed are not planned")));
  EXPECT_THAT(texts(plan.not_run), testing::Contains(HasSubstr("ddp.use_megatron_fsdp")));
}

TEST(MemoryRules, MegatronFsdpShardsNothingByDefault) {
  EXPECT_THAT(texts(plan_of(kTiny + "ddp: {use_megatron_fsdp: true}").notices),
              testing::Contains(HasSubstr("shards nothing")));
}

TEST(MemoryRules, AStrategyWithoutMegatronFsdpHasNoEffect) {
  const Plan plan = plan_of(kTiny + "ddp: {data_parallel_sharding_strategy: optim_grads}");
  EXPECT_FALSE(plan.config.ddp.fsdp.has_value());
  EXPECT_THAT(texts(plan.notices), ElementsAre(HasSubstr("no effect: ddp.use_megatron_fsdp is not set")));
}

TEST(MemoryRules, OffloadingIsPlannedAndNotRun) {
  const Plan plan = plan_of("model: {preset: tiny, cpu_offloading: true, cpu_offloading_num_layers: 3}");
  EXPECT_EQ(plan.config.offload.num_layers, 3);
  EXPECT_THAT(texts(plan.not_run), testing::Contains(HasSubstr("model.cpu_offloading is known")));
  const Plan without = plan_of("model: {preset: tiny, cpu_offloading_num_layers: 3}");
  EXPECT_EQ(without.config.offload.num_layers, 0);
  EXPECT_THAT(texts(without.notices), ElementsAre(HasSubstr("no effect: model.cpu_offloading is false")));
}

TEST(MemoryRules, WhatMegatronCoreRefusesBesideOffloadingIsAnError) {
  const std::string offload = "model: {preset: tiny, cpu_offloading: true, cpu_offloading_num_layers: ";
  EXPECT_THAT(errors_of(offload + "4}"), ElementsAre(HasSubstr("fewer than the 4 layers")));
  EXPECT_THAT(errors_of(offload + "1, pipeline_model_parallel_size: 2}"),
              ElementsAre(HasSubstr("pipeline_model_parallel_size above 1")));
  EXPECT_THAT(errors_of(offload + "1, recompute_granularity: selective}"),
              ElementsAre(HasSubstr("does not go with recompute_granularity")));
}

TEST(MemoryRules, WhatChangesPredictedMemoryAloneIsSaid) {
  const Plan plan =
      plan_of("model: {preset: tiny, cross_entropy_fusion_impl: te}\noptimizer: {use_precision_aware_optimizer: true}");
  EXPECT_EQ(plan.config.model.cross_entropy_fusion_impl, "te");
  EXPECT_THAT(plan.not_run, IsEmpty());
  EXPECT_THAT(texts(plan.notices), ElementsAre(AllOf(HasSubstr("counted in predicted memory"), HasSubstr("fp32"))));
  EXPECT_THAT(errors_of("model: {preset: tiny, cross_entropy_fusion_impl: own}"), ElementsAre(HasSubstr("native, te")));
}

}  // namespace
}  // namespace underlap::plan
