// SPDX-License-Identifier: Apache-2.0
// Timelines of one layer's attention on one rank; the others do as much at the same times. See
// tests/impl/golden_schedule.hpp.
#include "tests/impl/cp/virtual_attention.hpp"
#include "tests/impl/golden_schedule.hpp"

namespace underlap::cp {
namespace {

using testing_support::kMillisecond;

testing_support::Names technique_names() { return testing_support::names_of_all<Attentions>(); }

AttentionCase case_of(const YAML::Node& yaml) {
  using plan::CpCommType;
  static const std::map<std::string, CpCommType> kTypes{{"p2p", CpCommType::p2p},
                                                        {"all_gather", CpCommType::all_gather},
                                                        {"a2a", CpCommType::a2a},
                                                        {"a2a+p2p", CpCommType::a2a_p2p}};
  const auto ms = [&](const char* key) { return yaml[key].as<std::int64_t>(0) * kMillisecond; };
  AttentionCase c{.cp = {.name = "",
                         .comm_type = kTypes.at(yaml["cp_comm_type"].as<std::string>()),
                         .num_ranks = yaml["num_ranks"].as<std::int32_t>(),
                         .overlap = yaml["cp_overlap"].as<bool>(true)},
                  .tile_ns = ms("tile_ms"),
                  .backward_tile_ns = ms("backward_tile_ms"),
                  .hop_ns = ms("hop_ms"),
                  .collective_ns = ms("collective_ms"),
                  .other_ns = ms("other_ms"),
                  .connections = yaml["connections"].as<std::int32_t>(0)};
  if (const YAML::Node groups = yaml["hierarchical_context_parallel_sizes"])
    c.cp.groups = groups.as<std::array<std::int32_t, 2>>();
  return c;
}

class AttentionScheduleGolden : public testing::TestWithParam<std::string> {};

TEST_P(AttentionScheduleGolden, IsDrawnAsExpected) {
  const AttentionCase c = case_of(testing_support::golden_input(GetParam()));
  testing_support::expect_golden(
      GetParam(), {std::string(Attentions::in_effect({c.cp.num_ranks == 1, c.cp.comm_type, c.cp.overlap}).name)},
      testing_support::of_rank_0(VirtualAttention(c).play()));
}

INSTANTIATE_TEST_SUITE_P(Cases, AttentionScheduleGolden,
                         testing::ValuesIn(testing_support::golden_schedules(technique_names())), CaseName());

TEST(AttentionScheduleGolden, EveryTechniqueHasACase) { testing_support::expect_a_case_of_each(technique_names()); }

}  // namespace
}  // namespace underlap::cp
