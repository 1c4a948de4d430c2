// SPDX-License-Identifier: Apache-2.0
// Pipelines: what each knob puts in effect, and what the schedules cannot do. Each refusal is tested with the nearest
// configuration that is legal.
#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Eight layers over `stages` of `chunks`, two data-parallel ranks, and `microbatches` of them a step.
std::string pipeline_of(int stages, int chunks, const std::string& rest = "", int microbatches = 8,
                        const std::string& model = "") {
  return "model: {preset: tiny, num_layers: 8, pipeline_model_parallel_size: " + std::to_string(stages) +
         (chunks == 1 ? "" : ", virtual_pipeline_model_parallel_size: " + std::to_string(chunks)) +
         (model.empty() ? "" : ", ") + model +
         "}\ndata_parallel_size: 2\ntrain: {num_microbatches: " + std::to_string(microbatches) + "}\n" + rest;
}

PipelineConfig exchanges(const std::string& yaml) { return plan_of(yaml).config.pipeline; }

/// The one notice of a plan that must have one.
std::string only_notice(const Plan& plan) {
  EXPECT_EQ(plan.notices.size(), 1U);
  return plan.notices.empty() ? "" : plan.notices[0].where + ": " + plan.notices[0].message;
}

TEST(PipelineKnobs, HoldWhatBridgeDecides) {
  const PipelineConfig none = exchanges(pipeline_of(1, 1));
  EXPECT_FALSE(none.overlap_p2p_comm || none.batch_p2p_comm);
  const PipelineConfig plain = exchanges(pipeline_of(4, 1));
  EXPECT_FALSE(plain.overlap_p2p_comm);
  EXPECT_TRUE(plain.batch_p2p_comm && plain.batch_p2p_sync && plain.deallocate_pipeline_outputs);
  const PipelineConfig interleaved = exchanges(pipeline_of(4, 2));
  EXPECT_TRUE(interleaved.overlap_p2p_comm);
  EXPECT_FALSE(interleaved.batch_p2p_comm || interleaved.overlap_p2p_comm_warmup_flush);
  EXPECT_EQ(interleaved.microbatch_group_size_per_vp_stage, 4);
}

TEST(PipelineKnobs, HoldWhatTheUserAsksFor) {
  const PipelineConfig p =
      exchanges(pipeline_of(4, 2, "comm_overlap: {overlap_p2p_comm: false, batch_p2p_comm: true}", 10,
                            "batch_p2p_sync: false, deallocate_pipeline_outputs: false, "
                            "microbatch_group_size_per_vp_stage: 5"));
  EXPECT_TRUE(p.batch_p2p_comm);
  EXPECT_FALSE(p.overlap_p2p_comm || p.batch_p2p_sync || p.deallocate_pipeline_outputs);
  EXPECT_EQ(p.microbatch_group_size_per_vp_stage, 5);
  EXPECT_TRUE(exchanges(pipeline_of(2, 2, "", 8, "overlap_p2p_comm_warmup_flush: true")).overlap_p2p_comm_warmup_flush);
}

TEST(PipelineKnobs, AreAllReportedWithWhereTheyCameFrom) {
  const Plan plan = plan_of(pipeline_of(2, 2, "", 8, "batch_p2p_sync: false"));
  EXPECT_EQ(outcome(plan, "model.batch_p2p_sync"), "false user");
  EXPECT_EQ(outcome(plan, "model.deallocate_pipeline_outputs"), "true auto");
  EXPECT_EQ(outcome(plan, "model.microbatch_group_size_per_vp_stage"), "2 auto");
  EXPECT_EQ(outcome(plan, "ddp.align_grad_reduce"), "true auto");
  EXPECT_EQ(outcome(plan, "extensions.release_by_event"), "false auto");
}

TEST(PipelineKnobs, WithoutRulesOfBridgeMegatronCoresDefaultsHold) {
  const std::string dump = "_target_: x.ConfigContainer\ncomm_overlap: null\n";
  const PipelineConfig p = exchanges(dump + pipeline_of(4, 2));
  EXPECT_FALSE(p.overlap_p2p_comm);
  EXPECT_TRUE(p.batch_p2p_comm);
  EXPECT_TRUE(
      exchanges(dump + pipeline_of(2, 1, "extensions: {overlap_without_virtual_stages: true}")).overlap_p2p_comm);
}

