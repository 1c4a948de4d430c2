// SPDX-License-Identifier: Apache-2.0
#include "profiler/compare/compare_report.hpp"

#include <gmock/gmock.h>

#include "profiler/compare/layer_ranges.hpp"
#include "profiler/compare/short_names.hpp"
#include "tests/profiler/compare/steps.hpp"

namespace underlap::compare {
namespace {

using namespace ::testing;  // NOLINT

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
  EXPECT_THAT(text, AllOf(HasSubstr("; reduce changed most, +2.000 ms"), HasSubstr("14 -> 8 (6 removed)"),
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
  EXPECT_THAT(sentence_of(report.comparisons[0]), HasSubstr("; fc1 of layers 30-39 changed most, +5.000 ms"));
  EXPECT_THAT(text, AllOf(HasSubstr("\nfc1, layers 30-39 "), HasSubstr(" s0 "), Not(HasSubstr("layers 0-"))));
  const std::string whole = text_of(report_of(layers(40, 40), layers(40, 0)));
  EXPECT_THAT(whole, AllOf(HasSubstr("; fc1 changed most, +20.00 ms"), HasSubstr("\nfc1, layers 0-39 ")));
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
  EXPECT_THAT(text_of(report), AllOf(HasSubstr("dp exposed wait  "), HasSubstr("dp exposed transfer  "),
                                     Not(HasSubstr("dp exposed not split")), Not(HasSubstr("tp exposed "))));
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

// Of layers from 0 on.
std::vector<LayerRange> ranges_of(const std::vector<std::int64_t>& deltas) {
  std::vector<LayerChange> layers;
  for (const std::int64_t delta : deltas) layers.push_back({static_cast<std::int32_t>(layers.size()), delta});
  return alike_ranges(layers);
}

TEST(LayerRanges, HoldLayersThatChangedAlike) {
  EXPECT_THAT(ranges_of({}), IsEmpty());
  EXPECT_THAT(ranges_of({0, 0, 0, 0}), ElementsAre(LayerRange{0, 3}));
  EXPECT_THAT(ranges_of({100, 150, 200, 120}), ElementsAre(LayerRange{0, 3}));
  EXPECT_THAT(ranges_of({0, 0, 500, 600}), ElementsAre(LayerRange{0, 1}, LayerRange{2, 3}));
  EXPECT_THAT(ranges_of({-500, -500, 500, 600}), ElementsAre(LayerRange{0, 1}, LayerRange{2, 3}));
  // What is small beside the largest is none, of either sign.
  EXPECT_THAT(ranges_of({90, -90, 10'000, 10'000}), ElementsAre(LayerRange{0, 1}, LayerRange{2, 3}));
  // A step from one to the next of less than a factor of two adds up to more.
  EXPECT_THAT(ranges_of({100, 150, 220}), ElementsAre(LayerRange{0, 1}, LayerRange{2, 2}));
}

TEST(LayerRanges, AreOneWhereChangesScatter) {
  EXPECT_THAT(ranges_of({10, -20, 30, -10}), ElementsAre(LayerRange{0, 3}));
  std::vector<std::int64_t> deltas(40, 0);
  for (std::size_t i = 10; i < 20; ++i) deltas[i] = 1000;
  EXPECT_THAT(ranges_of(deltas), ElementsAre(LayerRange{0, 9}, LayerRange{10, 19}, LayerRange{20, 39}));
  for (std::size_t i = 0; i < 40; i += 2) deltas[i] = -500;
  EXPECT_THAT(ranges_of(deltas), ElementsAre(LayerRange{0, 39}));
}

TEST(ShortNames, AreWholeWhereTheyFitAndElseCutInTheMiddle) {
  EXPECT_EQ(short_name("fc1_fprop"), "fc1_fprop");
  EXPECT_EQ(short_name("void gemm<float, 4>(float*, int)"), "gemm<float, 4>(float*, int)");
  EXPECT_EQ(short_name("Memcpy HtoD (Pinned -> Device)"), "Memcpy HtoD (Pinned -> Device)");
  EXPECT_EQ(short_name("void at::native::(anonymous namespace)::scan<float, 4>(float*, float const*, long)"),
            "scan<float, 4>");
  EXPECT_EQ(short_name("split_embedding_backward_codegen_rowwise_kernel<float, Half, 64>(long)"),
            "split_embedding_...loat, Half, 64>");
  EXPECT_EQ(short_name("at::native::", 8).size(), 8U);
  EXPECT_EQ(short_name(")("), ")(");
}

TEST(ShortNames, BesideEachOtherAreNeverEqual) {
  const std::string before = "void at::native::vectorized_elementwise_kernel<4, at::native::",
                    after = "<float>, at::detail::Array<char*, 3> >(int, at::detail::Array<char*, 3>)";
  EXPECT_THAT(short_names({{before + "AddFunctor" + after}, {before + "FillFunctor" + after}, {"fc1"}, {"fc1"}}),
              ElementsAre("vectorized_e...AddFunctor<float>, ", "vectorized_e...FillFunctor<float>,", "fc1", "fc1"));
  std::vector<LongName> four;
  for (const char* per : {"cta", "warp"})
    for (const char* size : {"2ul", "5ul"})
      four.push_back(
          {"split_embedding_kernel_" + std::string(per) + "_per_row_1<float, float, " + size + ">(long)", 27});
  EXPECT_THAT(short_names(four), ElementsAre("split_embed...cta_p...2ul>(", "split_embed...cta_p...5ul>(",
                                             "split_embed...warp_...2ul>(", "split_embed...warp_...5ul>("));
  const auto numbered = short_names({{before + "A" + after, 12}, {before + "B" + after, 12}});
  EXPECT_THAT(numbered, ElementsAre(testing::SizeIs(12), testing::SizeIs(12)));
  EXPECT_NE(numbered[0], numbered[1]);
  const std::string word(100, 'a');
  EXPECT_THAT(short_names({{word + "b" + word}, {word + "c" + word}}),
              ElementsAre("aaaaaaaaaaaa...baaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaa...caaaaaaaaaaaaaaaaaa"));
}

}  // namespace
}  // namespace underlap::compare
