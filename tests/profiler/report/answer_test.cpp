// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/answer.hpp"

#include <gmock/gmock.h>

#include <tuple>

#include "tests/profiler/report/sample_results.hpp"

namespace underlap::report {
namespace {

using namespace ::testing;  // NOLINT

CellResult cell_with(const std::string& overlap, const std::vector<analysis::Split>& by_block) {
  CellResult cell = cell_of(overlap, {{"overlap", overlap}}, {});
  for (std::size_t block = 0; block < by_block.size(); ++block)
    cell.samples.push_back(
        step_of(static_cast<std::int32_t>(block), static_cast<std::int32_t>(block), {by_block[block]}));
  return cell;
}

// Steps of 1000 us without overlap, all of it alike; `on` by block, as often as it takes to make six measured blocks.
RunResults pair_of(std::vector<analysis::Split> on, Backend backend = Backend::host) {
  const std::size_t period = on.size();
  while (backend == Backend::host && on.size() < 6) on.push_back(on[on.size() - period]);
  RunResults results;
  results.info.backend = backend;
  results.cells = {cell_with("off", std::vector(on.size(), split_of(600, 0, 400, 0))), cell_with("on", on)};
  results.blocks_planned = results.blocks_done = static_cast<std::int32_t>(on.size());
  return results;
}

PairAnswer answer_of(const RunResults& results) {
  const std::vector<PairAnswer> answers = answers_of(results, summarize(results));
  EXPECT_EQ(answers.size(), 1U);
  return answers.at(0);
}

TEST(Answer, SaysHowMuchFasterWhatIsHiddenAndWhatStaysExposed) {
  const PairAnswer answer =
      answer_of(pair_of({split_of(480, 300, 20, 0), split_of(450, 300, 30, 0), split_of(500, 300, 40, 0)}));
  EXPECT_EQ(answer.verdict, Verdict::faster);
  EXPECT_EQ(answer.off_cell, "off");
  EXPECT_NEAR(answer.change, -0.2, 1e-12);
  EXPECT_EQ(
      answer_text(answer),
      "on: 20 % faster [16, 22]; hides 91 % of dp communication; 0.03 ms stay exposed, mostly grad_reduce_scatter");
}

TEST(Answer, SaysThatTheStepBecameSlower) {
  const PairAnswer answer = answer_of(pair_of({split_of(1060, 10, 0, 0), split_of(1070, 10, 0, 0)}));
  EXPECT_EQ(answer.verdict, Verdict::slower);
  EXPECT_EQ(
      answer_text(answer),
      "on: 7.5 % slower [7.0, 8.0]; hides 100 % of dp communication; nothing stays exposed; 0.40 ms less is exposed, "
      "offset by compute (0.47 ms)");
}

TEST(Answer, SaysWhatTookTheHiddenTimeBack) {
  const PairAnswer answer = answer_of(pair_of({split_of(600, 330, 40, 20), split_of(600, 330, 40, 20)}));
  EXPECT_THAT(answer_text(answer),
              HasSubstr("; 0.36 ms less is exposed, offset by compute (0.33 ms), idle time (0.02 ms)"));
  EXPECT_THAT(answer_text(answer_of(pair_of({split_of(600, 100, 40, 0), split_of(600, 100, 40, 0)}))),
              Not(HasSubstr("offset by")))
      << "most of it was gained";
  EXPECT_THAT(answer_text(answer_of(pair_of({split_of(700, 0, 400, 0), split_of(700, 0, 400, 0)}))),
              Not(HasSubstr("offset by")))
      << "nothing was hidden";
}

TEST(Answer, SaysThatTheBlocksCannotTellAndHowManyWould) {
  const PairAnswer answer =
      answer_of(pair_of({split_of(880, 0, 0, 0), split_of(970, 0, 0, 0), split_of(1090, 0, 0, 0)}));
  EXPECT_EQ(answer.verdict, Verdict::unclear);
  EXPECT_EQ(answer_text(answer),
            "on: inconclusive (6 blocks): step -3 % [-12, +9]; about 20 blocks needed to resolve 5 %");
  const PairAnswer sharper =
      answer_of(pair_of({split_of(985, 0, 0, 0), split_of(1000, 0, 0, 0), split_of(1020, 0, 0, 0)}));
  EXPECT_EQ(answer_text(sharper),
            "on: inconclusive (6 blocks): step 0.0 % [-1.5, +2.0]; about 15 blocks needed to resolve 1 %");
}

TEST(Answer, OfFewMeasuredBlocksIsSureWhereTheirIntervalIs) {
  RunResults results = pair_of({split_of(500, 300, 0, 0), split_of(510, 300, 0, 0)});
  for (CellResult& cell : results.cells) cell.samples.resize(4);
  EXPECT_EQ(answer_of(results).verdict, Verdict::faster);
  results = pair_of({split_of(500, 300, 0, 0), split_of(540, 300, 0, 0)});
  for (CellResult& cell : results.cells) cell.samples.resize(2);
  // Of two blocks that both won: 12.7 times their spread reaches beyond 1.
  EXPECT_EQ(answer_of(results).verdict, Verdict::unclear);
  EXPECT_THAT(answer_text(answer_of(results)), HasSubstr("on: inconclusive (2 blocks): step -18 % ["));
  for (CellResult& cell : results.cells) cell.samples.resize(1);
  EXPECT_THAT(answer_text(answer_of(results)), HasSubstr("on: inconclusive (1 block): step -20.0 %; hides"));
}

TEST(Answer, OfVirtualTimeIsCalledModelledAndNeedsNoInterval) {
  const RunResults modelled = pair_of({split_of(600, 300, 100, 0)}, Backend::sim);
  EXPECT_EQ(answer_of(modelled).verdict, Verdict::equal);
  EXPECT_THAT(answer_text(answer_of(modelled)), HasSubstr("simulated as fast as without overlap; hides 75 %"));
  const auto slower = answer_of(pair_of({split_of(700, 300, 29, 0), split_of(700, 300, 29, 0)}, Backend::sim));
  EXPECT_THAT(answer_text(slower), HasSubstr("on: simulated 2.9 % slower; hides 91 %"));
}

TEST(Answer, SaysWhatWasHiddenWithoutOverlapToo) {
  RunResults results = pair_of({split_of(500, 300, 100, 0)}, Backend::sim);
  results.cells[0].samples[0].ranks = {split_of(500, 100, 300, 0)};
  EXPECT_THAT(answer_text(answer_of(results)), HasSubstr("hides 75 % of dp communication (off: 25 %)"));
}

TEST(Answer, NamesNoModeOfSeveralAndNoPurposeAsMostOfWhatIsSplit) {
  RunResults results = pair_of({split_of(500, 300, 100, 0)}, Backend::sim);
  auto& split = results.cells[1].samples[0].ranks[0];
  split.modes["tp"] = split.modes["dp"];
  EXPECT_THAT(answer_text(answer_of(results)), HasSubstr("hides 75 % of its communication"));
  split.modes["tp"].comm_ns = 0;
  EXPECT_THAT(answer_text(answer_of(results)), HasSubstr("hides 75 % of dp communication"));
  split.purposes["grad_reduce_scatter"].exposed_ns = 40'000;
  EXPECT_THAT(answer_text(answer_of(results)), HasSubstr("0.10 ms stay exposed, the largest part grad_reduce_scatter"));
}

TEST(Answer, MakesNothingOfTimesThatAreNotToBeUsed) {
  for (const std::size_t cell : {0U, 1U}) {
    RunResults results = pair_of({split_of(480, 300, 20, 0), split_of(500, 300, 20, 0)});
    results.cells[cell].label = NumericsLabel::mismatch;
    EXPECT_EQ(answer_text(answer_of(results)), "on: its times, or those without overlap, are invalid");
    results.cells[cell].label = NumericsLabel::bit_identical;
    results.cells[cell].invalid_because = {"block 0, the link was slow"};
    EXPECT_EQ(answer_of(results).verdict, Verdict::not_valid);
  }
}

TEST(Answer, SaysNothingOfExposureWithoutRecorder) {
  RunResults results = pair_of({split_of(480, 300, 20, 0), split_of(500, 300, 20, 0)});
  for (StepSample& sample : results.cells[1].samples) sample.ranks.clear();
  EXPECT_EQ(answer_text(answer_of(results)), "on: 19.0 % faster [18.0, 20.0]");
}

std::vector<PairAnswer> some_answers() {
  std::vector<PairAnswer> answers(4);
  const std::array<std::pair<Verdict, double>, 4> kinds{
      {{Verdict::unclear, -0.5}, {Verdict::faster, -0.1}, {Verdict::slower, 0.2}, {Verdict::faster, -0.3}}};
  for (std::size_t i = 0; i < answers.size(); ++i) {
    answers[i].cell = std::to_string(i);
    std::tie(answers[i].verdict, answers[i].change) = kinds[i];
  }
  return answers;
}

// Hiding communication gains at most what removing it does.
TEST(Answer, NamesNoLargerGainThanThatOfRemovingAllCommunication) {
  PairAnswer answer{
      .cell = "on", .verdict = Verdict::faster, .change = -0.2, .interval = Interval{-0.24, -0.17}, .blocks = 6};
  answer.limit = -0.16;
  EXPECT_EQ(answer_text(answer),
            "on: at most 16 % faster, the gain of removing all communication (measured: 20 % faster [17, 24])");
  answer.limit = -0.198;
  EXPECT_EQ(answer_text(answer), "on: 20 % faster [17, 24]") << "no difference to speak of";
  answer.limit = 0.01;
  answer.verdict = Verdict::unclear;
  EXPECT_EQ(answer_text(answer),
            "on: inconclusive: measured 20 % faster [17, 24], but removing all communication gains nothing");
}

TEST(Headline, CountsPairsAndNamesTheBest) {
  EXPECT_EQ(headline(some_answers()),
            "overlap on vs. off in 4 pairs: faster in 2, slower in 1, inconclusive in 1; best of 4: 3, "
            "30.0 % faster");
  std::vector<PairAnswer> lost = some_answers();
  std::erase_if(lost, [](const PairAnswer& answer) { return answer.verdict == Verdict::faster; });
  EXPECT_THAT(headline(lost), HasSubstr("; least slow of 2: 2, 20.0 % slower"));
  lost.resize(1);
  EXPECT_EQ(headline(lost), answer_text(lost[0]));
  EXPECT_EQ(headline({}), "");
}

TEST(Foremost, TakesWhatIsCertainFirstAndThenTheLargest) {
  const auto names = [](const std::vector<PairAnswer>& answers) {
    std::vector<std::string> cells;
    for (const PairAnswer& answer : answers) cells.push_back(answer.cell);
    return cells;
  };
  EXPECT_THAT(names(foremost(some_answers(), 2)), ElementsAre("3", "2"));
  EXPECT_THAT(names(foremost(some_answers(), 4)), ElementsAre("0", "1", "2", "3"));
}

}  // namespace
}  // namespace underlap::report
