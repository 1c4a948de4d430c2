// SPDX-License-Identifier: Apache-2.0
// Pipelines: what each knob puts in effect, and what the schedules cannot do. Each refusal is tested with the nearest
// configuration that is legal.
#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

/// Eight layers over `stages` of `chunks`, two data-parallel ranks, and `microbatches` of them a step.
std::string pipeline_of(int stages, int chunks, const std::string& rest = "", int microbatches = 8,
                        const std::string& model = "") {
  return "model: {preset: tiny, num_layers: 8, pipeline_model_parallel_size: " + std::to_string(stages) +
         (chunks == 1 ? "" : ", virtual_pipeline_model_parallel_size: " + std::to_string(chunks)) +
         (model.empty() ? "" : ", ") + model +
         "}\ndata_parallel_size: 2\ntrain: {num_microbatches: " + std::to_string(microbatches) + "}\n" + rest;
}

PipelineConfig exchanges(const std::string& yaml) { return plan_of(yaml).config.pipeline; }

constexpr const char* kOneChunk = "virtual_pipeline_model_parallel_size: 1";
const std::string kGroupOf = "microbatch_group_size_per_vp_stage: ";
const std::string kWithStep = "comm_overlap: {overlap_param_gather_with_optimizer_step: true}\n";

/// A flag of each pipeline knob: +name or -name.
std::string flags_of(const PipelineConfig& p) {
  const auto flag = [](bool is_on, const char* name) { return std::string(is_on ? "+" : "-") + name; };
  return flag(p.overlap_p2p_comm, "overlap ") + flag(p.batch_p2p_comm, "batch ") + flag(p.batch_p2p_sync, "sync ") +
         flag(p.deallocate_pipeline_outputs, "deallocate ") + flag(p.overlap_p2p_comm_warmup_flush, "flush");
}

const std::string kOverlapOn = "comm_overlap: {overlap_p2p_comm: true, batch_p2p_comm: false}\n";
const std::string kPlain = "extensions: {overlap_without_virtual_stages: true}\n";
const std::string kNoRules = "_target_: x.ConfigContainer\ncomm_overlap: null\n";

TEST(PipelineKnobs, HoldWhatBridgeDecidesAndTheUserAsksFor) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {pipeline_of(1, 1), "-overlap -batch +sync +deallocate -flush"},
      {pipeline_of(4, 1), "-overlap +batch +sync +deallocate -flush"},
      {pipeline_of(4, 2), "+overlap -batch +sync +deallocate -flush"},
      {pipeline_of(2, 2, "", 8, "overlap_p2p_comm_warmup_flush: true"), "+overlap -batch +sync +deallocate +flush"},
      {pipeline_of(4, 2, "comm_overlap: {overlap_p2p_comm: false, batch_p2p_comm: true}", 8,
                   "batch_p2p_sync: false, deallocate_pipeline_outputs: false"),
       "-overlap +batch -sync -deallocate -flush"},
      {kNoRules + pipeline_of(4, 2), "-overlap +batch +sync +deallocate -flush"},
      {kNoRules + pipeline_of(2, 1, kPlain), "+overlap -batch +sync +deallocate -flush"},
      {pipeline_of(2, 1, kPlain), "+overlap -batch +sync +deallocate -flush"},
      {pipeline_of(2, 1, kPlain + "comm_overlap: {overlap_p2p_comm: false}"),
       "-overlap +batch +sync +deallocate -flush"},
      {pipeline_of(4, 1, "", 8, kOneChunk), "-overlap +batch +sync +deallocate -flush"}};
  for (const auto& [yaml, flags] : cases) EXPECT_EQ(flags_of(exchanges(yaml)), flags) << yaml;
  EXPECT_EQ(exchanges(pipeline_of(4, 2)).microbatch_group_size_per_vp_stage, 4);
  EXPECT_EQ(exchanges(pipeline_of(4, 2, "", 10, kGroupOf + "5")).microbatch_group_size_per_vp_stage, 5);
}

TEST(PipelineKnobs, AreReportedWithWhereTheyCameFrom) {
  const std::string two = pipeline_of(2, 2, "", 8, "batch_p2p_sync: false");
  const std::string schedule = "extensions.pipeline_schedule";
  expect_outcomes({
      {two, "model.batch_p2p_sync", "false user"},
      {two, "model.deallocate_pipeline_outputs", "true auto"},
      {two, "model.microbatch_group_size_per_vp_stage", "2 auto"},
      {two, "ddp.align_grad_reduce", "true auto"},
      {two, "extensions.release_by_event", "false auto"},
      {pipeline_of(2, 1, kPlain), "comm_overlap.overlap_p2p_comm", "true auto"},
      {pipeline_of(4, 1, "", 8, kOneChunk), schedule, "\"interleaved\" auto"},
      {pipeline_of(4, 1, kOverlapOn, 8, kOneChunk), schedule, "\"overlapped\" auto"},
      {pipeline_of(2, 1, "", 8, "virtual_pipeline_model_parallel_size: null"), schedule,
       "\"one_forward_one_backward\" auto"},
  });
  EXPECT_THAT(knob_of(plan_of(pipeline_of(2, 1, kPlain)), "comm_overlap.batch_p2p_comm").reason,
              HasSubstr("overlap_without_virtual_stages is true"));
}

