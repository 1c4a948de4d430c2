// SPDX-License-Identifier: Apache-2.0
// Code that asks for all modes finds a newly registered one, and needs no edit for it.
#include <gmock/gmock.h>

#include "bench/observe/observe.hpp"
#include "impl/step/techniques.hpp"
#include "tests/profiler/report/step_of_a_rank.hpp"

namespace underlap {
namespace {

constexpr const char* kKnob = "model.moe_shared_expert_overlap";
const TechniqueFacts kFacts{.knob = kKnob, .purposes = {"dispatch_", "combine_"}};

std::vector<ListedTechnique> all() { return {{Mode::ep, "beside_shared_expert", "what it does", "", &kFacts}}; }

std::vector<TechniqueInEffect> in_effect(const plan::Config&) { return {{Mode::ep, "beside_shared_expert", &kFacts}}; }

std::vector<OverlapSwitch> switches(const plan::Plan& plan) {
  OverlapSwitch made = switch_of(kKnob, plan, 4, all());
  made.is_on = true;
  made.is_foreign = [](const Tag& tag) { return name_of(tag.purpose) == "all_to_all"; };
  return {made};
}

const RegisterMode kRegister{{Mode::ep, all, in_effect, switches}};

TEST(SeventhMode, IsListedAndInEffect) {
  EXPECT_TRUE(
      std::ranges::any_of(all_techniques(), [](const auto& each) { return each.name == "beside_shared_expert"; }));
  const std::vector<TechniqueInEffect> techniques = techniques_in_effect({});
  ASSERT_FALSE(techniques.empty());
  EXPECT_EQ(techniques.back().mode, Mode::ep) << "modes are listed in the order of Mode";
}

TEST(SeventhMode, IsObservedInOwnAndForeignTraces) {
  const plan::Plan plan = plan::parse("model: {preset: tiny}\n", "config.yaml").cells.front().plan;
  report::StepOfARank step;
  step.comm(0, 100, "dispatch_all_to_all", Mode::ep).compute(0, 90).compute(100, 200);
  const auto row_in = [&](const Trace& trace) {
    for (const report::ObservedKnob& row : bench::observe(plan, trace, analysis::summarise(trace)))
      if (row.knob == kKnob) return row;
    return report::ObservedKnob{};
  };
  EXPECT_EQ(row_in(step.trace()).status, report::ObservedStatus::observed);
  report::StepOfARank elsewhere;
  elsewhere.comm(0, 100, "all_to_all", Mode::ep).compute(0, 90).compute(100, 200);
  Trace foreign = elsewhere.trace();
  foreign.metadata = {{"format", "kineto"}};
  EXPECT_DOUBLE_EQ(row_in(foreign).observed_pct.value_or(0), 90);
}

TEST(SeventhMode, TellsTracesItsKnobs) {
  EXPECT_THAT(knobs_by_purpose({}), testing::HasSubstr(R"("ep":{"dispatch_":"model.moe_shared_expert_overlap")"));
}

TEST(SeventhMode, IsRegisteredOnce) {
  EXPECT_THROW((RegisterMode{{Mode::ep, all, in_effect, switches}}), std::logic_error);
}

}  // namespace
}  // namespace underlap