TEST(PipelineSchedule, LayersMustDivideOverStagesAndChunks) {
  EXPECT_THAT(errors_of("model:\n  preset: tiny\n  num_layers: 12\n  pipeline_model_parallel_size: 4\n"
                        "  virtual_pipeline_model_parallel_size: 2\ntrain: {num_microbatches: 4}\n"),
              ElementsAre(AllOf(HasSubstr("f:3:3: model.num_layers is 12"), HasSubstr("(8) does not divide"))));
  EXPECT_THAT(errors_of(pipeline_of(4, 2)), IsEmpty());
}

TEST(PipelineSchedule, MicrobatchesMustFitTheInterleaving) {
  EXPECT_THAT(errors_of(pipeline_of(4, 2, "", 6)),
              ElementsAre(AllOf(HasSubstr("f:3:9: "), HasSubstr("num_microbatches is 6"), HasSubstr("multiple of"))));
  EXPECT_THAT(errors_of(pipeline_of(4, 2, "", 3)), ElementsAre(HasSubstr("num_microbatches is 3")));
  EXPECT_THAT(errors_of(pipeline_of(4, 1, "", 6)), IsEmpty()) << "without virtual stages any number will do";
  const std::string by_five = "microbatch_group_size_per_vp_stage: 5";
  EXPECT_THAT(errors_of(pipeline_of(4, 2, "", 9, by_five)), IsEmpty()) << "4 are left, as many as stages";
  EXPECT_THAT(errors_of(pipeline_of(4, 2, "", 8, by_five)), ElementsAre(HasSubstr("remainder of 0 or at least 4")));
  EXPECT_THAT(errors_of(pipeline_of(4, 2, "", 4, by_five)), ElementsAre(HasSubstr("num_microbatches (4)")));
  EXPECT_THAT(errors_of(pipeline_of(4, 2, "", 8, "microbatch_group_size_per_vp_stage: 3")),
              ElementsAre(HasSubstr("pipeline_model_parallel_size (4)")));
}

TEST(PipelineSchedule, AGroupSizeWithoutVirtualStagesIsIdle) {
  EXPECT_THAT(only_notice(plan_of(pipeline_of(4, 1, "", 8, "microbatch_group_size_per_vp_stage: 3"))),
              HasSubstr("has no effect: virtual_pipeline_model_parallel_size is 1"));
}

constexpr const char* kOneChunk = "virtual_pipeline_model_parallel_size: 1";

TEST(OneVirtualStage, RunsTheInterleavedScheduleAndSaysSo) {
  const Plan plan = plan_of(pipeline_of(4, 1, "", 8, kOneChunk));
  EXPECT_EQ(outcome(plan, "extensions.pipeline_schedule"), "\"interleaved\" auto");
  EXPECT_TRUE(plan.config.pipeline.batch_p2p_comm && !plan.config.pipeline.overlap_p2p_comm) << "as Bridge decides";
  EXPECT_THAT(only_notice(plan), HasSubstr("twice as many forward passes as plain 1F1B"));
  EXPECT_EQ(outcome(plan_of(pipeline_of(2, 1, "", 8, "virtual_pipeline_model_parallel_size: null")),
                    "extensions.pipeline_schedule"),
            "\"one_forward_one_backward\" auto");
}

TEST(OneVirtualStage, OverlapsWhereThatIsAskedFor) {
  const std::string on = "comm_overlap: {overlap_p2p_comm: true, batch_p2p_comm: false}\n";
  EXPECT_THAT(errors_of(pipeline_of(4, 1, on, 8, kOneChunk)), IsEmpty());
  EXPECT_EQ(outcome(plan_of(pipeline_of(4, 1, on, 8, kOneChunk)), "extensions.pipeline_schedule"),
            "\"overlapped\" auto");
}

TEST(OneVirtualStage, HoldsWhatMegatronCoreChecksOfVirtualStages) {
  EXPECT_THAT(errors_of(pipeline_of(4, 1, "", 6, kOneChunk)), ElementsAre(HasSubstr("num_microbatches is 6")));
  const auto aligned = [](const char* value) {
    return pipeline_of(4, 1, std::string("comm_overlap: {align_param_gather: ") + value + "}\n", 8, kOneChunk);
  };
  EXPECT_THAT(errors_of(aligned("true")), ElementsAre(HasSubstr("fails at the second, which there is not")));
  EXPECT_THAT(errors_of(aligned("false")), IsEmpty());
}

