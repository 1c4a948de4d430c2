// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/layout/fp8_weights.hpp"
#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kOneRank = "model: {preset: tiny}\ndata_parallel_size: 1\n";
const std::string kTwoRanks = "model: {preset: tiny}\ndata_parallel_size: 2\n";
const std::string kGrads = "comm_overlap.overlap_grad_reduce";
const std::string kParams = "comm_overlap.overlap_param_gather";
const std::string kBucket = "comm_overlap.bucket_size";

TEST(DpRules, AboveOneRankEverythingOverlapsByItself) {
  const Plan plan = plan_of(kTwoRanks);
  EXPECT_EQ(outcome(plan, kGrads), "true auto");
  EXPECT_EQ(outcome(plan, kParams), "true auto");
  EXPECT_EQ(outcome(plan, kBucket), "134217728 auto");
  EXPECT_TRUE(plan.config.ddp.overlap_grad_reduce);
  EXPECT_TRUE(plan.config.ddp.overlap_param_gather);
  EXPECT_EQ(plan.config.ddp.bucket_size, 134217728);
}

TEST(DpRules, OneRankTurnsEverythingOff) {
  const Plan plan = plan_of(kOneRank);
  EXPECT_EQ(outcome(plan, kGrads), "false auto");
  EXPECT_EQ(outcome(plan, kBucket), "null auto");
  EXPECT_FALSE(plan.config.ddp.overlap_param_gather);
}

TEST(DpRules, OneRankKeepsWhatTheUserWroteUnderCommOverlap) {
  const Plan plan = plan_of(kOneRank + "comm_overlap: {overlap_param_gather: true, bucket_size: 7}");
  EXPECT_EQ(outcome(plan, kParams), "true user");
  EXPECT_THAT(knob_of(plan, kParams).reason, HasSubstr("no effect: data_parallel_size is 1"));
  EXPECT_EQ(outcome(plan, kGrads), "false auto");
  EXPECT_EQ(plan.config.ddp.bucket_size, 7);
}

TEST(DpRules, WhatCommOverlapWritesOverIsGatedAndShownFirst) {
  const Plan plan = plan_of(kTwoRanks + "ddp: {overlap_grad_reduce: false, bucket_size: 7}\ncomm_overlap: {}");
  EXPECT_EQ(outcome(plan, kGrads), "true gate");
  EXPECT_EQ(outcome(plan, kBucket), "134217728 gate");
  EXPECT_EQ(plan.knobs[0].name, kGrads);
  EXPECT_EQ(plan.knobs[0].where, "f:3:7");
  EXPECT_THAT(
      plan.knobs[0].reason,
      HasSubstr("CommOverlapConfig writes over ddp.overlap_grad_reduce; write comm_overlap.overlap_grad_reduce"));
}

TEST(DpRules, WithoutTheDistributedOptimizerCopiesInDdpAndTheOptimizerAreJoined) {
  const std::string none = kTwoRanks + "ddp: {use_distributed_optimizer: false, overlap_grad_reduce: false}\n";
  EXPECT_EQ(outcome(plan_of(none + "comm_overlap: {overlap_grad_reduce: true}"), kGrads), "false user");
  const std::string joined = kTwoRanks +
                             "ddp: {use_distributed_optimizer: false, overlap_param_gather: false}\n"
                             "comm_overlap: {overlap_param_gather: false}\n"
                             "optimizer: {use_distributed_optimizer: true, overlap_param_gather: true}\n";
  EXPECT_EQ(outcome(plan_of(joined), kParams), "true user");
}

TEST(DpRules, ABucketOfNullIsMegatronCores) {
  const auto bucket = [](const std::string& sizes) {
    return plan_of("model: {preset: tiny, context_parallel_size: 2}\n" + sizes +
                   "ddp: {use_distributed_optimizer: false, overlap_grad_reduce: true}")
        .config.ddp.bucket_size;
  };
  EXPECT_EQ(bucket("data_parallel_size: 2\n"), 40'000'000);
  EXPECT_EQ(bucket("data_parallel_size: 30\n"), 60'000'000);
}

TEST(DpRules, TheUserWins) {
  const Plan plan = plan_of(kTwoRanks + "comm_overlap: {overlap_grad_reduce: false, bucket_size: 1000}");
  EXPECT_EQ(outcome(plan, kGrads), "false user");
  EXPECT_EQ(outcome(plan, kParams), "true auto");
  EXPECT_EQ(plan.config.ddp.bucket_size, 1000);
}

