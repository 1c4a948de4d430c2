// SPDX-License-Identifier: Apache-2.0
// extensions.pipeline_schedule: its values are the schedules that are linked in, each where it can run.
#include "impl/pp/technique.hpp"
#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::pp {
namespace {

using plan::errors_of;
using plan::plan_of;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

std::string pipeline_of(int stages, int chunks, const std::string& schedule, const std::string& rest = "") {
  return "model: {preset: tiny, num_layers: 8, pipeline_model_parallel_size: " + std::to_string(stages) +
         ", virtual_pipeline_model_parallel_size: " + std::to_string(chunks) + "}\n" +
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
              ElementsAre(HasSubstr("f:3:14: extensions.pipeline_schedule one_forward_one_backward: it runs one chunk "
                                    "on each stage, and virtual_pipeline_model_parallel_size is above 1")));
  EXPECT_THAT(errors_of(pipeline_of(4, 2, "interleaved")), ElementsAre(HasSubstr("and overlap_p2p_comm is true")));
  EXPECT_THAT(errors_of(pipeline_of(4, 1, "interleaved")),
              ElementsAre(HasSubstr("it needs virtual_pipeline_model_parallel_size above 1")));
  EXPECT_THAT(errors_of(pipeline_of(4, 1, "overlapped")), ElementsAre(HasSubstr("it needs overlap_p2p_comm")));
  EXPECT_THAT(errors_of(pipeline_of(4, 1, "single_stage")), ElementsAre(HasSubstr("it is that of a stage alone")));
}

TEST(ScheduleKnob, HasNoEffectOnAStageAlone) {
  const plan::Plan plan = plan_of(pipeline_of(1, 1, "one_forward_one_backward"));
  EXPECT_EQ(Pipelines::in_effect(plan.config).name, "single_stage");
  ASSERT_EQ(plan.notices.size(), 1U);
  EXPECT_THAT(plan.notices[0].message, HasSubstr("no effect: pipeline_model_parallel_size is 1"));
}

TEST(ScheduleKnob, ListsTheSchedulesThatThereAre) {
  EXPECT_THAT(errors_of(pipeline_of(4, 1, "interleavd")),
              ElementsAre(HasSubstr("one of interleaved, one_forward_one_backward, overlapped, single_stage")));
  EXPECT_THAT(errors_of(pipeline_of(4, 1, "interleavd")), ElementsAre(EndsWith("did you mean interleaved?")));
  std::vector<std::string_view> pipelines;
  for (const auto& technique : Pipelines::all()) pipelines.push_back(technique.name);
  EXPECT_EQ(plan::pipeline_schedule_names(), pipelines);
}

}  // namespace
}  // namespace underlap::pp