TEST(PipelineSchedule, EveryMistakeIsReportedAtOnce) {
  EXPECT_THAT(
      errors_of("model: {preset: tiny, num_layers: 6, seq_length: 126, pipeline_model_parallel_size: 2, "
                "virtual_pipeline_model_parallel_size: 2, context_parallel_size: 4, cp_comm_type: a2a, "
                "hierarchical_context_parallel_sizes: [2, 3], overlap_p2p_comm_warmup_flush: true}\n"
                "train: {num_microbatches: 5}\nworld_size: 20\n"
                "comm_overlap: {overlap_p2p_comm: false}\n"
                "ddp: {num_distributed_optimizer_instances: 3}\n"),
      ElementsAre(HasSubstr("f:1:23: model.num_layers is 6"), HasSubstr("f:1:38: model.seq_length is 126"),
                  HasSubstr("f:1:155: all-to-all splits"), HasSubstr("f:1:174: a2a+p2p needs"),
                  HasSubstr("f:1:219: overlap_p2p_comm_warmup_flush"), HasSubstr("f:2:9: num_microbatches is 5"),
                  HasSubstr("f:3:1: world_size is 20"), HasSubstr("f:4:16: virtual stages without overlap_p2p_comm"),
                  HasSubstr("f:5:7: ddp.num_distributed_optimizer_instances is 3")));
}

const std::string kPlain = "extensions: {overlap_without_virtual_stages: true}\n";

TEST(OverlapWithoutVirtualStages, IsRefusedUnlessTheExtensionAsksForIt) {
  const std::string on = "comm_overlap: {overlap_p2p_comm: true, batch_p2p_comm: false}\n";
  EXPECT_THAT(errors_of(pipeline_of(2, 1, on)), ElementsAre(HasSubstr("extensions.overlap_without_virtual_stages")));
  EXPECT_THAT(errors_of(pipeline_of(2, 1, on + kPlain)), IsEmpty());
}

TEST(OverlapWithoutVirtualStages, TurnsOverlapOnAndBatchingOff) {
  const Plan plan = plan_of(pipeline_of(2, 1, kPlain));
  EXPECT_TRUE(plan.config.pipeline.overlap_p2p_comm);
  EXPECT_FALSE(plan.config.pipeline.batch_p2p_comm);
  EXPECT_EQ(outcome(plan, "comm_overlap.overlap_p2p_comm"), "true auto");
  EXPECT_THAT(knob_of(plan, "comm_overlap.batch_p2p_comm").reason, HasSubstr("overlap_without_virtual_stages is true"));
  EXPECT_THAT(errors_of(pipeline_of(2, 1, kPlain + "comm_overlap: {batch_p2p_comm: true}")),
              ElementsAre(HasSubstr("exclude each other")));
}

TEST(OverlapWithoutVirtualStages, IsIdleWhereThereIsNothingToOverlap) {
  EXPECT_THAT(only_notice(plan_of(pipeline_of(1, 1, kPlain))), HasSubstr("pipeline_model_parallel_size is 1"));
  EXPECT_THAT(only_notice(plan_of(pipeline_of(2, 2, kPlain))), HasSubstr("virtual_pipeline_model_parallel_size is 2"));
  const Plan off = plan_of(pipeline_of(2, 1, kPlain + "comm_overlap: {overlap_p2p_comm: false}"));
  EXPECT_THAT(only_notice(off), HasSubstr("f:4:14: extensions.overlap_without_virtual_stages has no effect: overlap"));
  EXPECT_FALSE(off.config.pipeline.overlap_p2p_comm);
  EXPECT_TRUE(off.config.pipeline.batch_p2p_comm);
}

TEST(ReleaseByEvent, IsIdleWhereOutputsAreKeptOrEveryExchangeIsWaitedFor) {
  const std::string by_event = "extensions: {release_by_event: true}\n";
  const Plan plan = plan_of(pipeline_of(2, 2, by_event));
  EXPECT_TRUE(plan.config.extensions.release_by_event);
  EXPECT_THAT(plan.notices, IsEmpty());
  EXPECT_THAT(only_notice(plan_of(pipeline_of(2, 2, by_event, 8, "deallocate_pipeline_outputs: false"))),
              HasSubstr("deallocate_pipeline_outputs is false"));
  EXPECT_THAT(only_notice(plan_of(pipeline_of(2, 1, by_event))), HasSubstr("every exchange is waited for"));
}

