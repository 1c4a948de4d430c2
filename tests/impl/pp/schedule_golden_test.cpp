// SPDX-License-Identifier: Apache-2.0
// Timelines of all stages. See tests/impl/golden_schedule.hpp.
#include "tests/impl/golden_schedule.hpp"

#include <set>

#include "tests/impl/pp/virtual_pipeline.hpp"

namespace underlap::pp {
namespace {

using testing_support::kMillisecond;

std::set<std::string> technique_names() {
  std::set<std::string> names;
  for (const auto& technique : Pipelines::all()) names.emplace(technique.name);
  return names;
}
bool is_technique(const std::string& name) { return technique_names().contains(name); }

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
  Trace out;
  out.groups = trace.groups;
  out.marks = trace.marks;
  for (const Track& track : trace.tracks)
    if (track.name != VirtualPipeline::kEnd) out.add_track(track);
  for (std::size_t i = 0; i < trace.size(); ++i) {
    Slice slice = trace.slice(i);
    const Track& track = trace.tracks[slice.track];
    if (track.name == VirtualPipeline::kEnd) continue;
    slice.track = out.add_track(track);
    const CommunicationRecord* record = trace.communication(i);
    record == nullptr ? out.add(slice) : out.add(slice, *record);
  }
  return out;
}

class PipelineScheduleGolden : public testing::TestWithParam<std::string> {};

TEST_P(PipelineScheduleGolden, IsDrawnAsExpected) {
  const YAML::Node yaml = testing_support::golden_input(GetParam());
  const PipelineCase c = case_of(yaml);
  const plan::Config config = c.config();
  EXPECT_EQ(Pipelines::in_effect(config).name, testing_support::technique_of(GetParam()));
  const std::string about = yaml["exposed"].as<std::string>();
  testing_support::expect_golden(GetParam(), testing_support::draw(about, of_pipeline(VirtualPipeline(c).play())));
}

INSTANTIATE_TEST_SUITE_P(Cases, PipelineScheduleGolden,
                         testing::ValuesIn(testing_support::golden_schedules(is_technique)),
                         testing_support::golden_test_name);

TEST(PipelineScheduleGolden, EveryTechniqueHasACase) {
  std::set<std::string> folders;
  for (const std::string& golden : testing_support::golden_schedules(is_technique))
    folders.insert(testing_support::technique_of(golden));
  EXPECT_EQ(folders, technique_names());
}

}  // namespace
}  // namespace underlap::pp