TEST(PipelineSchedule, RefusesWhatItCannotRun) {
  const std::string defer = "comm_overlap: {defer_embedding_wgrad_compute: true";
  const auto aligned = pipeline_of(4, 1, "comm_overlap: {align_param_gather: true}\n", 8, kOneChunk);
  expect_refused({
      {pipeline_of(4, 2, "", 6), "f:3:9: num_microbatches is 6"},
      {pipeline_of(4, 2, "", 3), "num_microbatches is 3"},
      {pipeline_of(4, 2, "", 8, kGroupOf + "5"), "remainder of 0 or at least 4"},
      {pipeline_of(4, 2, "", 4, kGroupOf + "5"), "num_microbatches (4)"},
      {pipeline_of(4, 2, "", 8, kGroupOf + "3"), "pipeline_model_parallel_size (4)"},
      {pipeline_of(4, 1, "", 6, kOneChunk), "num_microbatches is 6"},
      {aligned, "fails because there is no second chunk"},
      {pipeline_of(1, 2), "at least 2 stages"},
      {pipeline_of(2, 1, kOverlapOn), "extensions.overlap_without_virtual_stages"},
      {pipeline_of(2, 1, kPlain + "comm_overlap: {batch_p2p_comm: true}"), "are mutually exclusive"},
      {pipeline_of(2, 2, "comm_overlap: {batch_p2p_comm: true}"), "are mutually exclusive"},
      {pipeline_of(2, 1, defer + "}"), "wgrad_deferral_limit of at least 0"},
      {pipeline_of(1, 1, defer + ", wgrad_deferral_limit: 0}"), "pipeline_model_parallel_size of at"},
      {pipeline_of(2, 1, defer + ", wgrad_deferral_limit: 1}", 8, "gradient_accumulation_fusion: false"),
       "needs model.gradient_accumulation_fusion"},
      {pipeline_of(2, 2, kWithStep + "mixed_precision: bf16_with_mxfp8_mixed"), "are mutually exclusive"},
  });
}

TEST(PipelineSchedule, RunsTheNearestLegalConfigurations) {
  for (const std::string& yaml : {
           pipeline_of(4, 1, "", 6),                  // without virtual stages any number will do
           pipeline_of(4, 2, "", 9, kGroupOf + "5"),  // 4 are left, as many as stages
           pipeline_of(2, 1, kOverlapOn + kPlain),
           pipeline_of(4, 1, "comm_overlap: {align_param_gather: false}\n", 8, kOneChunk),
       })
    EXPECT_THAT(errors_of(yaml), IsEmpty()) << yaml;
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
                  HasSubstr("f:1:155: the key and value heads"), HasSubstr("f:1:174: a2a+p2p needs"),
                  HasSubstr("f:1:219: overlap_p2p_comm_warmup_flush"), HasSubstr("f:2:9: num_microbatches is 5"),
                  HasSubstr("f:3:1: world_size is 20"), HasSubstr("f:4:16: virtual stages without overlap_p2p_comm"),
                  HasSubstr("f:5:7: ddp.num_distributed_optimizer_instances is 3")));
}

TEST(PipelineKnobs, WithoutEffectAreANotice) {
  const std::string by_event = "extensions: {release_by_event: true}\n";
  const std::string in_parts = "extensions: {scatter_gather_tensors_in_pipeline: true}\n";
  expect_noticed({
      {pipeline_of(4, 1, "", 8, kGroupOf + "3"), "has no effect: virtual_pipeline_model_parallel_size is 1"},
      {pipeline_of(4, 1, "", 8, kOneChunk), "twice as many forward passes as plain 1F1B"},
      {pipeline_of(1, 1, kPlain), "pipeline_model_parallel_size is 1"},
      {pipeline_of(2, 2, kPlain), "virtual_pipeline_model_parallel_size is 2"},
      {pipeline_of(2, 1, kPlain + "comm_overlap: {overlap_p2p_comm: false}"),
       "f:4:14: extensions.overlap_without_virtual_stages has no effect: overlap"},
      {pipeline_of(2, 2, by_event, 8, "deallocate_pipeline_outputs: false"), "deallocate_pipeline_outputs is false"},
      {pipeline_of(2, 1, by_event), "ranks wait for every exchange"},
      {pipeline_of(1, 1, in_parts), "pipeline_model_parallel_size is 1"},
      {pipeline_of(2, 1, "comm_overlap: {wgrad_deferral_limit: 22}"), "defer_embedding_wgrad_compute is false"},
      {pipeline_of(2, 2, "ddp: {align_param_gather: true, overlap_param_gather: false}"),
       "overlap_param_gather is false"},
      {pipeline_of(2, 2, "ddp: {align_grad_reduce: false, overlap_grad_reduce: false}"),
       "overlap_grad_reduce is false"},
      {pipeline_of(2, 2,
                   "optimizer: {overlap_param_gather_with_optimizer_step: true}\n"
                   "ddp: {use_distributed_optimizer: false}"),
       "ddp.use_distributed_optimizer is false"},
  });
  const Plan plan = plan_of(pipeline_of(2, 2, by_event));
  EXPECT_TRUE(plan.config.extensions.release_by_event);
  EXPECT_THAT(plan.notices, IsEmpty());
}

