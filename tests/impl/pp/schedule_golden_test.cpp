// SPDX-License-Identifier: Apache-2.0
// Timelines of all stages. See tests/impl/golden_schedule.hpp.
#include "tests/impl/golden_schedule.hpp"

#include "tests/impl/pp/virtual_pipeline.hpp"

namespace underlap::pp {
namespace {

using testing_support::kMillisecond;

testing_support::Names technique_names() { return testing_support::names_of_all<Pipelines>(); }

std::optional<std::string> asked_schedule(const YAML::Node& yaml) {
  const YAML::Node name = yaml["pipeline_schedule"];
  return name ? std::optional(name.as<std::string>()) : std::nullopt;
}

PipelineCase case_of(const YAML::Node& yaml) {
  const auto ms = [&](const char* key) { return yaml[key].as<std::int64_t>(0) * kMillisecond; };
  const auto is = [&](const char* key) { return yaml[key].as<bool>(false); };
  return {.num_stages = yaml["num_stages"].as<std::int32_t>(2),
          .num_chunks = yaml["num_chunks"].as<std::int32_t>(1),
          .num_microbatches = yaml["num_microbatches"].as<std::int64_t>(4),
          .group_size = yaml["group_size"].as<std::int64_t>(0),
          .pipeline = {.overlap_p2p_comm = is("overlap_p2p_comm"),
                       .batch_p2p_comm = is("batch_p2p_comm"),
                       .batch_p2p_sync = is("batch_p2p_sync"),
                       .overlap_p2p_comm_warmup_flush = is("overlap_p2p_comm_warmup_flush"),
                       .deallocate_pipeline_outputs = is("deallocate_pipeline_outputs")},
          .release_by_event = is("release_by_event"),
          .interleaves_one_chunk = is("interleaves_one_chunk"),
          .schedule = asked_schedule(yaml),
          .num_tensor = yaml["num_tensor"].as<std::int32_t>(1),
          .forward_ns = ms("forward_ms"),
          .backward_ns = ms("backward_ms"),
          .wgrad_ns = ms("wgrad_ms"),
          .message_ns = ms("message_ms"),
          .gather_ns = ms("gather_ms"),
          .connections = yaml["connections"].as<std::int32_t>(0)};
}

// Without what brings the stages together at the end.
Trace of_pipeline(const Trace& trace) {
  return testing_support::of_tracks(trace, [](const Track& track) { return track.name != VirtualPipeline::kEnd; });
}

class PipelineScheduleGolden : public testing::TestWithParam<std::string> {};

TEST_P(PipelineScheduleGolden, IsDrawnAsExpected) {
  const PipelineCase c = case_of(testing_support::golden_input(GetParam()));
  testing_support::expect_golden(GetParam(), {std::string(Pipelines::in_effect(c.config()).name)},
                                 of_pipeline(VirtualPipeline(c).play()));
}

INSTANTIATE_TEST_SUITE_P(Cases, PipelineScheduleGolden,
                         testing::ValuesIn(testing_support::golden_schedules(technique_names())), CaseName());

TEST(PipelineScheduleGolden, EveryTechniqueHasACase) { testing_support::expect_a_case_of_each(technique_names()); }

}  // namespace
}  // namespace underlap::pp