TEST(DpRules, EverySpellingIsTheSameKnob) {
  for (const char* text : {"ddp: {overlap_grad_reduce: false}", "ddp: {overlap_grad_sync: false}",
                           "comm_overlap: {overlap_grad_sync: false}",
                           "ddp: {overlap_grad_reduce: false}\ncomm_overlap: {overlap_grad_reduce: false}"})
    EXPECT_EQ(outcome(plan_of(kTwoRanks + text), kGrads), "false user") << text;
  EXPECT_EQ(outcome(plan_of(kTwoRanks + "optimizer: {overlap_param_gather: false}"), kParams), "false user");
  EXPECT_EQ(outcome(plan_of(kTwoRanks + "ddp: {bucket_size: 9}"), kBucket), "9 user");
}

TEST(DpRules, TwoDifferentValuesInOneSectionAreAnErrorThatNamesBothPlaces) {
  EXPECT_THAT(errors_of(kTwoRanks + "ddp: {overlap_grad_reduce: false, overlap_grad_sync: true}"),
              ElementsAre("f:3:35: ddp.overlap_grad_sync is true, but the same knob is false as "
                          "ddp.overlap_grad_reduce at f:3:7; keep one of them"));
}

TEST(DpRules, TwoDifferentValuesInTwoSectionsAreSettledAsBridgeDoesAndTold) {
  const Plan plan = plan_of(kTwoRanks + "ddp: {overlap_grad_reduce: false}\ncomm_overlap: {overlap_grad_sync: true}");
  EXPECT_EQ(outcome(plan, kGrads), "true user");
  ASSERT_EQ(plan.contradictions.size(), 1U);
  EXPECT_EQ(plan.contradictions[0].where + ": " + plan.contradictions[0].message,
            "f:3:7: ddp.overlap_grad_reduce is false, but comm_overlap.overlap_grad_sync is true at f:4:16: "
            "Megatron-Bridge takes the latter; make them agree");
}

TEST(DpRules, BothDeparturesFromMegatronAreStated) {
  const Plan plan = plan_of(kTwoRanks + "comm_overlap: {overlap_param_gather: true}");
  EXPECT_THAT(knob_of(plan, kGrads).reason, HasSubstr("unlike Megatron, overlaps from the first step"));
  EXPECT_THAT(knob_of(plan, kParams).reason, HasSubstr("unlike Megatron, does not need overlap_grad_reduce"));
}

TEST(DpRules, WithoutOverlapThereIsOneBucketAndANotice) {
  const Plan plan = plan_of(kTwoRanks + "comm_overlap: {overlap_grad_reduce: false, overlap_param_gather: false}");
  EXPECT_EQ(plan.config.ddp.bucket_size, std::nullopt);
  EXPECT_EQ(outcome(plan, kBucket), "134217728 auto");
  ASSERT_EQ(plan.notices.size(), 1U);
  EXPECT_THAT(plan.notices[0].message, HasSubstr("bucket_size has no effect"));
}

TEST(DpRules, WithoutTheDistributedOptimizerCoreDefaultsStand) {
  const Plan plan = plan_of(kTwoRanks + "ddp: {use_distributed_optimizer: false}");
  EXPECT_EQ(outcome(plan, kGrads), "false auto");
  EXPECT_EQ(outcome(plan, kParams), "false auto");
  EXPECT_EQ(outcome(plan, kBucket), "null auto");
}

TEST(DpRules, WithoutTheDistributedOptimizerDdpValuesStandAndCommOverlapValuesAreGated) {
  const std::string head = kTwoRanks + "ddp: {use_distributed_optimizer: false, ";
  const Plan ddp = plan_of(head + "overlap_grad_reduce: true}");
  EXPECT_EQ(outcome(ddp, kGrads), "true user");
  EXPECT_EQ(ddp.config.ddp.bucket_size, 40'000'000);
  const Plan gated = plan_of(head + "}\ncomm_overlap: {overlap_grad_reduce: true}");
  EXPECT_EQ(outcome(gated, kGrads), "false gate");
  EXPECT_THAT(knob_of(gated, kGrads).reason, HasSubstr("write it under ddp"));
}

TEST(DpRules, ParameterGatherNeedsTheDistributedOptimizer) {
  EXPECT_THAT(errors_of(kTwoRanks + "ddp: {use_distributed_optimizer: false, overlap_param_gather: true}"),
              ElementsAre(HasSubstr("overlap_param_gather needs ddp.use_distributed_optimizer")));
}

TEST(DpRules, NoRuleRunsInADumpWithoutCommOverlap) {
  EXPECT_EQ(outcome(plan_of("_target_: x.Y\ncomm_overlap: null\n" + kTwoRanks), kGrads), "false auto");
  EXPECT_EQ(outcome(plan_of("comm_overlap: null\n" + kTwoRanks), kGrads), "true auto");
  EXPECT_EQ(outcome(plan_of("_target_: x.Y\n" + kTwoRanks), kGrads), "true auto");
}

