// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/steps/host_steps.hpp"

#include <gmock/gmock.h>

#include <cstdint>
#include <functional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "profiler/analysis/steps.hpp"
#include "profiler/analysis/steps/step_choice.hpp"
#include "tests/profiler/analysis/foreign_trace.hpp"
#include "tests/profiler/error_of.hpp"

namespace underlap::analysis {
namespace {

using namespace ::testing;  // NOLINT
using testing_support::error_of, testing_support::ForeignTrace, testing_support::in_us;

constexpr std::int64_t kStepUs = 1000;

// Adds the ranges of step `i`, which starts at `begin_us`.
using Ranges = std::function<void(ForeignTrace&, int i, std::int64_t begin_us)>;

// Each step launches two kernels in its first 300 us; their work ends 700 us after the start of the step.
ForeignTrace made_of(const Ranges& ranges, int steps = 4) {
  ForeignTrace made;
  for (int i = 0; i < steps; ++i) {
    const std::int64_t begin = i * kStepUs;
    ranges(made, i, begin);
    made.kernel("forward", begin + 70, begin + 100, begin + 450);
    made.kernel("backward", begin + 290, begin + 450, begin + 700);
  }
  return made;
}

Ranges named(const std::string& name, std::int64_t from_us, std::int64_t until_us) {
  return [=](ForeignTrace& made, int, std::int64_t begin) { made.range(name, begin + from_us, begin + until_us); };
}

Ranges both(const Ranges& a, const Ranges& b) {
  return [=](ForeignTrace& made, int i, std::int64_t begin) {
    a(made, i, begin);
    b(made, i, begin);
  };
}

struct Framework {
  std::string name;
  Ranges ranges;
  std::string text;
};

std::ostream& operator<<(std::ostream& out, const Framework& framework) { return out << framework.name; }

const std::string kCut = ", the first one cut off and excluded";

const std::vector<Framework> kFrameworks{
    {"LightningWithASchedule",
     both([](ForeignTrace& made, int i,
             std::int64_t begin) { made.range("ProfilerStep#" + std::to_string(i), begin + 370, begin + 1370); },
          named("[pl][profile]run_training_batch", 62, 998)),
     "ranges named \"[pl][profile]run_training_batch\" (3)" + kCut},
    {"Lightning", both(named("[pl][profile]run_training_batch", 62, 998), named("[pl][profile]backward", 280, 480)),
     "ranges named \"[pl][profile]run_training_batch\" (3)" + kCut},
    {"OldLightning", both(named("run_training_batch", 62, 998), named("training_step_and_backward", 65, 500)),
     "ranges named \"run_training_batch\" (3)" + kCut},
    {"ProfilerStepAndOptimizer",
     both([](ForeignTrace& made, int i,
             std::int64_t begin) { made.range("ProfilerStep#" + std::to_string(i), begin, begin + 1000); },
          named("Optimizer.step#AdamW.step", 600, 700)),
     "ProfilerStep (3)" + kCut},
    {"Optimizer",
     both(named("Optimizer.step#AdamW.step", 600, 700), named("Optimizer.zero_grad#AdamW.zero_grad", 710, 730)),
     "periods between ranges \"Optimizer.step#AdamW.step\" (3)" + kCut},
    {"SeveralOptimizers",
     both(named("Optimizer.step#Muon.step", 600, 650), named("Optimizer.step#AdamW.step", 655, 700)),
     "periods between ranges \"Optimizer.step#AdamW.step\" (3)" + kCut},
    {"Nemo", named("nemo.core.optim.mcore_optim.step.step", 600, 700),
     "periods between ranges \"nemo.core.optim.mcore_optim.step.step\" (3)" + kCut},
    {"DeepSpeed", both(named("DeepSpeedEngine.forward", 60, 260), named("DeepSpeedEngine.backward", 270, 570)),
     "periods between ranges \"DeepSpeedEngine.forward\" (3)" + kCut},
    {"ARangeThatRepeats", both(named("train_one_batch", 10, 990), named("forward", 20, 280)),
     "ranges named \"train_one_batch\" (3)" + kCut},
    {"ANumberedRange",
     [](ForeignTrace& made, int i, std::int64_t begin) {
       made.range("batch " + std::to_string(i + 7), begin, begin + 990);
     },
     "ranges named \"batch\" (3)" + kCut},
    {"ARangeWithGaps", named("forward", 60, 300), "none found: no range marks a step, and kernels do not repeat"},
    {"ARangeWithoutLaunches", named("wait", 310, 1060), "none found: no range marks a step, and kernels do not repeat"},
    {"Layers", named("decoder_layer", 0, 1000), "none found: no range marks a step, and kernels do not repeat"},
    {"ANumberThatStartsAgain",
     [](ForeignTrace& made, int i, std::int64_t begin) {
       made.range("part " + std::to_string(i % 2), begin, begin + 999);
     },
     "none found: no range marks a step, and kernels do not repeat"}};

class HostStepsOf : public TestWithParam<Framework> {};

TEST_P(HostStepsOf, AreFoundByTheirRanges) {
  EXPECT_EQ(steps_text(find_steps(made_of(GetParam().ranges).trace)), GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(Frameworks, HostStepsOf, ValuesIn(kFrameworks),
                         [](const auto& tested) { return tested.param.name; });

TEST(HostSteps, PeriodContainsTheWorkLaunchedBetweenTwoCalls) {
  const StepList list = find_steps(made_of(named("Optimizer.step#AdamW.step", 600, 700)).trace);
  EXPECT_EQ(list.ranks[0].source, StepSource::period);
  EXPECT_THAT(in_us(list.ranks[0].windows),
              ElementsAre(Window{0, 0, 1, 700, 1700}, Window{0, 0, 2, 1700, 2700}, Window{0, 0, 3, 2700, 3700}));
}

TEST(HostSteps, SingleOptimizerCallMakesNoStep) {
  EXPECT_FALSE(find_steps(made_of(named("Optimizer.step#AdamW.step", 600, 700), 1).trace).has_any());
}

struct Choice {
  std::string text;
  std::string name;
  std::optional<std::pair<std::int32_t, std::int32_t>> numbers;
};

std::ostream& operator<<(std::ostream& out, const Choice& choice) { return out << choice.text; }

class StepChoices : public TestWithParam<Choice> {};

TEST_P(StepChoices, AreParsedAndWritten) {
  const StepChoice choice = step_choice_from(GetParam().text);
  EXPECT_EQ(choice.name, GetParam().name);
  EXPECT_EQ(choice.numbers, GetParam().numbers);
  EXPECT_EQ(to_string(choice), GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(Texts, StepChoices,
                         Values(Choice{"train", "train", {}}, Choice{"3:7", "", std::pair(3, 7)},
                                Choice{"train,3:7", "train", std::pair(3, 7)}, Choice{"a,b", "a,b", {}},
                                Choice{"a,b,0:0", "a,b", std::pair(0, 0)}, Choice{"a:b", "a:b", {}},
                                Choice{"^train.*[0-9]{1,3}$", "^train.*[0-9]{1,3}$", {}}));

TEST(StepChoice, RefusesAnEmptyTextAndABackwardRange) {
  EXPECT_THROW(step_choice_from(""), std::invalid_argument);
  EXPECT_THAT(error_of([] { step_choice_from("train,7:3"); }), HasSubstr("the last step is before the first"));
}

// Ranges "step 3" to "step 6", each with "part" inside, and "load (x)" between them.
ForeignTrace with_parts() {
  return made_of([](ForeignTrace& made, int i, std::int64_t begin) {
    made.range("step " + std::to_string(i + 3), begin, begin + 900);
    made.range("part " + std::to_string(i + 10), begin + 50, begin + 800);
    made.range("load (x)", begin + 910, begin + 990);
  });
}

std::vector<std::int32_t> chosen(const std::string& text) {
  std::vector<std::int32_t> steps;
  const ForeignTrace made = with_parts();
  const StepList list = find_steps(made.trace, step_choice_from(text));
  list.check_choice();
  for (const RankSteps& rank : list.ranks)
    for (const Window& window : rank.windows) steps.push_back(window.step);
  return steps;
}

TEST(ChosenSteps, MatchANameARegularExpressionOrNumbers) {
  EXPECT_THAT(chosen("4:5"), ElementsAre(4, 5));
  EXPECT_THAT(chosen("part"), ElementsAre(11, 12, 13));
  EXPECT_THAT(chosen("part,12:20"), ElementsAre(12, 13));
  EXPECT_THAT(chosen("^pa.t"), ElementsAre(11, 12, 13));
  EXPECT_THAT(chosen("step"), ElementsAre(4, 5, 6));
}

TEST(ChosenSteps, ErrorListsTheAvailableStepsIfNoneMatches) {
  EXPECT_THAT(error_of([] { chosen("nothing"); }),
              AllOf(HasSubstr("no work was launched in ranges named \"nothing\""),
                    HasSubstr("ranges that repeat: \"step\" (4), \"part\" (4), \"load (x)\" (4)")));
  EXPECT_THAT(error_of([] { chosen("load (x)"); }), HasSubstr("no work was launched"));
  EXPECT_THAT(error_of([] { chosen("10:12"); }), HasSubstr("no step is in 10:12; the trace has steps 4 to 6"));
  EXPECT_THAT(error_of([] { chosen("load ("); }), HasSubstr("not a regular expression"));
}

TEST(ChosenSteps, TracesWithMarksAcceptOnlyNumbers) {
  Trace trace;
  for (std::int32_t step = 4; step <= 9; ++step) trace.marks.push_back({0, 0, step, step * 100});
  EXPECT_THAT(error_of([&] { choose_marks(trace, step_choice_from("train")); }), HasSubstr("step markers"));
  EXPECT_THAT(error_of([&] { choose_marks(trace, step_choice_from("20:30")); }), HasSubstr("steps 5 to 9"));
  choose_marks(trace, step_choice_from("6:7"));
  ASSERT_EQ(trace.marks.size(), 3U);
  EXPECT_EQ(trace.marks.front().step, 5);
  EXPECT_EQ(trace.marks.back().step, 7);
}

}  // namespace
}  // namespace underlap::analysis
