// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/precision.hpp"
#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

const std::string kOneRank = "model: {preset: tiny}\ndata_parallel_size: 1\n";
const std::string kTwoRanks = "model: {preset: tiny}\ndata_parallel_size: 2\n";
const std::string kGrads = "comm_overlap.overlap_grad_reduce";
const std::string kParams = "comm_overlap.overlap_param_gather";
const std::string kBucket = "comm_overlap.bucket_size";

TEST(DpRules, ReportWhatOverlapsAndWhoDecidedIt) {
  const std::string whole = kTwoRanks + "ddp: {use_distributed_optimizer: false, ";
  const std::string one_of_each = kTwoRanks +
                                  "ddp: {use_distributed_optimizer: false, overlap_param_gather: false}\n"
                                  "comm_overlap: {overlap_param_gather: false}\n"
                                  "optimizer: {use_distributed_optimizer: true, overlap_param_gather: true}\n";
  expect_outcomes({
      // By themselves: everything overlaps above one rank.
      {kTwoRanks, kGrads, "true auto"},
      {kTwoRanks, kParams, "true auto"},
      {kTwoRanks, kBucket, "134217728 auto"},
      {kOneRank, kGrads, "false auto"},
      {kOneRank, kBucket, "null auto"},
      // The user wins, under each name of a knob.
      {kOneRank + "comm_overlap: {overlap_param_gather: true}", kParams, "true user"},
      {kTwoRanks + "comm_overlap: {overlap_grad_reduce: false}", kParams, "true auto"},
      {kTwoRanks + "comm_overlap: {overlap_grad_reduce: false}", kGrads, "false user"},
      {kTwoRanks + "comm_overlap: {overlap_grad_sync: false}", kGrads, "false user"},
      {kTwoRanks + "ddp: {overlap_grad_reduce: false}", kGrads, "false user"},
      {kTwoRanks + "ddp: {overlap_grad_sync: false}", kGrads, "false user"},
      {kTwoRanks + "ddp: {overlap_grad_reduce: false}\ncomm_overlap: {overlap_grad_reduce: false}", kGrads,
       "false user"},
      {kTwoRanks + "optimizer: {overlap_param_gather: false}", kParams, "false user"},
      {kTwoRanks + "ddp: {bucket_size: 9}", kBucket, "9 user"},
      {kTwoRanks + "comm_overlap: {overlap_grad_reduce: false, overlap_param_gather: false}", kBucket,
       "134217728 auto"},
      // Without the distributed optimizer Megatron Core's defaults and what is written under ddp hold.
      {whole + "}", kGrads, "false auto"},
      {whole + "}", kParams, "false auto"},
      {whole + "}", kBucket, "null auto"},
      {whole + "overlap_grad_reduce: true}", kGrads, "true user"},
      {whole + "}\ncomm_overlap: {overlap_grad_reduce: true}", kGrads, "false gate"},
      {whole + "overlap_grad_reduce: false}\ncomm_overlap: {overlap_grad_reduce: true}", kGrads, "false user"},
      {one_of_each, kParams, "true user"},
      // No rule runs in a dump without comm_overlap.
      {"_target_: x.Y\ncomm_overlap: null\n" + kTwoRanks, kGrads, "false auto"},
      {"comm_overlap: null\n" + kTwoRanks, kGrads, "true auto"},
      {"_target_: x.Y\n" + kTwoRanks, kGrads, "true auto"},
  });
  const Plan gated = plan_of(whole + "}\ncomm_overlap: {overlap_grad_reduce: true}");
  EXPECT_THAT(knob_of(gated, kGrads).reason, HasSubstr("write it under ddp"));
  const Plan idle = plan_of(kOneRank + "comm_overlap: {overlap_param_gather: true}");
  EXPECT_THAT(knob_of(idle, kParams).reason, HasSubstr("no effect: data_parallel_size is 1"));
}

TEST(DpRules, PutOverlapIntoTheConfiguration) {
  const DdpConfig two = plan_of(kTwoRanks).config.ddp;
  EXPECT_TRUE(two.overlap_grad_reduce && two.overlap_param_gather);
  EXPECT_FALSE(plan_of(kOneRank).config.ddp.overlap_param_gather);
}