TEST(DpRules, BucketSizeAndNumBucketsExcludeEachOther) {
  EXPECT_THAT(errors_of(kTwoRanks + "ddp: {num_buckets: 3, bucket_size: 5}"),
              ElementsAre(HasSubstr("excludes bucket_size, which is 5")));
  EXPECT_THAT(errors_of(kTwoRanks + "ddp: {num_buckets: 3}"),
              ElementsAre(HasSubstr("excludes bucket_size, which is 134217728")));
  plan_of(kTwoRanks + "ddp: {num_buckets: 3, use_distributed_optimizer: false}");
}

TEST(PrecisionRules, RecipeDecidesTheTypeOfGradients) {
  const std::string name = "mixed_precision.grad_reduce_in_fp32";
  EXPECT_EQ(outcome(plan_of(kTwoRanks), name), "true auto");
  EXPECT_EQ(outcome(plan_of(kTwoRanks + "mixed_precision: bf16_mixed"), name), "true auto");
  EXPECT_EQ(outcome(plan_of(kTwoRanks + "mixed_precision: fp16_mixed"), name), "false auto");
  const Plan plan = plan_of(kTwoRanks + "mixed_precision: {grad_reduce_in_fp32: false}");
  EXPECT_EQ(outcome(plan, name), "false user");
  EXPECT_FALSE(plan.config.ddp.grad_reduce_in_fp32);
}

TEST(PrecisionRules, RecipeDecidesTheTypeOfGatheredParameters) {
  const auto gather = [](const std::string& recipe) {
    return outcome(plan_of(kTwoRanks + "mixed_precision: " + recipe), "mixed_precision.fp8_param_gather");
  };
  EXPECT_EQ(gather("bf16_mixed"), "false auto");
  EXPECT_EQ(gather("bf16_with_fp8_current_scaling_mixed"), "true auto");
  EXPECT_EQ(gather("bf16_with_mxfp8_mixed"), "true auto");
  EXPECT_EQ(gather("bf16_with_fp8_subchannel_scaling_mixed"), "false auto");
  EXPECT_EQ(gather("bf16_with_nvfp4_mixed"), "false auto");
}

TEST(PrecisionRules, ARecipeMayBeGivenByItsFields) {
  const auto recipe = [](const std::string& fields) {
    return plan_of(kTwoRanks + "mixed_precision: {" + fields + "}").config.mixed_precision.recipe;
  };
  EXPECT_EQ(recipe("bf16: true, fp8: null, fp8_recipe: tensorwise"), "bf16_mixed");
  EXPECT_EQ(recipe("fp16: true"), "fp16_mixed");
  EXPECT_EQ(recipe("bf16: true, fp8: hybrid"), "bf16_with_fp8_current_scaling_mixed");
  EXPECT_EQ(recipe("fp16: true, fp8: hybrid, fp8_recipe: delayed"), "fp16_with_fp8_delayed_scaling_mixed");
  EXPECT_EQ(recipe("fp8: e4m3, fp8_recipe: mxfp8"), "bf16_with_mxfp8_mixed");
  EXPECT_EQ(recipe("fp8: hybrid, fp8_recipe: blockwise"), "bf16_with_fp8_subchannel_scaling_mixed");
  EXPECT_EQ(recipe("fp4: e2m1"), "bf16_with_nvfp4_mixed");
}

TEST(PrecisionRules, ARecipeGivesItsFields) {
  const auto field = [](const std::string& recipe, const std::string& name) {
    return outcome(plan_of(kTwoRanks + "mixed_precision: " + recipe), "mixed_precision." + name);
  };
  EXPECT_EQ(field("bf16_with_fp8_current_scaling_mixed", "fp8"), "\"hybrid\" auto");
  EXPECT_EQ(field("bf16_with_fp8_current_scaling_mixed", "fp8_recipe"), "\"tensorwise\" auto");
  EXPECT_EQ(field("bf16_with_fp8_current_scaling_mixed", "num_layers_at_start_in_bf16"), "1 auto");
  EXPECT_EQ(field("nemotron_h_bf16_with_fp8_current_scaling_mixed", "num_layers_at_end_in_bf16"), "2 auto");
  EXPECT_EQ(field("bf16_with_fp8_delayed_scaling_mixed", "first_last_layers_bf16"), "false auto");
  EXPECT_EQ(field("bf16_with_mxfp8_mixed", "fp8"), "\"e4m3\" auto");
  EXPECT_EQ(field("bf16_with_nvfp4_mixed", "fp4"), "\"e2m1\" auto");
}

