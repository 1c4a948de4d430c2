// SPDX-License-Identifier: Apache-2.0
#include "profiler/gate/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <ranges>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "platform/numbers/median.hpp"
#include "profiler/report/statistics.hpp"
#include "profiler/trace/enum_names.hpp"

namespace underlap::gate {
namespace {

using report::digamma, report::inverse_trigamma, report::kInfinite, report::quantile_of, report::trigamma;
using report::upper_tail;

constexpr EnumNames<Verdict, 3> kVerdicts{{"pass", "regression", "inconclusive"}};
constexpr double kPower = 0.8;  // of what is called found
constexpr std::int32_t kMostRuns = 1000;

// A part of what runs differ by.
struct Spread {
  double variance = 0;
  double freedom = kInfinite;  // degrees of it
};

// The fit of one row to the runs.
struct RowFit {
  double change = 0;
  double factor = 0;   // variance of `change`, in variances between runs, or between the differences of pairs
  Spread common = {};  // of the mean over the pool's rows: what all of a run's rows share, and a little of `own`
  Spread own = {};     // specific to the row

  double variance() const { return common.variance + own.variance; }

  /// Degrees of freedom of the sum. Source: Satterthwaite 1946.
  double freedom() const {
    const double doubt = common.variance * common.variance / common.freedom + own.variance * own.variance / own.freedom;
    return doubt > 0 ? variance() * variance() / doubt : common.freedom;
  }