TEST(ScatterGather, NeedsActivationsThatSeveralRanksOfAStageHold) {
  constexpr const char* kName = "extensions.scatter_gather_tensors_in_pipeline";
  const auto tensor = [&](const std::string& model) {
    return plan_of(pipeline_of(2, 1, "extensions: {scatter_gather_tensors_in_pipeline: true}\n", 8, model));
  };
  const Plan whole = tensor("tensor_model_parallel_size: 2, sequence_parallel: false");
  EXPECT_TRUE(whole.config.extensions.scatter_gather_tensors_in_pipeline);
  EXPECT_EQ(outcome(whole, kName), "true user");
  for (const auto& [model, reason] :
       {std::pair("tensor_model_parallel_size: 2, sequence_parallel: true", "sequence_parallel is true"),
        {"", "tensor_model_parallel_size is 1"}}) {
    const Plan gated = tensor(model);
    EXPECT_FALSE(gated.config.extensions.scatter_gather_tensors_in_pipeline) << model;
    EXPECT_EQ(outcome(gated, kName), "false gate") << model;
    EXPECT_THAT(knob_of(gated, kName).reason, HasSubstr(reason));
  }
}

TEST(DeferredWgrad, KeepsItsLimit) {
  for (const int limit : {0, 22}) {
    const PipelineConfig p = exchanges(pipeline_of(
        2, 1,
        "comm_overlap: {defer_embedding_wgrad_compute: true, wgrad_deferral_limit: " + std::to_string(limit) + "}"));
    EXPECT_TRUE(p.defer_embedding_wgrad_compute);
    EXPECT_EQ(p.wgrad_deferral_limit, limit);
  }
}

const std::string kAlign = "comm_overlap.align_param_gather";

TEST(AlignedGather, IsInEffectWithVirtualStagesThatGather) {
  EXPECT_TRUE(plan_of(pipeline_of(2, 2)).config.ddp.align_param_gather);
  EXPECT_FALSE(plan_of(pipeline_of(2, 2, "ddp: {align_param_gather: false}")).config.ddp.align_param_gather);
  const Plan without_gather = plan_of(pipeline_of(2, 2, "ddp: {overlap_param_gather: false}"));
  EXPECT_EQ(outcome(without_gather, kAlign), "true auto") << "as Megatron-Bridge";
  EXPECT_FALSE(without_gather.config.ddp.align_param_gather) << "but there is nothing to align";
  const std::string whole = "ddp: {use_distributed_optimizer: false}";
  expect_outcomes({
      {pipeline_of(2, 1), kAlign, "false auto"},
      {"model: {preset: tiny, pipeline_model_parallel_size: 2, virtual_pipeline_model_parallel_size: 2}\n"
       "train: {num_microbatches: 8}\n",
       kAlign, "false auto"},
      {pipeline_of(2, 2, whole), kAlign, "false auto"},
      {pipeline_of(2, 2, "comm_overlap: {align_param_gather: true}\n" + whole), kAlign, "false gate"},
  });
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

TEST(AlignedReduce, IsOnUntilSwitchedOff) {
  EXPECT_TRUE(plan_of(pipeline_of(2, 2)).config.ddp.align_grad_reduce);
  const Plan off = plan_of(pipeline_of(2, 2, "ddp: {align_grad_reduce: false}"));
  EXPECT_FALSE(off.config.ddp.align_grad_reduce);
  EXPECT_THAT(off.notices, IsEmpty());
}

TEST(GatherWithOptimizerStep, NamesEachThingItLacks) {
  EXPECT_TRUE(plan_of(pipeline_of(2, 2, kWithStep)).config.optimizer.overlap_param_gather_with_optimizer_step);
  const auto expect_lack = [](const std::string& yaml, const char* lack) {
    const Plan plan = plan_of(yaml);
    EXPECT_FALSE(plan.config.optimizer.overlap_param_gather_with_optimizer_step);
    EXPECT_THAT(lines_of(plan.not_run).at(0), HasSubstr(lack));
  };
  expect_lack(pipeline_of(2, 1, kWithStep), "needs virtual_pipeline_model_parallel_size above 1:");
  expect_lack(pipeline_of(2, 2,
                          "comm_overlap: {overlap_param_gather_with_optimizer_step: true, "
                          "overlap_param_gather: false}"),
              "needs comm_overlap.overlap_param_gather:");
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
