// SPDX-License-Identifier: Apache-2.0
// The rules by which claims are judged, on made-up evidence.
#include <gmock/gmock.h>

#include <set>

#include "research/studies/claims/study.hpp"
#include "tests/research/studies/claims/claims_testing.hpp"
#include "tests/research/studies/study_testing.hpp"

namespace underlap::bench {
namespace {

using namespace claims_testing;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kShipped = "bench/matrices/claims.yaml";

TEST(Claims, HaveEachTheirJudge) {
  std::set<std::string_view> ids, judged;
  const ClaimsStudy study = study_testing::shipped(parse_claims_study, kShipped);
  for (const Claim& claim : study.claims) EXPECT_TRUE(ids.insert(claim.id).second) << claim.id;
  for (const Judge& judge : all_judges()) EXPECT_TRUE(judged.insert(judge.id).second) << judge.id;
  EXPECT_EQ(ids, judged);
  EXPECT_EQ(ids.size(), 37U);
}

TEST(Claims, HaveEachTheirSourceARuleAndAWhyForEveryOutcome) {
  const std::string one = "study: overlap_claims\nclaims:\n- {id: switches, claim: c, runs: true, rule: r, holds: h, ";
  const std::string whole = one + "holds_where: w, does_not_hold: n";
  EXPECT_EQ(study_testing::complaint(parse_claims_study, whole + ", document: bridge_skill_card}\n"), "");
  study_testing::expect_refused(
      parse_claims_study,
      {{one + "holds_where: w}\n", "a.yaml:3:3: a claim needs claim, rule, holds, holds_where and does_not_hold"},
       {whole + ", document: nemo}\n", "must be nemo_user_guide or bridge_skill_card"},
       {"study: overlap_claims\nclaims: [{id: none}]\n", "a.yaml:2:10: no check for the claim \"none\""},
       {"study: overlap_claims\nclaims: [{runs: often}]\n", "a.yaml:2:17: must be true or false"},
       {"study: overlap_claims\nclaims: 3\n", "a.yaml:2:9: must be a list"}});
}

TEST(Claims, HoldWhereSomeCasesDo) {
  const auto of = [](std::vector<bool> cases) {
    Finding finding;
    for (const bool holds : cases) finding.cases.push_back({"", holds});
    return verdict_of({}, finding);
  };
  EXPECT_EQ(of({true, true}), Verdict::holds);
  EXPECT_EQ(of({true, false}), Verdict::holds_where);
  EXPECT_EQ(of({false, false}), Verdict::does_not_hold);
  Evidence evidence;
  evidence.not_run = {"not yet"};
  EXPECT_EQ(verdict_of(evidence, {}), Verdict::not_run);
}

TEST(CollectivesClaim, HoldsWithoutAnAllReduceBesideTheTwo) {
  Evidence evidence = planned("data_parallel_size: 2\nmatrix: {ddp.use_distributed_optimizer: [true, false]}\n");
  set_purpose(evidence.cells[0], "grad_reduce_scatter", {.count = 3});
  set_purpose(evidence.cells[0], "param_all_gather", {.count = 3});
  set_purpose(evidence.cells[1], "grad_all_reduce", {.count = 1});
  EXPECT_EQ(verdict("collectives", evidence), Verdict::holds);
  set_purpose(evidence.cells[0], "grad_all_reduce", {.count = 1});
  EXPECT_EQ(verdict("collectives", evidence), Verdict::holds_where);
  evidence.cells[1].run->purposes.clear();
  EXPECT_EQ(verdict("collectives", evidence), Verdict::does_not_hold);
}

TEST(LayerGrainClaim, HoldsOnlyWhereBucketsAndLayersCoincide) {
  Evidence evidence = planned("data_parallel_size: 2\n");
  evidence.cells[0].cut = LayerCut{.buckets = 5};
  EXPECT_EQ(verdict("layer_grain", evidence), Verdict::holds);
  evidence.cells[0].cut = LayerCut{.buckets = 5, .buckets_of_several_layers = 1};
  EXPECT_EQ(verdict("layer_grain", evidence), Verdict::does_not_hold);
  evidence.cells[0].cut = LayerCut{.buckets = 5, .layers_in_several_buckets = 1};
  EXPECT_EQ(verdict("layer_grain", evidence), Verdict::does_not_hold);
}

TEST(LayerGrainClaim, CountsWhatABucketAndALayerShare) {
  const auto cut = [](const std::string& bucket_size) {
    return layer_cut(
        planned("data_parallel_size: 2\ncomm_overlap: {bucket_size: " + bucket_size + "}\n").cells[0].plan.config);
  };
  const LayerCut whole = cut("134217728");  // the tiny model is smaller than one bucket
  EXPECT_EQ(whole.buckets, 1);
  EXPECT_EQ(whole.buckets_of_several_layers, 1);
  EXPECT_EQ(whole.layers_in_several_buckets, 0);
  const LayerCut single = cut("1");  // a bucket for each of 4 layers' 6 weights, two embeddings, a norm, the head
  EXPECT_EQ(single.buckets, 28);
  EXPECT_EQ(single.buckets_of_several_layers, 0);
  EXPECT_EQ(single.layers_in_several_buckets, 4);
}

TEST(ExposedChunkClaim, HoldsWhileNothingIsExposedBeyondTheFirstGatherAndTheLastReduce) {
  Evidence evidence = planned("data_parallel_size: 2\n");
  ClaimCell& cell = evidence.cells[0];
  set_step(cell, 100);
  cell.chunks = {{"param_all_gather", 4, 4},
                 {"param_all_gather", 9, 0.5},
                 {"grad_reduce_scatter", 9, 0.5},
                 {"grad_reduce_scatter", 3, 3}};
  EXPECT_EQ(verdict("exposed_chunk", evidence), Verdict::holds);
  cell.chunks[1].exposed_ms = 1.5;  // of a step of 100: more than is noticeable
  EXPECT_EQ(verdict("exposed_chunk", evidence), Verdict::holds_where);
  cell.chunks[2].exposed_ms = 1.5;
  EXPECT_EQ(verdict("exposed_chunk", evidence), Verdict::does_not_hold);
}

TEST(PipelineGrainClaim, HoldsWithOneBucketAChunk) {
  Evidence evidence = planned(
      "data_parallel_size: 2\nmodel.pipeline_model_parallel_size: 2\n"
      "model.virtual_pipeline_model_parallel_size: 2\ntrain: {num_microbatches: 4}\n");
  evidence.cells[0].plan.buckets = {{0, 0, {10}}, {1, 0, {10}}};
  EXPECT_EQ(verdict("pipeline_grain", evidence), Verdict::holds);
  evidence.cells[0].plan.buckets[0].elements = {5, 5};
  EXPECT_EQ(verdict("pipeline_grain", evidence), Verdict::holds_where);
}

TEST(SwitchesClaim, HoldsWhereEachDirectionHidesWhenItsSwitchIsOn) {
  Evidence evidence = planned(
      "data_parallel_size: 2\nddp: {overlap_param_gather: false}\nmatrix: {ddp.overlap_grad_sync: [false, true]}\n");
  for (ClaimCell& cell : evidence.cells) {
    set_purpose(cell, "param_all_gather", {.comm_ms = 10, .exposed_ms = 10});
    set_purpose(cell, "grad_reduce_scatter", {.comm_ms = 10, .exposed_ms = 10});
  }
  EXPECT_EQ(verdict("switches", evidence), Verdict::holds_where) << "the switch that is on hides nothing";
  set_purpose(evidence.cells[1], "grad_reduce_scatter", {.comm_ms = 10, .exposed_ms = 2});
  EXPECT_EQ(verdict("switches", evidence), Verdict::holds);
}

TEST(Bf16ReductionClaim, HoldsForANoticeableGainOnSeveralNodesAndAsksNoOtherGroup) {
  Evidence evidence = planned(
      "run.gpus_per_node: 8\nmatrix: {data_parallel_size: [8, 16], mixed_precision.grad_reduce_in_fp32: [true, "
      "false]}\n");
  for (ClaimCell& cell : evidence.cells) set_step(cell, 100);
  EXPECT_EQ(verdict("bf16_reduction", evidence), Verdict::does_not_hold);
  set_step(evidence.cells[1], 50);  // one node
  EXPECT_EQ(verdict("bf16_reduction", evidence), Verdict::does_not_hold);
  set_step(evidence.cells[3], 99.5);
  EXPECT_EQ(verdict("bf16_reduction", evidence), Verdict::does_not_hold);
  set_step(evidence.cells[3], 98.5);
  EXPECT_EQ(verdict("bf16_reduction", evidence), Verdict::holds);
}

TEST(ReductionDefaultClaim, AsksEachRecipeForFp32AndForNoUser) {
  const std::string recipes = "data_parallel_size: 2\nmatrix: {mixed_precision.recipe: [bf16_mixed, fp16_mixed]}\n";
  EXPECT_EQ(verdict("reduction_default", planned(recipes)), Verdict::holds_where);
  EXPECT_EQ(verdict("reduction_default", planned("data_parallel_size: 2\n")), Verdict::holds);
  EXPECT_EQ(
      verdict("reduction_default", planned("data_parallel_size: 2\nmixed_precision: {grad_reduce_in_fp32: true}\n")),
      Verdict::does_not_hold)
      << "what the user wrote is no default";
}

TEST(Fp8GatherClaim, HoldsForHalfTheBytes) {
  Evidence evidence = planned(
      "data_parallel_size: 2\nmixed_precision: {recipe: bf16_with_fp8_current_scaling_mixed}\n"
      "matrix: {mixed_precision.fp8_param_gather: [false, true]}\n");
  set_purpose(evidence.cells[0], "param_all_gather", {.bytes_on_wire = 1000});
  set_purpose(evidence.cells[1], "param_all_gather", {.bytes_on_wire = 505});
  EXPECT_EQ(verdict("fp8_gather", evidence), Verdict::holds);
  set_purpose(evidence.cells[1], "param_all_gather", {.bytes_on_wire = 700});
  EXPECT_EQ(verdict("fp8_gather", evidence), Verdict::does_not_hold);
}

TEST(DefaultsClaim, AsksAboveOneRankForBothOverlapsAndTheBucket) {
  EXPECT_EQ(verdict("defaults", planned("matrix: {data_parallel_size: [1, 2]}\n")), Verdict::holds);
  EXPECT_EQ(verdict("defaults", planned("data_parallel_size: 2\nddp: {use_distributed_optimizer: false}\n")),
            Verdict::does_not_hold);
  EXPECT_EQ(verdict("defaults", planned("data_parallel_size: 2\ncomm_overlap: {bucket_size: 134217728}\n")),
            Verdict::does_not_hold)
      << "what the user wrote was not chosen by itself";
}

TEST(BucketUnitClaim, HoldsWhereTheCutDoesNotDependOnTheWidth) {
  Evidence evidence = planned(
      "data_parallel_size: 2\ncomm_overlap: {bucket_size: 200000}\n"
      "matrix: {mixed_precision.grad_reduce_in_fp32: [true, false]}\n");
  EXPECT_EQ(verdict("bucket_unit", evidence), Verdict::holds);
  Evidence other = evidence;
  other.cells[1].plan.buckets[0].elements[0] *= 2;
  EXPECT_EQ(verdict("bucket_unit", other), Verdict::does_not_hold);
  for (ClaimCell& cell : evidence.cells) cell.plan.buckets[0].elements[0] = 199'999;
  EXPECT_EQ(verdict("bucket_unit", evidence), Verdict::does_not_hold) << "a full bucket that is smaller than its size";
}

TEST(PrecisionOwnerClaim, HoldsWhereTheRecipeDecidesAndCommOverlapKnowsNoSuchField) {
  Evidence evidence = planned("data_parallel_size: 2\nmatrix: {mixed_precision.recipe: [bf16_mixed, fp16_mixed]}\n");
  EXPECT_EQ(verdict("precision_owner", evidence), Verdict::holds);
  for (plan::KnobInfo& knob : evidence.knobs)
    if (knob.name == "mixed_precision.grad_reduce_in_fp32")
      knob.spellings.emplace_back("comm_overlap.grad_reduce_in_fp32");
  EXPECT_EQ(verdict("precision_owner", evidence), Verdict::holds_where);
  for (plan::Knob& knob : evidence.cells[0].plan.knobs)
    if (knob.name == "mixed_precision.fp8_param_gather") knob.source = "user";
  EXPECT_EQ(verdict("precision_owner", evidence), Verdict::does_not_hold);
}

TEST(LaunchSettingsClaim, HoldsWhereEnvironmentHasThemAndSaysWhatTheyDo) {
  Evidence evidence = planned("data_parallel_size: 2\nmatrix: {environment.layernorm_sm_margin: [16, 0]}\n");
  set_step(evidence.cells[0], 100);
  set_step(evidence.cells[1], 100.5);
  EXPECT_EQ(verdict("launch_settings", evidence), Verdict::holds);
  EXPECT_EQ(found("launch_settings", evidence).note, "No setting changes the step by more than 1 %.");
  set_step(evidence.cells[1], 103);
  EXPECT_EQ(found("launch_settings", evidence).note,
            "The settings change the step by +0.0 to +3.0 %, relative to the first row with the same number of ranks.");
  for (plan::KnobInfo& knob : evidence.knobs)
    if (knob.name.starts_with("environment.")) knob.spellings.emplace_back("comm_overlap." + knob.name);
  EXPECT_EQ(verdict("launch_settings", evidence), Verdict::does_not_hold);
}

Claim made_up_claim() {
  return {.id = "made_up",
          .text = "a claim",
          .rule = "a rule",
          .why = {.holds = "", .holds_where = "since it is so", .does_not_hold = ""}};
}

TEST(ClaimsPage, NamesTheCasesOfAClaimThatHoldsInPart) {
  const ClaimResult result{
      .claim = made_up_claim(),
      .command = "underlap plan x.yaml",
      .link = {},
      .not_run = {},
      .finding = {.found = {{{"cell"}}, {{{"one"}}}}, .cases = {{"two", true}, {"three", false}}, .note = {}},
      .verdict = Verdict::holds_where};
  const std::string page = claims_markdown({}, {result});
  EXPECT_THAT(page, HasSubstr("| 1 | a claim | holds where |"));
  EXPECT_THAT(page, HasSubstr("Command: `underlap plan x.yaml`"));
  EXPECT_THAT(page, HasSubstr("- holds: two\n- does not hold: three\n"));
  EXPECT_THAT(page, HasSubstr("since it is so\n\nRule: a rule."));
}

TEST(ClaimsPage, NamesEachLinkOnce) {
  ClaimResult one{.claim = made_up_claim(), .command = {}, .link = "modelled: a", .not_run = {}, .finding = {}};
  ClaimResult both = one;
  both.link = "modelled: a; modelled: b";
  EXPECT_THAT(claims_markdown({}, {one, both}), HasSubstr("none was measured (modelled: a; modelled: b)"));
}

TEST(ClaimsStudyFile, TellsEveryErrorWithItsPlace) {
  EXPECT_EQ(parse_claims_study("study: overlap_claims", "some/where.yaml").matrices, "some/claims");
  EXPECT_EQ(study_testing::complaint(parse_claims_study, "study: overlap_claims\nnoticeable: 0\nmatrices: x\n"),
            "a.yaml:2:13: \"0\" must be a number from 1e-06 to 0.5\n"
            "a.yaml:3:1: unknown key \"matrices\"; known: claims, noticeable, study");
}

}  // namespace
}  // namespace underlap::bench
