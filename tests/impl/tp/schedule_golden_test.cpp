// SPDX-License-Identifier: Apache-2.0
// Timelines of one slot on one rank; the others do the same at the same time. See tests/impl/golden_schedule.hpp.
#include "tests/impl/golden_schedule.hpp"
#include "tests/impl/tp/virtual_slot.hpp"

namespace underlap::tp {
namespace {

using testing_support::kMillisecond;

testing_support::Names technique_names() {
  return testing_support::names_of_all<GatherGemms, GemmScatters, WgradDrains, CollectivesDuringGemm>();
}

std::string technique_in_effect(const SlotCase& c) {
  const auto name = [&](const auto& techniques) { return std::string(techniques.in_effect(c.overlap).name); };
  if (c.kind == SlotKind::gather) return name(GatherGemms());
  if (c.kind == SlotKind::scatter || c.kind == SlotKind::reduce) return name(GemmScatters());
  return c.kind == SlotKind::drain ? name(WgradDrains()) : name(CollectivesDuringGemm());
}

SlotCase case_of(const YAML::Node& yaml) {
  using plan::TensorMethod;
  static const std::map<std::string, SlotKind> kKinds{{"gather", SlotKind::gather},
                                                      {"scatter", SlotKind::scatter},
                                                      {"reduce", SlotKind::reduce},
                                                      {"gather_beside", SlotKind::gather_beside},
                                                      {"scatter_beside", SlotKind::scatter_beside},
                                                      {"reduce_beside", SlotKind::reduce_beside},
                                                      {"drain", SlotKind::drain}};
  static const std::map<std::string, TensorMethod> kMethods{{"waited", TensorMethod::waited},
                                                            {"nccl", TensorMethod::nccl},
                                                            {"bulk", TensorMethod::bulk},
                                                            {"ring_exchange", TensorMethod::ring_exchange},
                                                            {"pipeline", TensorMethod::pipeline}};
  const auto ms = [&](const char* key) { return yaml[key].as<std::int64_t>(0) * kMillisecond; };
  const bool is_fp8 = yaml["fp8_buf"].as<bool>(false);
  const SlotCase small;
  return {.kind = kKinds.at(yaml["slot"].as<std::string>()),
          .overlap = {.method = kMethods.at(yaml["method"].as<std::string>()),
                      .aggregate = yaml["aggregate"].as<bool>(false),
                      .num_sm = yaml["num_sm"].as<int>(0),
                      .set_sm_margin = yaml["set_sm_margin"].as<bool>(false),
                      .num_splits = yaml["num_splits"].as<int>(4),
                      .fp8_buf = is_fp8},
          .num_ranks = yaml["num_ranks"].as<std::int32_t>(4),
          .tokens_of_part = is_fp8 ? kFp8Tokens : small.tokens_of_part,
          .features = is_fp8 ? kFp8Features : small.features,
          .others = is_fp8 ? kFp8Others : small.others,
          .gemm_ns = ms("gemm_ms"),
          .wave_ns = ms("wave_ms"),
          .hop_ns = ms("hop_ms"),
          .collective_ns = ms("collective_ms"),
          .copy_ns = ms("copy_ms"),
          .sum_ns = ms("sum_ms"),
          .cast_ns = ms("cast_ms"),
          .before_ns = ms("before_ms"),
          .after_ns = ms("after_ms"),
          .connections = yaml["connections"].as<std::int32_t>(0)};
}

class TensorScheduleGolden : public testing::TestWithParam<std::string> {};

TEST_P(TensorScheduleGolden, IsDrawnAsExpected) {
  const SlotCase c = case_of(testing_support::golden_input(GetParam()));
  testing_support::expect_golden(GetParam(), {technique_in_effect(c)},
                                 testing_support::of_rank_0(VirtualSlot(c).play()));
}

INSTANTIATE_TEST_SUITE_P(Cases, TensorScheduleGolden,
                         testing::ValuesIn(testing_support::golden_schedules(technique_names())), CaseName());

TEST(TensorScheduleGolden, EveryTechniqueHasACase) { testing_support::expect_a_case_of_each(technique_names()); }

}  // namespace
}  // namespace underlap::tp
