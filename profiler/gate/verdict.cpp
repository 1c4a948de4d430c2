// SPDX-License-Identifier: Apache-2.0
#include "profiler/gate/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>

#include "profiler/report/distributions.hpp"

namespace underlap::gate {
namespace {

using report::digamma;
using report::inverse_trigamma;
using report::kInfinite;
using report::quantile_of;
using report::trigamma;
using report::upper_tail;

constexpr double kPower = 0.8;  // of what is called found
constexpr std::int32_t kMostRuns = 1000;

// What the runs of one row say by themselves.
struct RowFit {
  double change = 0;
  double variance = 0;  // between the runs of a side, or of the differences of pairs; meaningless without freedom
  double freedom = 0;   // degrees of it
  double factor = 0;    // variance of `change`, in variances
};

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double squares_around_mean(std::span<const double> values) {
  const double centre = mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - centre) * (value - centre);
  return sum;
}

void check(std::span<const Row> rows, const JudgeOptions& options) {
  const auto refuse = [](std::size_t row, const std::string& why) {
    throw std::invalid_argument(fmt::format("gate: row {} {}", row, why));
  };
  if (!(options.level > 0.5 && options.level < 1))
    throw std::invalid_argument(fmt::format("gate: the level is {}, must be in (0.5, 1)", options.level));
  if (options.run_sd && !(*options.run_sd >= 0 && std::isfinite(*options.run_sd)))
    throw std::invalid_argument(fmt::format("gate: the spread between runs is {}, must be 0 or more", *options.run_sd));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    if (row.baseline.empty() || row.candidate.empty()) refuse(i, "has no run on one side");
    if (options.paired && row.baseline.size() != row.candidate.size())
      refuse(i, fmt::format("has {} runs of the baseline and {} of the candidate, which cannot be pairs",
                            row.baseline.size(), row.candidate.size()));
    for (const auto* side : {&row.baseline, &row.candidate})
      if (!std::all_of(side->begin(), side->end(), [](double value) { return std::isfinite(value); }))
        refuse(i, "has a figure that is no number");
    if (!std::isfinite(row.tolerance)) refuse(i, "has a tolerance that is no number");
    if (!(row.weight > 0 && std::isfinite(row.weight))) refuse(i, "has a weight that is not above 0");
  }
}

RowFit fit_of(const Row& row, bool paired) {
  const auto runs = static_cast<double>(row.baseline.size());
  const auto other_runs = static_cast<double>(row.candidate.size());
  RowFit fit{.change = mean(row.candidate) - mean(row.baseline)};
  double squares = 0;
  if (paired) {
    std::vector<double> differences;
    for (std::size_t i = 0; i < row.baseline.size(); ++i) differences.push_back(row.candidate[i] - row.baseline[i]);
    squares = squares_around_mean(differences);
    fit.freedom = runs - 1;
    fit.factor = 1 / runs;
  } else {
    squares = squares_around_mean(row.baseline) + squares_around_mean(row.candidate);
    fit.freedom = runs + other_runs - 2;
    fit.factor = 1 / runs + 1 / other_runs;
  }
  if (fit.freedom > 0) fit.variance = squares / fit.freedom;
  return fit;
}

// The variances of a pool, s0^2 / chi^2 with d0 degrees of freedom each: what a further row's is likely to be.
struct Prior {
  double variance = 0;
  double freedom = 0;  // 0: nothing is known; infinite: the rows differ by chance alone
};

// By moments of the logarithms of the variances. Source: Smyth 2004, section 6.2.
Prior prior_of(const std::vector<const RowFit*>& pool) {
  std::vector<double> centred;  // log variances, without the bias that their freedom gives them
  double chance = 0;
  double largest = 0;
  for (const RowFit* fit : pool) largest = std::max(largest, fit->variance);
  for (const RowFit* fit : pool) {
    if (fit->freedom <= 0) continue;
    // Equal figures by accident: a variance of 0 has no logarithm, and would make the others seem to differ without
    // end.
    const double variance = std::max(fit->variance, 1e-5 * largest);
    centred.push_back(std::log(variance) - digamma(fit->freedom / 2) + std::log(fit->freedom / 2));
    chance += trigamma(fit->freedom / 2);
  }
  if (centred.size() < 2 || largest == 0) return {};
  const auto count = static_cast<double>(centred.size());
  const double spread = squares_around_mean(centred) / (count - 1) - chance / count;
  if (spread <= 0) return {std::exp(mean(centred)), kInfinite};
  const double freedom = 2 * inverse_trigamma(spread);
  return {std::exp(mean(centred) + digamma(freedom / 2) - std::log(freedom / 2)), freedom};
}