TEST(PrecisionRules, LayersAtTheEndsStayInBf16AsAsked) {
  const auto in_fp8 = [](const std::string& fields) {
    const Plan plan = plan_of(
        "model: {preset: tiny, num_layers: 8}\ndata_parallel_size: 2\nmixed_precision: {recipe: "
        "bf16_with_fp8_current_scaling_mixed" +
        fields + "}");
    EXPECT_TRUE(plan.not_run.empty());
    std::string layers;
    for (std::int32_t layer = 0; layer < 8; ++layer) layers += multiplies_in_fp8(plan.config, layer) ? '8' : 'b';
    return layers;
  };
  EXPECT_EQ(in_fp8(""), "b888888b");
  EXPECT_EQ(in_fp8(", num_layers_at_start_in_bf16: 2, num_layers_at_end_in_bf16: 0"), "bb888888");
  EXPECT_EQ(in_fp8(", first_last_layers_bf16: false"), "88888888");
  EXPECT_EQ(in_fp8(", first_last_layers_bf16: false, num_layers_at_start_in_bf16: 2"), "88888888");
}

TEST(PrecisionRules, AFieldThatContradictsTheRecipeIsAnError) {
  EXPECT_THAT(errors_of(kTwoRanks + "mixed_precision: {recipe: bf16_mixed, fp8: hybrid}"),
              ElementsAre(HasSubstr("mixed_precision.fp8 is \"hybrid\", but recipe bf16_mixed has null")));
}

TEST(PrecisionRules, Fp8GatherWithoutAnFp8RecipeIsAnError) {
  for (const char* text : {"mixed_precision: {fp8_param_gather: true}", "ddp: {fp8_param_gather: true}"})
    EXPECT_THAT(errors_of(kTwoRanks + text), ElementsAre(HasSubstr("fp8_param_gather needs an fp8 recipe"))) << text;
}

TEST(PrecisionRules, Mxfp8GatherGoesThroughTheGradientBuffer) {
  const std::string reuse = "ddp.reuse_grad_buf_for_mxfp8_param_ag";
  const std::string recipe = "mixed_precision: {recipe: bf16_with_mxfp8_mixed, ";
  EXPECT_EQ(outcome(plan_of(kTwoRanks + recipe + "}\nddp: {reuse_grad_buf_for_mxfp8_param_ag: false}"), reuse),
            "true gate");
  EXPECT_THAT(errors_of(kTwoRanks + recipe + "fp8_param_gather: false}"), ElementsAre(HasSubstr("make them agree")));
  plan_of(kTwoRanks + recipe + "fp8_param_gather: false, reuse_grad_buf_for_mxfp8_param_ag: false}");
}

TEST(PrecisionRules, NanoV2IsBlockwiseInSpiteOfItsName) {
  const Plan plan = plan_of(kTwoRanks + "mixed_precision: nanov2_bf16_with_fp8_current_scaling_mixed");
  EXPECT_EQ(outcome(plan, "mixed_precision.fp8_recipe"), "\"blockwise\" auto");
  EXPECT_EQ(outcome(plan, "mixed_precision.num_layers_at_end_in_bf16"), "2 auto");
}

TEST(PrecisionRules, LayersInBf16MustFitAStage) {
  const std::string recipe = "mixed_precision: nemotron_h_bf16_with_fp8_current_scaling_mixed\n";
  const std::string model = "model: {preset: tiny, pipeline_model_parallel_size: ";
  plan_of(model + "2}\n" + recipe);
  EXPECT_THAT(errors_of(model + "4}\n" + recipe),
              ElementsAre(HasSubstr("num_layers_at_end_in_bf16 is 2, more than the 1 layers"),
                          HasSubstr("num_layers_at_start_in_bf16 is 2, more than the 1 layers")));
}

TEST(PrecisionRules, Fp32AccumulationIsKeptWithANoticeWhereGradientsAreFp32Already) {
  const std::string knob = "ddp.reduce_scatter_with_fp32_accumulation";
  const std::string ddp = "ddp: {reduce_scatter_with_fp32_accumulation: true}\n";
  const Plan idle = plan_of(kTwoRanks + ddp);
  EXPECT_EQ(outcome(idle, knob), "true user");
  EXPECT_TRUE(idle.config.ddp.reduce_scatter_with_fp32_accumulation);
  EXPECT_THAT(idle.notices.at(0).message, HasSubstr("gains nothing"));
  const Plan used = plan_of(kTwoRanks + ddp + "mixed_precision: {grad_reduce_in_fp32: false}");
  EXPECT_EQ(outcome(used, knob), "true user");
  EXPECT_TRUE(used.config.ddp.reduce_scatter_with_fp32_accumulation);
  EXPECT_THAT(used.not_run, IsEmpty());
}

}  // namespace
}  // namespace underlap::plan