TEST(ScatterGather, NeedsActivationsThatSeveralRanksOfAStageHold) {
  constexpr const char* kName = "extensions.scatter_gather_tensors_in_pipeline";
  const std::string on = "extensions: {scatter_gather_tensors_in_pipeline: true}\n";
  const auto tensor = [&](const std::string& model) { return plan_of(pipeline_of(2, 1, on, 8, model)); };
  const Plan whole = tensor("tensor_model_parallel_size: 2, sequence_parallel: false");
  EXPECT_TRUE(whole.config.extensions.scatter_gather_tensors_in_pipeline);
  EXPECT_EQ(outcome(whole, kName), "true user");
  const Plan parts = tensor("tensor_model_parallel_size: 2, sequence_parallel: true");
  EXPECT_FALSE(parts.config.extensions.scatter_gather_tensors_in_pipeline);
  EXPECT_EQ(outcome(parts, kName), "false gate");
  EXPECT_THAT(knob_of(parts, kName).reason, HasSubstr("sequence_parallel is true"));
  const Plan one = tensor("");
  EXPECT_EQ(outcome(one, kName), "false gate");
  EXPECT_THAT(knob_of(one, kName).reason, HasSubstr("tensor_model_parallel_size is 1"));
  const Plan no_pipeline = plan_of(pipeline_of(1, 1, on));
  EXPECT_THAT(only_notice(no_pipeline), HasSubstr("pipeline_model_parallel_size is 1"));
}

TEST(DeferredWgrad, KeepsItsLimit) {
  const std::string defer = "comm_overlap: {defer_embedding_wgrad_compute: true, wgrad_deferral_limit: ";
  const PipelineConfig p = exchanges(pipeline_of(2, 1, defer + "22}"));
  EXPECT_TRUE(p.defer_embedding_wgrad_compute);
  EXPECT_EQ(p.wgrad_deferral_limit, 22);
  EXPECT_EQ(exchanges(pipeline_of(2, 1, defer + "0}")).wgrad_deferral_limit, 0);
  EXPECT_THAT(errors_of(pipeline_of(1, 1, defer + "0}")), ElementsAre(HasSubstr("pipeline_model_parallel_size of at")));
}

TEST(DeferredWgrad, ALimitAloneIsIdle) {
  EXPECT_THAT(only_notice(plan_of(pipeline_of(2, 1, "comm_overlap: {wgrad_deferral_limit: 22}"))),
              HasSubstr("defer_embedding_wgrad_compute is false"));
}

const std::string kAlign = "comm_overlap.align_param_gather";

TEST(AlignedGather, IsInEffectWithVirtualStagesThatGather) {
  EXPECT_TRUE(plan_of(pipeline_of(2, 2)).config.ddp.align_param_gather);
  EXPECT_FALSE(plan_of(pipeline_of(2, 2, "ddp: {align_param_gather: false}")).config.ddp.align_param_gather);
  const Plan without_gather = plan_of(pipeline_of(2, 2, "ddp: {overlap_param_gather: false}"));
  EXPECT_EQ(outcome(without_gather, kAlign), "true auto") << "as Megatron-Bridge";
  EXPECT_FALSE(without_gather.config.ddp.align_param_gather) << "but there is nothing to align";
}

TEST(AlignedGather, ExposesEveryGatherWhereNoScheduleStartsThem) {
  const std::string on = "comm_overlap: {align_param_gather: true}\n";
  for (const int stages : {1, 2}) {
    const Plan plan = plan_of(pipeline_of(stages, 1, on));
    EXPECT_EQ(outcome(plan, kAlign), "true user");
    ASSERT_FALSE(plan.exposed.empty());
    EXPECT_THAT(plan.exposed[0].message, HasSubstr("every parameter gather is exposed"));
    EXPECT_EQ(plan.config.extensions.param_gather_prefetch, 0);
    EXPECT_FALSE(plan.config.ddp.align_param_gather) << "no schedule starts them";
  }
  EXPECT_THAT(plan_of(pipeline_of(2, 2, on)).exposed, IsEmpty());
  EXPECT_EQ(plan_of(pipeline_of(2, 2, on)).config.extensions.param_gather_prefetch, 1);
}