TEST(DpRules, PutABucketSizeIntoTheConfiguration) {
  const std::string whole = "ddp: {use_distributed_optimizer: false, overlap_grad_reduce: true}";
  const std::string context = "model: {preset: tiny, context_parallel_size: 2}\n";
  const std::vector<std::pair<std::string, std::optional<std::int64_t>>> cases = {
      {kTwoRanks, 134'217'728},
      {kTwoRanks + "comm_overlap: {bucket_size: 1000}", 1000},
      {kOneRank + "comm_overlap: {overlap_param_gather: true, bucket_size: 7}", 7},
      {kTwoRanks + "comm_overlap: {overlap_grad_reduce: false, overlap_param_gather: false}", std::nullopt},
      // null is what Megatron Core makes of it.
      {context + "data_parallel_size: 2\n" + whole, 40'000'000},
      {context + "data_parallel_size: 30\n" + whole, 60'000'000}};
  for (const auto& [yaml, size] : cases) EXPECT_EQ(plan_of(yaml).config.ddp.bucket_size, size) << yaml;
  expect_noticed({{kTwoRanks + "comm_overlap: {overlap_grad_reduce: false, overlap_param_gather: false}",
                   "bucket_size has no effect"}});
}

TEST(DpRules, WhatCommOverlapWritesOverIsGatedAndShownFirst) {
  const Plan plan = plan_of(kTwoRanks + "ddp: {overlap_grad_reduce: false, bucket_size: 7}\ncomm_overlap: {}");
  EXPECT_EQ(outcome(plan, kGrads), "true gate");
  EXPECT_EQ(outcome(plan, kBucket), "134217728 gate");
  EXPECT_EQ(plan.knobs[0].name, kGrads);
  EXPECT_EQ(plan.knobs[0].where, "f:3:7");
  EXPECT_THAT(
      plan.knobs[0].reason,
      HasSubstr("CommOverlapConfig overwrites ddp.overlap_grad_reduce; write comm_overlap.overlap_grad_reduce"));
}

TEST(DpRules, TwoDifferentValuesInOneSectionAreAnErrorThatNamesBothPlaces) {
  EXPECT_THAT(errors_of(kTwoRanks + "ddp: {overlap_grad_reduce: false, overlap_grad_sync: true}"),
              ElementsAre("f:3:35: ddp.overlap_grad_sync is true, but the same knob is false as "
                          "ddp.overlap_grad_reduce at f:3:7; keep one of them"));
}

TEST(DpRules, TwoDifferentValuesInTwoSectionsAreSettledAsBridgeDoesAndTold) {
  const Plan plan = plan_of(kTwoRanks + "ddp: {overlap_grad_reduce: false}\ncomm_overlap: {overlap_grad_sync: true}");
  EXPECT_EQ(outcome(plan, kGrads), "true user");
  EXPECT_THAT(lines_of(plan.contradictions),
              ElementsAre("f:3:7: ddp.overlap_grad_reduce is false, but comm_overlap.overlap_grad_sync is true at "
                          "f:4:16: Megatron-Bridge uses the latter; make them agree"));
}

TEST(DpRules, BothDeparturesFromMegatronAreStated) {
  const Plan plan = plan_of(kTwoRanks + "comm_overlap: {overlap_param_gather: true}");
  EXPECT_THAT(knob_of(plan, kGrads).reason, HasSubstr("unlike Megatron, overlaps from the first step"));
  EXPECT_THAT(knob_of(plan, kParams).reason, HasSubstr("unlike Megatron, does not need overlap_grad_reduce"));
}

TEST(PrecisionRules, ARecipeDecidesWhatNobodyWrote) {
  const auto mixed = [](const std::string& recipe) { return kTwoRanks + "mixed_precision: " + recipe; };
  const std::string grads = "mixed_precision.grad_reduce_in_fp32", gather = "mixed_precision.fp8_param_gather";
  const std::string start = "mixed_precision.num_layers_at_start_in_bf16";
  const std::string end = "mixed_precision.num_layers_at_end_in_bf16";
  const std::string current = "bf16_with_fp8_current_scaling_mixed";
  expect_outcomes({
      {kTwoRanks, grads, "true auto"},
      {mixed("bf16_mixed"), grads, "true auto"},
      {mixed("fp16_mixed"), grads, "false auto"},
      {mixed("{grad_reduce_in_fp32: false}"), grads, "false user"},
      {mixed("bf16_mixed"), gather, "false auto"},
      {mixed(current), gather, "true auto"},
      {mixed("bf16_with_mxfp8_mixed"), gather, "true auto"},
      {mixed("bf16_with_fp8_subchannel_scaling_mixed"), gather, "false auto"},
      {mixed("bf16_with_nvfp4_mixed"), gather, "false auto"},
      {mixed(current), "mixed_precision.fp8", "\"hybrid\" auto"},
      {mixed(current), "mixed_precision.fp8_recipe", "\"tensorwise\" auto"},
      {mixed(current), start, "1 auto"},
      {mixed("nemotron_h_" + current), end, "2 auto"},
      {mixed("bf16_with_fp8_delayed_scaling_mixed"), "mixed_precision.first_last_layers_bf16", "false auto"},
      {mixed("bf16_with_mxfp8_mixed"), "mixed_precision.fp8", "\"e4m3\" auto"},
      {mixed("bf16_with_nvfp4_mixed"), "mixed_precision.fp4", "\"e2m1\" auto"},
      // Blockwise in spite of its name.
      {mixed("nanov2_" + current), "mixed_precision.fp8_recipe", "\"blockwise\" auto"},
      {mixed("nanov2_" + current), end, "2 auto"},
      {mixed("{recipe: bf16_with_mxfp8_mixed}\nddp: {reuse_grad_buf_for_mxfp8_param_ag: false}"),
       "ddp.reuse_grad_buf_for_mxfp8_param_ag", "true gate"},
  });
  EXPECT_FALSE(plan_of(mixed("{grad_reduce_in_fp32: false}")).config.ddp.grad_reduce_in_fp32);
}

