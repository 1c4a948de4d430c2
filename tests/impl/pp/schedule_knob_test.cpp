// SPDX-License-Identifier: Apache-2.0
// extensions.pipeline_schedule: its values are the schedules that are linked in, each where it can run.
#include <fmt/format.h>

#include "impl/pp/technique.hpp"
#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::pp {
namespace {

using plan::errors_of;
using plan::plan_of;

std::string pipeline_of(int stages, int chunks, const std::string& schedule, const std::string& rest = "") {
  return "model: {preset: tiny, num_layers: 8, pipeline_model_parallel_size: " + std::to_string(stages) +
         (chunks == 1 ? "" : ", virtual_pipeline_model_parallel_size: " + std::to_string(chunks)) + "}\n" +
         "train: {num_microbatches: 8}\nextensions: {pipeline_schedule: " + schedule + "}\n" + rest;
}
constexpr const char* kWaiting = "comm_overlap: {overlap_p2p_comm: false}\n";

std::string effective_schedule(const std::string& yaml) {
  const plan::Plan plan = plan_of(yaml);
  EXPECT_EQ(std::get<std::string>(knob_of(plan, "extensions.pipeline_schedule").effective),
            Pipelines::in_effect(plan.config).name);
  return outcome(plan, "extensions.pipeline_schedule");
}

TEST(ScheduleKnob, NamesWhatMegatronRunsWhereNobodyAsks) {
  EXPECT_EQ(effective_schedule(pipeline_of(4, 1, "null")), "\"one_forward_one_backward\" auto");
  EXPECT_EQ(effective_schedule(pipeline_of(4, 2, "null")), "\"overlapped\" auto");
  EXPECT_EQ(effective_schedule(pipeline_of(4, 2, "null", kWaiting)), "\"interleaved\" auto");
}

TEST(ScheduleKnob, TakesEachScheduleWhereItCanRun) {
  EXPECT_EQ(effective_schedule(pipeline_of(4, 1, "one_forward_one_backward")), "\"one_forward_one_backward\" user");
  EXPECT_EQ(effective_schedule(pipeline_of(4, 2, "overlapped")), "\"overlapped\" user");
  EXPECT_EQ(effective_schedule(pipeline_of(4, 2, "interleaved", kWaiting)), "\"interleaved\" user");
}

TEST(ScheduleKnob, RefusesAScheduleWithTheReason) {
  EXPECT_THAT(errors_of(pipeline_of(4, 2, "one_forward_one_backward")),
              ElementsAre(HasSubstr("f:3:14: extensions.pipeline_schedule one_forward_one_backward: it runs without "
                                    "virtual stages, but virtual_pipeline_model_parallel_size is set")));
  EXPECT_THAT(errors_of(pipeline_of(4, 2, "interleaved")), ElementsAre(HasSubstr("but overlap_p2p_comm is true")));
  EXPECT_THAT(errors_of(pipeline_of(4, 1, "interleaved")),
              ElementsAre(EndsWith("it needs virtual_pipeline_model_parallel_size")));
  EXPECT_THAT(errors_of(pipeline_of(4, 1, "overlapped")), ElementsAre(HasSubstr("it needs overlap_p2p_comm")));
  EXPECT_THAT(errors_of(pipeline_of(4, 1, "single_stage")), ElementsAre(HasSubstr("it is for a single stage")));
}

TEST(ScheduleKnob, HasNoEffectOnAStageAlone) {
  const plan::Plan plan = plan_of(pipeline_of(1, 1, "one_forward_one_backward"));
  EXPECT_EQ(Pipelines::in_effect(plan.config).name, "single_stage");
  ASSERT_EQ(plan.notices.size(), 1U);
  EXPECT_THAT(plan.notices[0].message, HasSubstr("no effect: pipeline_model_parallel_size is 1"));
}

TEST(ScheduleKnob, ListsTheSchedulesThatThereAre) {
  EXPECT_THAT(errors_of(pipeline_of(4, 1, "interleavd")),
              ElementsAre(HasSubstr(fmt::format("one of {}", fmt::join(plan::pipeline_schedule_names(), ", ")))));
  EXPECT_THAT(errors_of(pipeline_of(4, 1, "interleavd")), ElementsAre(EndsWith("did you mean interleaved?")));
  std::vector<std::string_view> pipelines;
  for (const auto& technique : Pipelines::all()) pipelines.push_back(technique.name);
  EXPECT_EQ(plan::pipeline_schedule_names(), pipelines);
}

// Every schedule that puts weight gradients off.
std::vector<std::string> splitting_schedules() {
  std::vector<std::string> names;
  for (const plan::PipelineSchedule& schedule : plan::pipeline_schedules())
    if (schedule.splits_backward) names.emplace_back(schedule.name);
  return names;
}

TEST(SplitBackward, IsRefusedWhereWeightGradientsCannotWait) {
  const std::pair<const char*, const char*> beside[] = {
      {"model.sequence_parallel: true\nmodel.tensor_model_parallel_size: 2\ncomm_overlap: {tp_comm_overlap: true}\n",
       "tp_comm_overlap runs collectives during them"},
      {"mixed_precision: {recipe: bf16_with_fp8_current_scaling_mixed}\n", "keeps no fp8 gradients"},
      {"model.recompute_granularity: full\nmodel.recompute_method: uniform\nmodel.recompute_num_layers: 1\n",
       "are freed before these gradients are computed"},
      {"comm_overlap: {defer_embedding_wgrad_compute: true, wgrad_deferral_limit: 0}\n",
       "set defer_embedding_wgrad_compute to false"}};
  for (const std::string& schedule : splitting_schedules())
    for (const auto& [rest, why] : beside)
      EXPECT_THAT(errors_of(pipeline_of(4, 1, schedule, rest)), ElementsAre(HasSubstr(why))) << schedule;
}

TEST(SplitBackward, LeavesNothingToRunBesideTensorParallelCollectives) {
  for (const std::string& schedule : splitting_schedules()) {
    const std::string over_two = "model.sequence_parallel: true\nmodel.tensor_model_parallel_size: 2\n";
    EXPECT_EQ(outcome(plan_of(pipeline_of(4, 1, schedule, over_two)), "extensions.tp_async_collectives"), "false gate");
    EXPECT_EQ(outcome(plan_of(pipeline_of(4, 1, "null", over_two)), "extensions.tp_async_collectives"), "true auto");
  }
}

// Tiny: 128 tokens, 128 hidden features, 64 of keys, 384 of a gated ffn, 256 bytes of vocabulary, two layers a stage.
TEST(SplitBackward, KeepsActivationsAndGradientsUntilWeightGradientsAreFormed) {
  constexpr std::int64_t kActivations = 2 * (4 * 128 + 2 * 128 + 2 * 64 + 3 * 384);  // bytes of a token and layer
  constexpr std::int64_t kGradients = 2 * (2 * 128 + 128 + 2 * 64 + 2 * 384), kLogits = 2 * 256;
  for (const std::string& schedule : splitting_schedules()) {
    const plan::Plan plan = plan_of(pipeline_of(4, 1, schedule));
    const auto [activations, gradients] = count_in_flight(*script_of(plan.config, 3), 0);
    EXPECT_EQ(plan.peak_memory.activations, 128 * (2 * (activations * kActivations + gradients * kGradients) +
                                                   (5 + activations + gradients) * kLogits))
        << schedule;
  }
}

}  // namespace
}  // namespace underlap::pp
