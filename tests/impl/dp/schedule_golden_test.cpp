// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/config.hpp"
#include "tests/impl/dp/virtual_schedule.hpp"
#include "tests/impl/golden_schedule.hpp"

namespace underlap::dp {
namespace {

using testing_support::kMillisecond;

testing_support::Names technique_names() { return testing_support::names_of_all<GradReduces, ParamGathers>(); }

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
  const ScheduleCase c = case_of(testing_support::golden_input(GetParam()));
  testing_support::expect_golden(
      GetParam(),
      {std::string(GradReduces::in_effect(c.config).name), std::string(ParamGathers::in_effect(c.config).name)},
      VirtualSchedule(c).play());
}

INSTANTIATE_TEST_SUITE_P(Cases, ScheduleGolden, testing::ValuesIn(testing_support::golden_schedules(technique_names())),
                         CaseName());

TEST(ScheduleGolden, EveryTechniqueHasACase) { testing_support::expect_a_case_of_each(technique_names()); }

}  // namespace
}  // namespace underlap::dp
