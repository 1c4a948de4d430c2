// SPDX-License-Identifier: Apache-2.0
// Settings that are planned for their memory alone.
#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

const std::string kTiny = "model: {preset: tiny}\ndata_parallel_size: 2\n";

TEST(MemoryRules, MegatronFsdpIsPlannedForItsMemoryAndNotRun) {
  const Plan plan = plan_of(kTiny +
                            "ddp: {use_megatron_fsdp: true, data_parallel_sharding_strategy: optim_grads_params, "
                            "suggested_communication_unit_size: 1000}");
  ASSERT_TRUE(plan.config.ddp.fsdp.has_value());
  EXPECT_EQ(plan.config.ddp.fsdp->strategy, ShardingStrategy::optim_grads_params);
  EXPECT_EQ(plan.config.ddp.fsdp->communication_unit_size, 1000);
  EXPECT_THAT(lines_of(plan.notices), Only("transfers and their exposed time are not planned"));
  EXPECT_THAT(lines_of(plan.not_run), Contains(HasSubstr("ddp.use_megatron_fsdp")));
  EXPECT_THAT(notices_of(kTiny + "ddp: {use_megatron_fsdp: true}"), Contains(HasSubstr("shards nothing")));
  const Plan without = plan_of(kTiny + "ddp: {data_parallel_sharding_strategy: optim_grads}");
  EXPECT_FALSE(without.config.ddp.fsdp.has_value());
  EXPECT_THAT(lines_of(without.notices), Only("no effect: ddp.use_megatron_fsdp is not set"));
}

TEST(MemoryRules, OffloadingIsPlannedAndNotRun) {
  const std::string layers = "model: {preset: tiny, cpu_offloading_num_layers: ";
  const Plan plan = plan_of(layers + "3, cpu_offloading: true}");
  EXPECT_EQ(plan.config.offload.num_layers, 3);
  EXPECT_THAT(lines_of(plan.not_run), Contains(HasSubstr("model.cpu_offloading is recognized")));
  const Plan without = plan_of(layers + "3}");
  EXPECT_EQ(without.config.offload.num_layers, 0);
  EXPECT_THAT(lines_of(without.notices), Only("no effect: model.cpu_offloading is false"));
  expect_refused(
      {{layers + "4, cpu_offloading: true}", "fewer than the 4 layers"},
       {layers + "1, cpu_offloading: true, pipeline_model_parallel_size: 2}", "pipeline_model_parallel_size above 1"},
       {layers + "1, cpu_offloading: true, recompute_granularity: selective}",
        "is incompatible with recompute_granularity"}});
}

TEST(MemoryRules, WhatChangesPredictedMemoryAloneIsSaid) {
  const Plan plan =
      plan_of("model: {preset: tiny, cross_entropy_fusion_impl: te}\noptimizer: {use_precision_aware_optimizer: true}");
  EXPECT_EQ(plan.config.model.cross_entropy_fusion_impl, "te");
  EXPECT_THAT(plan.not_run, IsEmpty());
  EXPECT_THAT(lines_of(plan.notices), ElementsAre(AllOf(HasSubstr("predicted memory includes"), HasSubstr("fp32"))));
  expect_refused({{"model: {preset: tiny, cross_entropy_fusion_impl: own}", "native, te"}});
}

}  // namespace
}  // namespace underlap::plan