  /// From the change to its one-sided limit. Source: Cochran 1964, for variances of two sources: never too narrow,
  /// where the limit by freedom() misses in up to 8 % instead of 5 % at two runs that share most of their spread.
  double half_width(double level) const {
    const auto part = [&](const Spread& spread) {
      if (spread.variance == 0) return 0.0;
      const double quantile = quantile_of(level, spread.freedom);
      return spread.variance * quantile * quantile;
    };
    return std::sqrt(factor * (part(common) + part(own)));
  }
};

void check(std::span<const Row> rows, const JudgeOptions& options) {
  const auto refuse = [](std::size_t row, const std::string& why) {
    throw std::invalid_argument(fmt::format("gate: row {} {}", row, why));
  };
  if (!(options.level > 0.5 && options.level < 1))
    throw std::invalid_argument(fmt::format("gate: the level is {}, must be in (0.5, 1)", options.level));
  if (options.run_sd && !(*options.run_sd >= 0 && std::isfinite(*options.run_sd)))
    throw std::invalid_argument(fmt::format("gate: the run-to-run spread is {}, must be 0 or more", *options.run_sd));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    if (row.baseline.empty() || row.candidate.empty()) refuse(i, "has no run on one side");
    if (options.paired && row.baseline.size() != row.candidate.size())
      refuse(i, fmt::format("has {} runs of the baseline and {} of the candidate, which cannot be paired",
                            row.baseline.size(), row.candidate.size()));
    for (const auto* side : {&row.baseline, &row.candidate})
      if (!std::all_of(side->begin(), side->end(), [](double value) { return std::isfinite(value); }))
        refuse(i, "has a value that is not finite");
    if (!std::isfinite(row.tolerance)) refuse(i, "has a tolerance that is not finite");
    if (!(row.weight > 0 && std::isfinite(row.weight))) refuse(i, "has a weight that is not above 0");
  }
}

// What is compared between runs: of each side's runs their figures; of pairs the differences.
std::vector<std::vector<double>> compared(const Row& row, bool paired) {
  if (!paired) return {row.baseline, row.candidate};
  std::vector<double> differences;
  for (std::size_t i = 0; i < row.baseline.size(); ++i) differences.push_back(row.candidate[i] - row.baseline[i]);
  return {std::move(differences)};
}

double change_of(const Row& row) { return mean(row.candidate) - mean(row.baseline); }

// Degrees of freedom of the spread of `runs` and `other_runs`.
double freedom_of(double runs, double other_runs, bool paired) { return paired ? runs - 1 : runs + other_runs - 2; }

double factor_of(double runs, double other_runs, bool paired) { return paired ? 1 / runs : 1 / runs + 1 / other_runs; }

// The variances of a pool, s0^2 / chi^2 with d0 degrees of freedom each: what a further row's is likely to be.
struct Prior {
  double variance = 0;
  double freedom = 0;  // 0: nothing is known; infinite: the rows differ by chance alone
};

// By moments of the logarithms of the variances. Source: Smyth 2004, section 6.2.
Prior prior_of(const std::vector<Spread>& pool) {
  std::vector<double> centered;  // log variances, without the bias that their freedom gives them
  double chance = 0;
  double largest = 0;
  for (const Spread& spread : pool) largest = std::max(largest, spread.variance);
  for (const Spread& each : pool) {
    if (each.freedom <= 0) continue;
    // Equal figures by accident: a variance of 0 has no logarithm, and would make the others seem to differ without
    // end.
    const double variance = std::max(each.variance, 1e-5 * largest);
    centered.push_back(std::log(variance) - digamma(each.freedom / 2) + std::log(each.freedom / 2));
    chance += trigamma(each.freedom / 2);
  }
  if (centered.size() < 2 || largest == 0) return {};
  const auto count = static_cast<double>(centered.size());
  const double spread = squares_around_mean(centered) / (count - 1) - chance / count;
  if (spread <= 0) return {std::exp(mean(centered)), kInfinite};
  const double freedom = 2 * inverse_trigamma(spread);
  return {std::exp(mean(centered) + digamma(freedom / 2) - std::log(freedom / 2)), freedom};
}

// The row's spread together with what its pool adds.
Spread shrunk(const Spread& own, const Prior& prior) {
  if (prior.freedom == kInfinite) return {prior.variance, kInfinite};
  const double freedom = prior.freedom + own.freedom;
  if (freedom <= 0) return own;
  return {(prior.freedom * prior.variance + own.freedom * own.variance) / freedom, freedom};
}

// Rows of the same runs: each figure is its row's mean on its side, what its run adds to all rows, and the rest. The
// mean over the rows has all of the second part, however many rows there are; only the third part is each row's own,
// and rows lend each other what they know of its size.
void fit_pool(std::span<const Row> rows, const std::vector<std::size_t>& pool, bool paired, std::vector<RowFit>& fits) {
  const auto count = static_cast<double>(pool.size());
  std::vector<std::vector<std::vector<double>>> figures;  // by row, side and run, around the mean of row and side
  for (const std::size_t i : pool) {
    figures.push_back(compared(rows[i], paired));
    for (std::vector<double>& side : figures.back()) {
      const double center = mean(side);
      for (double& figure : side) figure -= center;
    }
  }
  std::vector<double> squares_own(pool.size());
  double squares_common = 0;
  for (std::size_t side = 0; side < figures.front().size(); ++side)
    for (std::size_t run = 0; run < figures.front()[side].size(); ++run) {
      double common = 0;
      for (const auto& row : figures) common += row[side][run] / count;
      squares_common += common * common;
      for (std::size_t i = 0; i < pool.size(); ++i) {
        const double rest = figures[i][side][run] - common;
        squares_own[i] += rest * rest;
      }
    }
  const auto runs = static_cast<double>(rows[pool.front()].baseline.size());
  const auto other_runs = static_cast<double>(rows[pool.front()].candidate.size());
  const double freedom = freedom_of(runs, other_runs, paired);
  const double kept = 1 - 1 / count;  // of a row's own variance: the mean over the rows took the rest
  std::vector<Spread> own;
  for (const double squares : squares_own)
    own.push_back(freedom * kept > 0 ? Spread{squares / (freedom * kept), freedom * kept} : Spread{0, 0});
  const Prior prior = prior_of(own);
  for (std::size_t i = 0; i < pool.size(); ++i) {
    RowFit& fit = fits[pool[i]];
    fit.factor = factor_of(runs, other_runs, paired);
    fit.common = {freedom > 0 ? squares_common / freedom : 0, freedom};
    fit.own = shrunk(own[i], prior);
    fit.own.variance *= kept;
  }
}

std::vector<RowFit> fits_of(std::span<const Row> rows, const JudgeOptions& options) {
  std::vector<RowFit> fits;
  using PoolOfRuns = std::tuple<std::uint32_t, std::size_t, std::size_t>;  // runs of the baseline and the candidate
  std::map<PoolOfRuns, std::vector<std::size_t>> pools;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    fits.push_back({.change = change_of(rows[i])});
    pools[{rows[i].pool, rows[i].baseline.size(), rows[i].candidate.size()}].push_back(i);
  }
  if (!options.run_sd) {
    for (const auto& [runs, pool] : pools) fit_pool(rows, pool, options.paired, fits);
    return fits;
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    fits[i].factor = factor_of(static_cast<double>(rows[i].baseline.size()),
                               static_cast<double>(rows[i].candidate.size()), options.paired);
    // A pair's difference has the spread of two runs.
    fits[i].common.variance = *options.run_sd * *options.run_sd * (options.paired ? 2 : 1);
  }
  return fits;
}

double chance_of(const RowFit& fit) {
  const double error = std::sqrt(fit.variance() * fit.factor);
  if (error == 0) return fit.change > 0 ? 0 : 1;
  return upper_tail(fit.change / error, fit.freedom());
}