TEST(PrecisionRules, ARecipeMayBeGivenByItsFields) {
  for (const auto& [fields, recipe] :
       {std::pair("bf16: true, fp8: null, fp8_recipe: tensorwise", "bf16_mixed"),
        {"fp16: true", "fp16_mixed"},
        {"bf16: true, fp8: hybrid", "bf16_with_fp8_current_scaling_mixed"},
        {"fp16: true, fp8: hybrid, fp8_recipe: delayed", "fp16_with_fp8_delayed_scaling_mixed"},
        {"fp8: e4m3, fp8_recipe: mxfp8", "bf16_with_mxfp8_mixed"},
        {"fp8: hybrid, fp8_recipe: blockwise", "bf16_with_fp8_subchannel_scaling_mixed"},
        {"fp4: e2m1", "bf16_with_nvfp4_mixed"}})
    EXPECT_EQ(plan_of(kTwoRanks + "mixed_precision: {" + fields + "}").config.mixed_precision.recipe, recipe);
}

TEST(PrecisionRules, LayersAtTheEndsStayInBf16AsAsked) {
  for (const auto& [fields, expected] :
       {std::pair("", "b888888b"),
        {", num_layers_at_start_in_bf16: 2, num_layers_at_end_in_bf16: 0", "bb888888"},
        {", first_last_layers_bf16: false", "88888888"},
        {", first_last_layers_bf16: false, num_layers_at_start_in_bf16: 2", "88888888"}}) {
    const Plan plan =
        plan_of(std::string("model: {preset: tiny, num_layers: 8}\ndata_parallel_size: 2\nmixed_precision: {recipe: "
                            "bf16_with_fp8_current_scaling_mixed") +
                fields + "}");
    EXPECT_TRUE(plan.not_run.empty());
    std::string layers;
    for (std::int32_t layer = 0; layer < 8; ++layer) layers += multiplies_in_fp8(plan.config, layer) ? '8' : 'b';
    EXPECT_EQ(layers, expected) << fields;
  }
}

TEST(Contradictions, OfBucketsAndOfRecipesAreErrors) {
  const std::string mxfp8 = "mixed_precision: {recipe: bf16_with_mxfp8_mixed, fp8_param_gather: false";
  const std::string fp8_gather = "fp8_param_gather needs an fp8 recipe";
  expect_refused({
      {kTwoRanks + "ddp: {use_distributed_optimizer: false, overlap_param_gather: true}",
       "overlap_param_gather needs ddp.use_distributed_optimizer"},
      {kTwoRanks + "ddp: {num_buckets: 3, bucket_size: 5}", "excludes bucket_size, which is 5"},
      {kTwoRanks + "ddp: {num_buckets: 3}", "excludes bucket_size, which is 134217728"},
      {kTwoRanks + "mixed_precision: {recipe: bf16_mixed, fp8: hybrid}",
       "mixed_precision.fp8 is \"hybrid\", but recipe bf16_mixed has null"},
      {kTwoRanks + "mixed_precision: {fp8_param_gather: true}", fp8_gather},
      {kTwoRanks + "ddp: {fp8_param_gather: true}", fp8_gather},
      {kTwoRanks + mxfp8 + "}", "make them agree"},
  });
  plan_of(kTwoRanks + "ddp: {num_buckets: 3, use_distributed_optimizer: false}");
  plan_of(kTwoRanks + mxfp8 + ", reuse_grad_buf_for_mxfp8_param_ag: false}");
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
  const std::string asked = kTwoRanks + "ddp: {reduce_scatter_with_fp32_accumulation: true}\n";
  for (const std::string& yaml : {asked, asked + "mixed_precision: {grad_reduce_in_fp32: false}"}) {
    const Plan plan = plan_of(yaml);
    EXPECT_EQ(outcome(plan, "ddp.reduce_scatter_with_fp32_accumulation"), "true user");
    EXPECT_TRUE(plan.config.ddp.reduce_scatter_with_fp32_accumulation);
    EXPECT_THAT(plan.not_run, IsEmpty());
  }
  EXPECT_THAT(notices_of(asked).at(0), HasSubstr("gains nothing"));
}

}  // namespace
}  // namespace underlap::plan
