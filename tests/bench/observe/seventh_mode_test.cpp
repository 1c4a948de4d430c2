// SPDX-License-Identifier: Apache-2.0
// Code that asks for all modes finds a newly registered one, and needs no edit for it.
#include "bench/observe/observe.hpp"
#include "bench/tune/space.hpp"
#include "impl/plan/layout/rank_layouts.hpp"
#include "impl/plan/modes/mode_rules.hpp"
#include "impl/plan/plan_summary.hpp"
#include "impl/step/groups.hpp"
#include "impl/step/techniques.hpp"
#include "tests/profiler/report/step_of_a_rank.hpp"
#include "tests/testing.hpp"

namespace underlap {
namespace {

constexpr const char* kKnob = "model.moe_shared_expert_overlap";
const TechniqueFacts kFacts{.knob = kKnob, .purposes = {"dispatch_", "combine_"}};

std::vector<ListedTechnique> all() { return {{Mode::other, "beside_shared_expert", "what it does", "", &kFacts}}; }

std::vector<TechniqueInEffect> in_effect(const plan::Config&) {
  return {{Mode::other, "beside_shared_expert", &kFacts}};
}

std::vector<OverlapSwitch> switches(const plan::Plan& plan) {
  OverlapSwitch made = switch_of(kKnob, plan, 4, all());
  made.is_on = true;
  made.is_foreign = [](const Tag& tag) { return name_of(tag.purpose) == "all_to_all"; };
  return {made};
}

const RegisterMode kRegister{{Mode::other, all, in_effect, switches}};

constexpr const char* kSize = "model.gtp_weight_remat_size";
const plan::RegisterModeRules kRegisterRules{
    {.mode = Mode::other,
     .word = "seventh",
     .sizes = {{.knob = kSize,
                .letters = "M7",
                .is_worth_trying = [](const plan::ModelConfig&, const plan::ParallelConfig&, std::int64_t size,
                                      const plan::SearchedMachine&) { return size <= 2; }}},
     .dense_digit = 5,
     .shares = {plan::Shared::weights},
     .axes = [](const plan::Config&, const plan::IsOpen&) {
       return std::vector<plan::SearchAxis>{{kKnob, {"", "true"}}};
     }}};

plan::Plan plan_with_size_2() {
  return plan::parse(
             "model: {preset: tiny, tensor_model_parallel_size: 2, gtp_weight_remat_size: 2}\n"
             "data_parallel_size: 2\n",
             "config.yaml")
      .cells.front()
      .plan;
}

TEST(SeventhMode, IsListedAndInEffect) {
  EXPECT_TRUE(
      std::ranges::any_of(all_techniques(), [](const auto& each) { return each.name == "beside_shared_expert"; }));
  const std::vector<TechniqueInEffect> techniques = techniques_in_effect({});
  ASSERT_FALSE(techniques.empty());
  EXPECT_EQ(techniques.back().mode, Mode::other) << "modes are listed in the order of Mode";
}

TEST(SeventhMode, IsObservedInOwnAndForeignTraces) {
  const plan::Plan plan = plan::parse("model: {preset: tiny}\n", "config.yaml").cells.front().plan;
  report::StepOfARank step;
  step.comm(0, 100, "dispatch_all_to_all", Mode::other).compute(0, 90).compute(100, 200);
  const auto row_in = [&](const Trace& trace) {
    for (const report::ObservedKnob& row : bench::observe(plan, trace, analysis::summarize(trace)))
      if (row.knob == kKnob) return row;
    return report::ObservedKnob{};
  };
  EXPECT_EQ(row_in(step.trace()).status, report::ObservedStatus::observed);
  report::StepOfARank elsewhere;
  elsewhere.comm(0, 100, "all_to_all", Mode::other).compute(0, 90).compute(100, 200);
  Trace foreign = elsewhere.trace();
  foreign.metadata = {{"format", "kineto"}};
  EXPECT_DOUBLE_EQ(row_in(foreign).observed_pct.value_or(0), 90);
}

TEST(SeventhMode, TellsTracesItsKnobs) {
  EXPECT_THAT(knobs_by_purpose({}), HasSubstr(R"("other":{"dispatch_":"model.moe_shared_expert_overlap")"));
}

TEST(SeventhMode, NumbersRanks) {
  const plan::ParallelConfig parallel = plan_with_size_2().config.parallel;
  EXPECT_EQ(parallel.world_size(), 8);
  EXPECT_EQ(group_of(parallel, place_of(parallel, 3), Mode::other).members, (std::vector<std::int32_t>{3, 7}))
      << "its digit changes after tensor and data parallelism";
  for (std::int32_t rank = 0; rank < 8; ++rank) EXPECT_EQ(rank_of(parallel, place_of(parallel, rank)), rank);
  EXPECT_EQ(plan::ranks_sharing(plan::Shared::weights, parallel), 4);
  const RankLayout layout = plan::rank_layouts(parallel).layouts.front();
  EXPECT_TRUE(
      std::ranges::any_of(layout, [](const RankDigit& digit) { return digit.mode == Mode::other && digit.size == 2; }));
}

TEST(SeventhMode, IsPlanned) {
  EXPECT_THAT(plan::cell_summary({.name = "", .values = {}, .plan = plan_with_size_2()}, {}),
              HasSubstr("TP 2, M7 2, DP 2"));
}

TEST(SeventhMode, IsSearched) {
  bench::TuneRequest request;
  request.model = {"model: {preset: tiny}\nrun: {hardware: h100-sxm}\n", "model.yaml", {}};
  request.num_gpus = 4;
  const bench::TuneJob job(request);
  const std::vector<bench::Choices> layouts = bench::layouts_of(job);
  const auto chosen = std::ranges::find_if(layouts, [](const bench::Choices& each) { return each.at(kSize) == "2"; });
  ASSERT_NE(chosen, layouts.end());
  const plan::Config config = job.plan(*chosen).config;
  EXPECT_EQ(config.parallel.world_size(), 4) << "data parallelism takes what all other modes leave";
  EXPECT_TRUE(std::ranges::any_of(bench::overlap_axes(job, config),
                                  [](const plan::SearchAxis& axis) { return axis.knob == kKnob; }));
  EXPECT_TRUE(std::ranges::any_of(plan::sizes_in({&config.parallel}), [](const plan::SizeOfMode& each) {
    return each.second->letters == "M7";
  })) << "its column";
}

TEST(SeventhMode, IsRegisteredOnce) {
  EXPECT_THROW((plan::RegisterModeRules{{.mode = Mode::other, .word = {}, .sizes = {}}}), std::logic_error);
  EXPECT_THROW((RegisterMode{{Mode::other, all, in_effect, switches}}), std::logic_error);
}

}  // namespace
}  // namespace underlap
