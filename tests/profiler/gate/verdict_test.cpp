// SPDX-License-Identifier: Apache-2.0
#include "profiler/gate/verdict.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "profiler/report/statistics.hpp"
#include "tests/profiler/error_of.hpp"

namespace underlap::gate {
namespace {

using namespace report;  // NOLINT
using ::testing::HasSubstr;

// Five cells of three runs a side, in milliseconds.
std::vector<Row> five_cells() {
  return {{.baseline = {100, 102, 101}, .candidate = {110, 109, 112}, .tolerance = 5},
          {.baseline = {50, 50.5, 51.5}, .candidate = {51, 50, 52}, .tolerance = 5},
          {.baseline = {80, 84, 79}, .candidate = {82, 81, 85}, .tolerance = 5},
          {.baseline = {20, 20.2, 20.1}, .candidate = {20.3, 20.1, 20.2}, .tolerance = 5},
          {.baseline = {60, 61, 66}, .candidate = {64, 62, 61}, .tolerance = 5}};
}

void expect_figures(const std::vector<Judgement>& judgements, const std::vector<double>& p,
                    const std::vector<double>& p_family, const std::vector<double>& upper) {
  for (std::size_t i = 0; i < judgements.size(); ++i) {
    EXPECT_NEAR(judgements[i].p, p[i], 1e-8) << i;
    EXPECT_NEAR(judgements[i].p_family, p_family[i], 1e-8) << i;
    EXPECT_NEAR(*judgements[i].upper, upper[i], 1e-7) << i;
    EXPECT_NEAR(*judgements[i].upper - judgements[i].change, judgements[i].change - *judgements[i].lower, 1e-9) << i;
  }
}

// The figures come from NumPy and SciPy: polygamma and brentq for the pool's freedom, t.sf, t.ppf.
TEST(Verdict, IsOfTwoVariancesTheModeratedTOfSmythAndHolmsFamily) {
  expect_figures(judge(five_cells()), {1.937396775e-06, 0.3618191511, 0.1504901183, 0.4609179538, 0.5},
                 {9.686983873e-06, 1, 0.6019604734, 1, 1},
                 {11.30731318, 2.215842663, 4.68904444, 2.132238825, 3.352854489});
  expect_figures(
      judge(five_cells(), {.paired = true}), {0.0001046874956, 0.3975151611, 0.1873684724, 0.4698588427, 0.5},
      {0.0005234374781, 1, 0.7494738898, 1, 1}, {12.39530247, 3.296439471, 5.557857792, 3.135007762, 4.260152282});
}

TEST(Verdict, PassesBelowTheToleranceAndSaysWhatIsBeyondChance) {
  std::vector<Row> tighter = five_cells();
  tighter[2].tolerance = 4;
  const std::vector<Judgement> judged = judge(tighter);
  EXPECT_EQ(judged[0].verdict, Verdict::regression);
  EXPECT_EQ(judged[1].verdict, Verdict::pass);
  EXPECT_EQ(judged[2].verdict, Verdict::inconclusive);
  EXPECT_GT(*judged[2].runs_to_decide, 3);
  EXPECT_FALSE(judged[0].runs_to_decide);
  std::vector<Row> rows = five_cells();
  rows[0].tolerance = 20;
  const Judgement within = judge(rows)[0];
  EXPECT_EQ(within.verdict, Verdict::pass);
  EXPECT_TRUE(within.is_beyond_chance);
  EXPECT_FALSE(judge(five_cells())[4].is_beyond_chance);
}

// A faster candidate is never a regression, however sure it is.
TEST(Verdict, IsPassWhereTheCandidateIsFaster) {
  std::vector<Row> rows = five_cells();
  std::swap(rows[0].baseline, rows[0].candidate);
  EXPECT_EQ(judge(rows)[0].verdict, Verdict::pass);
  EXPECT_FALSE(judge(rows)[0].is_beyond_chance);
}

// What one cell lends the others: alone it is held to the wide limits of four degrees of freedom.
TEST(Verdict, BorrowsTheSpreadOfTheCellsOfItsPoolAlone) {
  std::vector<Row> rows;
  for (int i = 0; i < 12; ++i) {  // in every order, so that runs share nothing
    rows.push_back({.baseline = {100, 101, 102}, .candidate = {101, 102, 100.5}, .tolerance = 2});
    std::ranges::rotate(rows.back().baseline, rows.back().baseline.begin() + i % 3);
    std::ranges::rotate(rows.back().candidate, rows.back().candidate.begin() + i / 3 % 3);
  }
  const double together = *judge(rows)[0].upper;
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].pool = static_cast<std::uint32_t>(i);
  const double apart = *judge(rows)[0].upper;
  EXPECT_LT(together, apart);
  EXPECT_EQ(judge(rows)[0].verdict, judge({rows.data(), 1})[0].verdict);
  EXPECT_DOUBLE_EQ(*judge({rows.data(), 1})[0].upper, apart);
}

// What a run adds to all of its cells was drawn once a run, however many cells there are.
TEST(Verdict, DoesNotTakeCellsForFurtherRuns) {
  std::vector<Row> rows;
  for (int i = 0; i < 12; ++i) {
    const double own = i % 2 == 0 ? 0.01 : -0.01;
    rows.push_back(
        {.baseline = {100 + own, 101 - own, 102}, .candidate = {101, 102 - own, 100.5 + own}, .tolerance = 2});
  }
  const Judgement together = judge(rows)[0];
  const Judgement alone = judge({rows.data(), 1})[0];
  EXPECT_NEAR(*together.upper - together.change, *alone.upper - alone.change, 0.02);
  EXPECT_NEAR(together.p, alone.p, 0.01);
}

TEST(Verdict, OfOneRunASideIsNeverARegression) {
  const std::vector<Row> rows{{.baseline = {100}, .candidate = {200}, .tolerance = 5},
                              {.baseline = {100}, .candidate = {90}, .tolerance = 5}};
  for (const Judgement& judgement : judge(rows)) {
    EXPECT_EQ(judgement.verdict, Verdict::inconclusive);
    EXPECT_FALSE(judgement.upper || judgement.smallest_seen || judgement.runs_to_decide);
  }
}

TEST(Verdict, OfOneRunASideTakesTheSpreadThatAPersonStates) {
  const std::vector<Row> rows{{.baseline = {100}, .candidate = {110}, .tolerance = 5},
                              {.baseline = {100}, .candidate = {101}, .tolerance = 5}};
  const std::vector<Judgement> judged = judge(rows, {.run_sd = 1});
  EXPECT_EQ(judged[0].verdict, Verdict::regression);
  EXPECT_EQ(judged[1].verdict, Verdict::pass);
  // 1.645 standard errors of a difference of two runs.
  EXPECT_NEAR(*judged[1].upper, 1 + 1.6448536 * std::sqrt(2.0), 1e-6);
  EXPECT_DOUBLE_EQ(*judge(rows, {.paired = true, .run_sd = 1})[1].upper, *judged[1].upper);
}

TEST(Verdict, OfExactFiguresIsTheirDifference) {
  const std::vector<Row> rows{{.baseline = {100}, .candidate = {105.1}, .tolerance = 5},
                              {.baseline = {100}, .candidate = {105}, .tolerance = 5},
                              {.baseline = {100}, .candidate = {90}, .tolerance = 5}};
  const std::vector<Judgement> judged = judge(rows, {.exact = true});
  EXPECT_EQ(judged[0].verdict, Verdict::regression);
  EXPECT_EQ(judged[1].verdict, Verdict::pass);
  EXPECT_TRUE(judged[1].is_beyond_chance);
  EXPECT_FALSE(judged[2].is_beyond_chance);
}

TEST(Verdict, OfEqualFiguresHasNoDoubt) {
  const std::vector<Row> rows{{.baseline = {100, 100, 100}, .candidate = {100, 100, 100}, .tolerance = 1},
                              {.baseline = {100, 100, 100}, .candidate = {102, 102, 102}, .tolerance = 1}};
  const std::vector<Judgement> judged = judge(rows);
  EXPECT_EQ(judged[0].verdict, Verdict::pass);
  EXPECT_EQ(judged[1].verdict, Verdict::regression);
}

TEST(Verdict, OfPairsDoesNotSeeWhatBothSidesShare) {
  std::vector<Row> rows;
  for (const double shift : {0.0, 0.4, 0.8})
    rows.push_back({.baseline = {100, 120, 140 + shift}, .candidate = {110, 130.5 + shift, 150}, .tolerance = 5});
  EXPECT_EQ(judge(rows)[0].verdict, Verdict::inconclusive);
  EXPECT_EQ(judge(rows, {.paired = true})[0].verdict, Verdict::regression);
}

// Rows that weigh more use more of the chance of a false alarm, and all of them together no more than it.
TEST(Verdict, SharesTheFamilysChanceByWeight) {
  std::vector<Row> rows = five_cells();
  const double equal = judge(rows)[0].p_family;
  rows[0].weight = 4;
  EXPECT_NEAR(judge(rows)[0].p_family, equal * (8.0 / 4) / 5, 1e-12);
}

TEST(Verdict, NeedsFewerRunsWhereTheyAreQuieter) {
  const auto needed = [](double spread) {
    const Row row{
        .baseline = {100, 100 + spread, 100 - spread}, .candidate = {103, 103 + spread, 103 - spread}, .tolerance = 5};
    return judge(std::vector<Row>(8, row))[0];
  };
  EXPECT_EQ(needed(4).verdict, Verdict::inconclusive);
  EXPECT_LT(*needed(4).runs_to_decide, *needed(8).runs_to_decide);
  EXPECT_LT(*needed(4).smallest_seen, *needed(8).smallest_seen);
}

std::string refusal(const std::vector<Row>& rows, const JudgeOptions& options = {}) {
  return testing_support::error_of([&] { judge(rows, options); });
}

TEST(Verdict, RefusesWhatIsNoFigureAndNoPair) {
  const double nan = std::nan("");
  EXPECT_EQ(refusal({}), "");
  EXPECT_THAT(refusal({{.baseline = {1}, .candidate = {}}}), HasSubstr("row 0 has no run on one side"));
  EXPECT_THAT(refusal({{.baseline = {1}, .candidate = {nan}}}), HasSubstr("a value that is not finite"));
  EXPECT_THAT(refusal({{.baseline = {1}, .candidate = {1}, .tolerance = nan}}), HasSubstr("a tolerance that is not"));
  EXPECT_THAT(refusal({{.baseline = {1}, .candidate = {1}, .weight = 0}}), HasSubstr("a weight that is not above 0"));
  EXPECT_THAT(refusal({{.baseline = {1, 2}, .candidate = {1}}}, {.paired = true}), HasSubstr("cannot be paired"));
  EXPECT_THAT(refusal({}, {.level = 1}), HasSubstr("the level is 1"));
  EXPECT_THAT(refusal({}, {.run_sd = -1}), HasSubstr("must be 0 or more"));
}

TEST(Distributions, OfNoFreedomLeftAreNormalAndTrigammaIsInverted) {
  EXPECT_NEAR(quantile_of(0.95, kInfinite), 1.6448536, 1e-6);
  EXPECT_NEAR(quantile_of(0.95, 1e9), quantile_of(0.95, kInfinite), 1e-6);
  EXPECT_NEAR(upper_tail(quantile_of(0.95, 4), 4), 0.05, 1e-12);
  for (const double x : {1e-4, 0.3, 1.0, 7.0, 1e3, 1e5}) EXPECT_NEAR(inverse_trigamma(trigamma(x)) / x, 1, 1e-6) << x;
}

TEST(Distributions, LimitTheShareThatWasDrawn) {
  EXPECT_NEAR(upper_limit_of_share(0, 100, 0.95), 1 - std::pow(0.05, 0.01), 1e-9);
  EXPECT_NEAR(upper_limit_of_share(100, 2000, 0.95), 0.0588, 1e-4);
  EXPECT_EQ(upper_limit_of_share(3, 3, 0.95), 1);
}

}  // namespace
}  // namespace underlap::gate
