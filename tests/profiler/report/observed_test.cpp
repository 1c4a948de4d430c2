// SPDX-License-Identifier: Apache-2.0
// Knobs that nobody planned, held against synthetic traces.
#include "profiler/report/observed.hpp"

#include <gmock/gmock.h>

#include <limits>

#include "platform/json.hpp"
#include "platform/table.hpp"
#include "tests/profiler/report/step_of_a_rank.hpp"

namespace underlap::report {
namespace {

using namespace ::testing;  // NOLINT

std::vector<OverlapKnob> two_knobs() {
  const auto knob = [](const char* name, const char* purpose) {
    return OverlapKnob{.name = name,
                       .requested = "null",
                       .effective = "true",
                       .is_asked_for = true,
                       .is_on = true,
                       .gate = {},
                       .group_size = 2,
                       .is_its_own = [id = intern(purpose)](const Tag& tag) { return tag.purpose == id; }};
  };
  return {knob("comm_overlap.overlap_grad_reduce", "grad_reduce_scatter"),
          knob("comm_overlap.overlap_param_gather", "param_all_gather")};
}

std::vector<ObservedKnob> observed(StepOfARank& step, const TracedRun& run = {}) {
  return observe(two_knobs(), run, step.trace(), analysis::summarise(step.trace()));
}

TEST(ObservedKnobs, AreJudgedByTheOperationsThatTheySayAreTheirs) {
  StepOfARank step;
  step.comm(0, 100, "grad_reduce_scatter").compute(0, 100).comm(100, 200, "param_all_gather").compute(200, 300);
  const std::vector<ObservedKnob> knobs = observed(step);
  ASSERT_EQ(knobs.size(), 2U);
  EXPECT_EQ(knobs[0].status, ObservedStatus::observed);
  EXPECT_EQ(knobs[1].status, ObservedStatus::not_observed);
}

TEST(ObservedKnobs, OfARunWithoutTransfersSaySo) {
  StepOfARank step;
  step.compute(0, 100);
  EXPECT_EQ(observed(step, {.has_transfers = false})[0].reason, "run.no_comm removed its transfers");
}

TEST(ObservedKnobs, JsonAddsTheKnobsToTheAnalysis) {
  StepOfARank step;
  step.comm(0, 100, "grad_reduce_scatter").compute(0, 90).compute(100, 200);
  const std::string analysis = analysis::analysis_json(step.trace(), analysis::summarise(step.trace()));
  const auto json = parse_json(with_observed(analysis, "off", observed(step)));
  EXPECT_EQ(json["schema"], "underlap.analysis/1");
  EXPECT_EQ(json["cell"], "off");
  ASSERT_EQ(json["observed"].size(), 2U);
  const nlohmann::ordered_json& grads = json["observed"][0];
  EXPECT_EQ(grads["knob"], "comm_overlap.overlap_grad_reduce");
  EXPECT_EQ(grads["requested"], nullptr);
  EXPECT_EQ(grads["effective"], true);
  EXPECT_EQ(grads["observed_pct"], 90);
  EXPECT_EQ(grads["comm_us"], 100);
  EXPECT_EQ(grads["hidden_us"], 90);
  EXPECT_EQ(grads["hidden_transfer_us"], nullptr);
  EXPECT_EQ(grads["status"], "observed");
  EXPECT_EQ(grads["cause"], "outlasted_compute");
  EXPECT_EQ(json["observed"][1]["cause"], nullptr);
}

TEST(ObservedKnobs, TheTableHasAColumnForEachStation) {
  StepOfARank step;
  step.comm(0, 100, "grad_reduce_scatter").compute(100, 200);
  const std::string table = render(observed_table(observed(step)), {.width = 200});
  EXPECT_THAT(table, AllOf(HasSubstr("requested"), HasSubstr("effective"), HasSubstr("not observed, 0.0 %")));
}

TEST(ObservedKnobs, TheTableIsAsWideAsItMustBeWhereNothingLimitsIt) {
  StepOfARank step;
  step.comm(0, 100, "grad_reduce_scatter").compute(100, 200);
  const std::vector<ObservedKnob> knobs = observed(step);
  EXPECT_THAT(render(observed_table(knobs), {.width = std::numeric_limits<int>::max()}), HasSubstr(knobs[0].reason));
}

}  // namespace
}  // namespace underlap::report
