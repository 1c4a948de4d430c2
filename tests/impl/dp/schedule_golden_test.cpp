// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "tests/impl/dp/virtual_schedule.hpp"
#include "tests/impl/golden_schedule.hpp"

namespace underlap::dp {
namespace {

using testing_support::kMillisecond;

bool is_technique(const std::string& name) {
  const auto has = [&](const auto& all) {
    return std::ranges::any_of(all, [&](const auto& t) { return t.name == name; });
  };
  return has(GradReduces::all()) || has(ParamGathers::all());
}

ScheduleCase case_of(const YAML::Node& yaml) {
  ScheduleCase c;
  const auto ms = [&](const char* key) { return yaml[key].as<std::int64_t>(0) * kMillisecond; };
  c.sizes = yaml["sizes"].as<std::vector<std::int64_t>>(c.sizes);
  c.forward_ns = ms("forward_ms");
  c.backward_ns = ms("backward_ms");
  c.gather_ns = ms("gather_ms");
  c.reduce_ns = ms("reduce_ms");
  c.across_ns = ms("across_ms");
  c.local_sum_ns = ms("local_sum_ms");
  c.optimizer_ns = ms("optimizer_ms");
  c.num_microbatches = yaml["num_microbatches"].as<std::int32_t>(1);
  c.connections = yaml["connections"].as<std::int32_t>(0);
  c.config.ddp.average_in_collective = true;
  c.config.ddp.use_distributed_optimizer = yaml["use_distributed_optimizer"].as<bool>(true);
  c.config.ddp.overlap_grad_reduce = yaml["overlap_grad_reduce"].as<bool>(false);
  c.config.ddp.overlap_param_gather = yaml["overlap_param_gather"].as<bool>(false);
  c.config.ddp.reduce_scatter_with_fp32_accumulation = yaml["reduce_scatter_with_fp32_accumulation"].as<bool>(false);
  c.config.ddp.num_distributed_optimizer_instances = yaml["num_distributed_optimizer_instances"].as<std::int32_t>(1);
  c.config.extensions.param_gather_prefetch = yaml["param_gather_prefetch"].as<std::int32_t>(1);
  return c;
}

class ScheduleGolden : public testing::TestWithParam<std::string> {};

TEST_P(ScheduleGolden, IsDrawnAsExpected) {
  const YAML::Node yaml = testing_support::golden_input(GetParam());
  const ScheduleCase c = case_of(yaml);
  const std::string technique = testing_support::technique_of(GetParam());
  EXPECT_TRUE(GradReduces::in_effect(c.config).name == technique || ParamGathers::in_effect(c.config).name == technique)
      << "the folder's technique is not the one in effect";
  const std::string about = yaml["exposed"].as<std::string>();
  testing_support::expect_golden(GetParam(), testing_support::draw(about, VirtualSchedule(c).play()));
}

INSTANTIATE_TEST_SUITE_P(Cases, ScheduleGolden, testing::ValuesIn(testing_support::golden_schedules(is_technique)),
                         testing_support::golden_test_name);

TEST(ScheduleGolden, EveryTechniqueHasACase) {
  std::set<std::string> folders;
  for (const std::string& golden : testing_support::golden_schedules(is_technique))
    folders.insert(testing_support::technique_of(golden));
  for (const auto& technique : GradReduces::all()) EXPECT_TRUE(folders.contains(std::string(technique.name)));
  for (const auto& technique : ParamGathers::all()) EXPECT_TRUE(folders.contains(std::string(technique.name)));
}

}  // namespace
}  // namespace underlap::dp