// Weighted step-down: the row with the least p for its weight uses the weights of all, the next one those of the rest.
// Source: Holm 1979, section 3.
void adjust_for_family(std::span<const Row> rows, std::vector<Judgement>& judgements) {
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return judgements[i].p / rows[i].weight; });
  double left = 0;
  for (const Row& row : rows) left += row.weight;
  double highest = 0;
  for (const std::size_t i : order) {
    highest = std::max(highest, std::min(1.0, judgements[i].p * left / rows[i].weight));
    judgements[i].p_family = highest;
    left -= rows[i].weight;
  }
}

// The fit of a row with `runs` runs per side, at the spread of `fit`.
RowFit with_runs(RowFit fit, const Row& row, const JudgeOptions& options, std::int32_t runs) {
  const double now =
      freedom_of(static_cast<double>(row.baseline.size()), static_cast<double>(row.candidate.size()), options.paired);
  const double more = freedom_of(runs, runs, options.paired) - now;
  fit.common.freedom += more;
  fit.own.freedom += more;
  fit.factor = factor_of(runs, runs, options.paired);
  return fit;
}

// How far a change must exceed its limit so that four of five comparisons detect it.
double margin(const RowFit& fit, double level) {
  return std::sqrt(fit.variance() * fit.factor) *
         (quantile_of(level, fit.freedom()) + quantile_of(kPower, fit.freedom()));
}

// The least number of runs a side that decides: what decides with some runs does with more, as margins only shrink.
std::optional<std::int32_t> runs_to_decide(const RowFit& fit, const Row& row, const JudgeOptions& options,
                                           double family_level) {
  const auto now = static_cast<std::int32_t>(std::max(row.baseline.size(), row.candidate.size()));
  const auto is_undecided = [&](std::int32_t runs) {
    const RowFit then = with_runs(fit, row, options, runs);
    return margin(then, options.level) > row.tolerance - fit.change && margin(then, family_level) > fit.change;
  };
  const auto numbers = std::views::iota(now + 1, std::max(now, kMostRuns) + 1);
  const auto found = std::ranges::partition_point(numbers, is_undecided);
  return found == numbers.end() ? std::nullopt : std::optional(*found);
}

Verdict verdict_of(const Judgement& judgement, double tolerance) {
  if (judgement.upper && *judgement.upper < tolerance) return Verdict::pass;
  return judgement.is_beyond_chance ? Verdict::regression : Verdict::inconclusive;
}

std::vector<Judgement> judge_exact(std::span<const Row> rows) {
  std::vector<Judgement> judgements;
  for (const Row& row : rows) {
    const double change = change_of(row);
    const double p = change > 0 ? 0 : 1;
    judgements.push_back({.verdict = change > row.tolerance ? Verdict::regression : Verdict::pass,
                          .change = change,
                          .lower = change,
                          .upper = change,
                          .p = p,
                          .p_family = p,
                          .is_beyond_chance = change > 0,
                          .smallest_seen = 0.0,
                          .runs_to_decide = std::nullopt});
  }
  return judgements;
}

}  // namespace

std::string_view to_string(Verdict verdict) { return kVerdicts[verdict]; }

std::vector<Judgement> judge(std::span<const Row> rows, const JudgeOptions& options) {
  check(rows, options);
  if (options.exact) return judge_exact(rows);
  const std::vector<RowFit> fits = fits_of(rows, options);
  std::vector<Judgement> judgements(rows.size());
  double weights = 0;
  for (const Row& row : rows) weights += row.weight;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    judgements[i].change = fits[i].change;
    if (fits[i].common.freedom <= 0) continue;  // one run a side: how far runs lie apart is not known
    const double half = fits[i].half_width(options.level);
    judgements[i].lower = fits[i].change - half;
    judgements[i].upper = fits[i].change + half;
    judgements[i].p = chance_of(fits[i]);
  }
  adjust_for_family(rows, judgements);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Judgement& judgement = judgements[i];
    judgement.is_beyond_chance = judgement.p_family <= 1 - options.level;
    judgement.verdict = verdict_of(judgement, rows[i].tolerance);
    if (fits[i].common.freedom <= 0) continue;
    const double family_level = 1 - (1 - options.level) * rows[i].weight / weights;
    judgement.smallest_seen = margin(fits[i], family_level);
    if (judgement.verdict == Verdict::inconclusive)
      judgement.runs_to_decide = runs_to_decide(fits[i], rows[i], options, family_level);
  }
  return judgements;
}

}  // namespace underlap::gate