// The row's variance and freedom together with what its pool adds.
RowFit shrunk(RowFit fit, const Prior& prior) {
  if (prior.freedom == kInfinite) {
    fit.variance = prior.variance;
  } else if (prior.freedom + fit.freedom > 0) {
    fit.variance = (prior.freedom * prior.variance + fit.freedom * fit.variance) / (prior.freedom + fit.freedom);
  }
  fit.freedom += prior.freedom;
  return fit;
}

std::vector<RowFit> fits_of(std::span<const Row> rows, const JudgeOptions& options) {
  std::vector<RowFit> fits;
  for (const Row& row : rows) fits.push_back(fit_of(row, options.paired));
  if (options.run_sd) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      // A pair's difference has the spread of two runs.
      fits[i].variance = *options.run_sd * *options.run_sd * (options.paired ? 2 : 1);
      fits[i].freedom = kInfinite;
    }
    return fits;
  }
  std::map<std::uint32_t, std::vector<const RowFit*>> pools;
  for (std::size_t i = 0; i < rows.size(); ++i) pools[rows[i].pool].push_back(&fits[i]);
  std::map<std::uint32_t, Prior> priors;
  for (const auto& [pool, members] : pools) priors[pool] = prior_of(members);
  for (std::size_t i = 0; i < rows.size(); ++i) fits[i] = shrunk(fits[i], priors[rows[i].pool]);
  return fits;
}

double chance_of(const RowFit& fit) {
  const double error = std::sqrt(fit.variance * fit.factor);
  if (error == 0) return fit.change > 0 ? 0 : 1;
  return upper_tail(fit.change / error, fit.freedom);
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

// What `runs` a side would tell of a row whose spread is that of `fit`, which came from `runs_now`.
RowFit with_runs(RowFit fit, const Row& row, const JudgeOptions& options, std::int32_t runs) {
  const double own_now = fit_of(row, options.paired).freedom;
  fit.freedom += (options.paired ? runs - 1.0 : 2.0 * runs - 2) - own_now;
  fit.factor = options.paired ? 1.0 / runs : 2.0 / runs;
  return fit;
}

// By how much a change must exceed what it is held against, so that four of five such comparisons find it.
double margin(const RowFit& fit, double level) {
  return std::sqrt(fit.variance * fit.factor) * (quantile_of(level, fit.freedom) + quantile_of(kPower, fit.freedom));
}

std::optional<std::int32_t> runs_to_decide(const RowFit& fit, const Row& row, const JudgeOptions& options,
                                           double family_level) {
  const auto now = static_cast<std::int32_t>(std::max(row.baseline.size(), row.candidate.size()));
  for (std::int32_t runs = now + 1; runs <= kMostRuns; ++runs) {
    const RowFit then = with_runs(fit, row, options, runs);
    const bool passes = margin(then, options.level) <= row.tolerance - fit.change;
    if (passes || margin(then, family_level) <= fit.change) return runs;
  }
  return std::nullopt;
}

Verdict verdict_of(const Judgement& judgement, double tolerance) {
  if (judgement.upper && *judgement.upper < tolerance) return Verdict::pass;
  return judgement.is_beyond_chance ? Verdict::regression : Verdict::inconclusive;
}

std::vector<Judgement> judge_exact(std::span<const Row> rows) {
  std::vector<Judgement> judgements;
  for (const Row& row : rows) {
    const double change = fit_of(row, false).change;
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

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass: return "pass";
    case Verdict::regression: return "regression";
    case Verdict::inconclusive: return "inconclusive";
  }
  return "";
}

std::vector<Judgement> judge(std::span<const Row> rows, const JudgeOptions& options) {
  check(rows, options);
  if (options.exact) return judge_exact(rows);
  const std::vector<RowFit> fits = fits_of(rows, options);
  std::vector<Judgement> judgements(rows.size());
  double weights = 0;
  for (const Row& row : rows) weights += row.weight;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    judgements[i].change = fits[i].change;
    if (fits[i].freedom <= 0) continue;  // one run a side: how far runs lie apart is not known
    const double half = std::sqrt(fits[i].variance * fits[i].factor) * quantile_of(options.level, fits[i].freedom);
    judgements[i].lower = fits[i].change - half;
    judgements[i].upper = fits[i].change + half;
    judgements[i].p = chance_of(fits[i]);
  }
  adjust_for_family(rows, judgements);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Judgement& judgement = judgements[i];
    judgement.is_beyond_chance = judgement.p_family <= 1 - options.level;
    judgement.verdict = verdict_of(judgement, rows[i].tolerance);
    if (fits[i].freedom <= 0) continue;
    const double family_level = 1 - (1 - options.level) * rows[i].weight / weights;
    judgement.smallest_seen = margin(fits[i], family_level);
    if (judgement.verdict == Verdict::inconclusive)
      judgement.runs_to_decide = runs_to_decide(fits[i], rows[i], options, family_level);
  }
  return judgements;
}

}  // namespace underlap::gate
