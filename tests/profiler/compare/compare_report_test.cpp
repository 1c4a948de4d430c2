// SPDX-License-Identifier: Apache-2.0
#include "profiler/compare/compare_report.hpp"

#include <gmock/gmock.h>

#include <utility>

#include "tests/profiler/compare/steps.hpp"

namespace underlap::compare {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

CompareReport report_of(const Steps& from, const Steps& to) {
  CompareReport report{.from = "before", .to = "after"};
  Comparison& comparison = report.comparisons.emplace_back();
  comparison.change = change_of(from, to);
  const auto windows = static_cast<double>(comparison.change->windows);
  comparison.from_step_ns = static_cast<double>(comparison.change->from.window_ns) / windows;
  comparison.to_step_ns = static_cast<double>(comparison.change->to.window_ns) / windows;
  return report;
}

std::string text_of(const CompareReport& report, int width = 200) {
  return compare_text(report, {.width = width}, Details::largest);
}

// Reductions of a million nanoseconds and more, one bucket after the other, in a step that lasts as long as they do.
Steps buckets(std::int32_t count, std::int64_t each_ns) {
  std::vector<Work> work;
  for (std::int32_t bucket = 0; bucket < count; ++bucket)
    work.push_back({"reduce", bucket * each_ns, (bucket + 1) * each_ns, Kind::communication, 1, -1, bucket});
  work.push_back({"fc1", count * each_ns, count * each_ns + 1000});
  return Steps().add(0, 2, work, true, count * each_ns + 1000);
}

TEST(CompareReport, TellsOfBucketsThatAreFewerOnBalance) {
  const std::string text = text_of(report_of(buckets(14, 1'000'000), buckets(8, 2'000'000)));
  EXPECT_THAT(text, AllOf(HasSubstr("; reduce cost most, +2.000 ms"), HasSubstr("14 -> 8 (6 removed)"),
                          Not(HasSubstr("reduce (removed)"))));
}

// `layers` layers of a million nanoseconds each, those from `first` on longer by half.
Steps layers(std::int32_t layers, std::int32_t first) {
  std::vector<Work> work;
  std::int64_t now = 0;
  for (std::int32_t layer = 0; layer < layers; ++layer) {
    const std::int64_t end = now + (layer < first ? 1'000'000 : 1'500'000);
    work.push_back({"fc1", now, end, Kind::compute, 0, layer});
    now = end;
  }
  return Steps().add(0, 2, work, true, now);
}

TEST(CompareReport, NamesTheLayersThatChanged) {
  const CompareReport report = report_of(layers(40, 40), layers(40, 30));
  const std::string text = text_of(report, 80);
  EXPECT_THAT(sentence_of(report.comparisons[0]), HasSubstr("; fc1 of layers 30-39 cost most, +5.000 ms"));
  EXPECT_THAT(text, AllOf(HasSubstr("\nfc1, layers 30-39 "), HasSubstr(" s0 "), Not(HasSubstr("layers 0-"))));
  const std::string whole = text_of(report_of(layers(40, 40), layers(40, 0)));
  EXPECT_THAT(whole, AllOf(HasSubstr("; fc1 cost most, +20.00 ms"), HasSubstr("\nfc1, layers 0-39 ")));
}

TEST(CompareReport, SumsByStreamAndPurpose) {
  const Steps before = Steps().add(0, 2, {{"fc1", 0, 400}, {"reduce", 300, 600, Kind::communication, 1}});
  const Steps after =
      Steps().add(0, 2, {{"fc1", 0, 450}, {"fc2", 450, 500}, {"reduce", 300, 800, Kind::communication, 1}});
  const CompareReport report = report_of(before, after);
  const std::string text = compare_text(report, {.width = 80}, Details::all);
  EXPECT_THAT(text, AllOf(HasSubstr("\nby stream "), HasSubstr("\nby purpose ")));
  const auto sums = [&](std::string OperationChange::*what) {
    std::vector<std::pair<std::string, std::int64_t>> found;
    for (const StepSum& sum : sums_by(report.comparisons[0].change->operations, what))
      found.emplace_back(sum.name, sum.step_delta_ns());
    return found;
  };
  using ::testing::Pair;
  EXPECT_THAT(sums(&OperationChange::stream), ElementsAre(Pair("idle", -400), Pair("s0", 200), Pair("s1", 200)));
  EXPECT_THAT(sums(&OperationChange::purpose),
              ElementsAre(Pair("idle", -400), Pair("reduce", 200), Pair("fc1", 100), Pair("fc2", 100)));
}

TEST(CompareReport, SplitsWaitAndTransferByMode) {
  CompareReport report = report_of(layers(1, 0), layers(1, 1));
  TraceChange& change = *report.comparisons[0].change;
  change.from.modes["dp"] = {.exposed_ns = 4'000'000, .exposed_wait_ns = 3'000'000, .exposed_transfer_ns = 1'000'000};
  change.from.modes["tp"] = {.exposed_ns = 2'000'000, .exposed_unsplit_ns = 2'000'000};
  EXPECT_THAT(text_of(report), AllOf(HasSubstr("of dp: wait  "), HasSubstr("of dp: transfer  "),
                                     Not(HasSubstr("of dp: not split")), Not(HasSubstr("of tp: "))));
}

TEST(CompareReport, NamesKernelsWholeInMarkdownAndApartInTheTerminal) {
  const std::string name = "void at::native::vectorized_elementwise_kernel<4, at::native::";
  const std::string arguments = "Functor<float>, at::detail::Array<char*, 3> >(int, at::detail::Array<char*, 3>)";
  const auto steps = [&](std::int64_t longer) {
    return Steps().add(
        0, 1, {{name + "Add" + arguments, 0, 100 + longer}, {name + "Fill" + arguments, 200, 350 + longer}}, false);
  };
  const CompareReport report = report_of(steps(0), steps(20));
  EXPECT_THAT(text_of(report, 80), AllOf(HasSubstr("\nvectorized_e...AddFunctor<float>"), HasSubstr(" s0 "),
                                         HasSubstr("\nvectorized_e...FillFunctor<float>")));
  EXPECT_THAT(compare_markdown(report),
              HasSubstr("| void at::native::vectorized_elementwise_kernel\\<4, at::native::AddFunctor\\<float>, at::"));
}

TEST(CompareReport, CountsOneWindowAsOne) {
  const Steps one = Steps().add(0, 1, {{"fc1", 0, 500}}), other = Steps().add(0, 1, {{"fc1", 0, 600}});
  EXPECT_THAT(text_of(report_of(one, other)), HasSubstr("\n1 window of each side"));
}

}  // namespace
}  // namespace underlap::compare