TEST(AlignedGather, IsIdleWhereNothingIsGathered) {
  const std::string on = "comm_overlap: {align_param_gather: true}\n";
  const Plan whole = plan_of(pipeline_of(2, 2, on + "ddp: {use_distributed_optimizer: false}"));
  EXPECT_EQ(outcome(whole, kAlign), "false gate") << "Megatron-Bridge skips it";
  EXPECT_EQ(outcome(plan_of(pipeline_of(2, 2, "ddp: {use_distributed_optimizer: false}")), kAlign), "false auto");
  EXPECT_THAT(only_notice(plan_of(pipeline_of(2, 2, "ddp: {align_param_gather: true, overlap_param_gather: false}"))),
              HasSubstr("overlap_param_gather is false"));
}

TEST(AlignedReduce, IsOnUntilSwitchedOff) {
  EXPECT_TRUE(plan_of(pipeline_of(2, 2)).config.ddp.align_grad_reduce);
  const Plan off = plan_of(pipeline_of(2, 2, "ddp: {align_grad_reduce: false}"));
  EXPECT_FALSE(off.config.ddp.align_grad_reduce);
  EXPECT_THAT(off.notices, IsEmpty());
  EXPECT_THAT(only_notice(plan_of(pipeline_of(2, 2, "ddp: {align_grad_reduce: false, overlap_grad_reduce: false}"))),
              HasSubstr("overlap_grad_reduce is false"));
}

const std::string kWithStep = "comm_overlap: {overlap_param_gather_with_optimizer_step: true}\n";

TEST(GatherWithOptimizerStep, NamesEachThingItLacks) {
  EXPECT_TRUE(plan_of(pipeline_of(2, 2, kWithStep)).config.optimizer.overlap_param_gather_with_optimizer_step);
  const auto refusal = [](const std::string& yaml) {
    const Plan plan = plan_of(yaml);
    EXPECT_FALSE(plan.config.optimizer.overlap_param_gather_with_optimizer_step);
    return plan.not_run.empty() ? "" : plan.not_run[0].message;
  };
  EXPECT_THAT(refusal(pipeline_of(2, 1, kWithStep)), HasSubstr("needs virtual_pipeline_model_parallel_size above 1:"));
  EXPECT_THAT(refusal(pipeline_of(2, 2,
                                  "comm_overlap: {overlap_param_gather_with_optimizer_step: true, "
                                  "overlap_param_gather: false}")),
              HasSubstr("needs comm_overlap.overlap_param_gather:"));
}

TEST(GatherWithOptimizerStep, IsIdleWithoutTheDistributedOptimizer) {
  EXPECT_THAT(only_notice(plan_of(pipeline_of(2, 2,
                                              "optimizer: {overlap_param_gather_with_optimizer_step: true}\n"
                                              "ddp: {use_distributed_optimizer: false}"))),
              HasSubstr("ddp.use_distributed_optimizer is false"));
}

TEST(GatherWithOptimizerStep, ExcludesTheReusedBufferOfMxfp8) {
  EXPECT_THAT(errors_of(pipeline_of(2, 2, kWithStep + "mixed_precision: bf16_with_mxfp8_mixed")),
              ElementsAre(HasSubstr("exclude each other")));
}

TEST(GatherWithOptimizerStep, LeavesOneBucketAChunk) {
  const Plan plan = plan_of(pipeline_of(2, 2, kWithStep + "extensions: {bucket_every_stage: true}"));
  EXPECT_EQ(outcome(plan, "comm_overlap.bucket_size"), "134217728 auto") << "as Megatron-Bridge";
  EXPECT_EQ(plan.config.ddp.bucket_size, std::nullopt);
  EXPECT_EQ(outcome(plan, "extensions.bucket_every_stage"), "false gate");
  EXPECT_FALSE(plan.config.extensions.bucket_every_stage);
}

TEST(BucketEveryStage, IsIdleWithoutOverlap) {
  const std::string on = "extensions: {bucket_every_stage: true}\n";
  EXPECT_TRUE(plan_of(pipeline_of(2, 2, on)).config.extensions.bucket_every_stage);
  EXPECT_THAT(plan_of(pipeline_of(2, 2, on)).notices, IsEmpty());
  const Plan off =
      plan_of(pipeline_of(2, 2, on + "comm_overlap: {overlap_grad_reduce: false, overlap_param_gather: false}"));
  EXPECT_THAT(knob_of(off, "extensions.bucket_every_stage").reason, HasSubstr("no effect: neither"));
}

}  // namespace
}  // namespace underlap::plan
