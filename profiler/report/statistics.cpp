// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/statistics.hpp"

#include <fmt/format.h>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/polygamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>

#include <cmath>
#include <stdexcept>

namespace underlap::report {
namespace {

constexpr double kLevel = 0.95;

void check(std::span<const double> values) {
  if (values.empty()) throw std::invalid_argument("statistics: no values, at least 1 is needed");
  const auto nan = std::find_if(values.begin(), values.end(), [](double value) { return std::isnan(value); });
  if (nan != values.end())
    throw std::invalid_argument(fmt::format("statistics: value {} is not a number", nan - values.begin()));
}

// The rank, from 1, of the lower of two order statistics that hold the median so often; the upper has the same from the
// other end. 0: no two do.
std::int64_t lower_rank(std::int64_t count) {
  const auto covers = [&](std::int64_t rank) { return 1 - 2 * chance_of_at_most(rank - 1, count) >= kLevel; };
  const double deviations = quantile_of((1 + kLevel) / 2, kInfinite) * std::sqrt(static_cast<double>(count)) / 2;
  auto rank = std::max<std::int64_t>(static_cast<std::int64_t>(static_cast<double>(count) / 2 - deviations), 0);
  while (rank > 0 && !covers(rank)) --rank;
  while (rank < count / 2 && covers(rank + 1)) ++rank;
  return rank;
}

// Fails when few values are far from normal (skewed, heavy tails): it then covers less often than kLevel.
Interval student_interval(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  const double center = underlap::mean(values);
  const double half =
      quantile_of((1 + kLevel) / 2, count - 1) * std::sqrt(squares_around_mean(values) / (count - 1) / count);
  return {center - half, center + half};
}

// Half-width of the interval of so many blocks that scatter by 1, as they are on average.
double usual_half_width(std::int64_t blocks) {
  const auto count = static_cast<double>(blocks);
  const std::int64_t rank = lower_rank(blocks);
  if (rank == 0) return quantile_of((1 + kLevel) / 2, count - 1) / std::sqrt(count);
  // Source: Blom 1958, expected order statistics of normal figures.
  return quantile_of((count + 1 - static_cast<double>(rank) - 0.375) / (count + 0.25), kInfinite);
}

Estimate estimate(const std::vector<double>& block_values) {
  return {median(block_values), median_interval(block_values), static_cast<std::int32_t>(block_values.size())};
}

std::optional<Interval> interval_of(std::span<const double> block_values, bool are_differences) {
  check(block_values);
  std::vector<double> sorted(block_values.begin(), block_values.end());
  std::sort(sorted.begin(), sorted.end());
  if (sorted.size() == 1 || !std::isfinite(sorted.front()) || !std::isfinite(sorted.back())) return std::nullopt;
  if (sorted.front() == sorted.back()) return Interval{sorted.front(), sorted.back()};
  if (const std::int64_t rank = lower_rank(static_cast<std::int64_t>(sorted.size())); rank > 0)
    return Interval{sorted[static_cast<std::size_t>(rank - 1)], sorted[sorted.size() - static_cast<std::size_t>(rank)]};
  if (are_differences || sorted.front() <= 0) return student_interval(sorted);
  for (double& value : sorted) value = std::log(value);
  const Interval of_logarithms = student_interval(sorted);
  return Interval{std::exp(of_logarithms.low), std::exp(of_logarithms.high)};
}

}  // namespace

double quantile(std::span<const double> values, double p) {
  check(values);
  if (!(p >= 0 && p <= 1)) throw std::invalid_argument(fmt::format("quantile: p is {}, must be in [0, 1]", p));
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const double position = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double share = position - static_cast<double>(below);
  // Not the difference form alone: infinities would turn into NaN.
  return share == 0 ? sorted[below] : sorted[below] * (1 - share) + sorted[above] * share;
}

double median(std::span<const double> values) {
  check(values);
  return underlap::median(std::vector<double>(values.begin(), values.end()));
}

std::optional<Interval> median_interval(std::span<const double> block_values) {
  return interval_of(block_values, false);
}

std::optional<Interval> difference_interval(std::span<const double> block_values) {
  return interval_of(block_values, true);
}

Estimate block_median(const Blocks& blocks) {
  std::vector<double> medians;
  for (const auto& [block, values] : blocks) medians.push_back(median(values));
  return estimate(medians);
}

Estimate paired_ratio(const Blocks& a, const Blocks& b) {
  std::vector<double> ratios;
  for (const auto& [block, values] : a) {
    const auto other = b.find(block);
    if (other == b.end()) continue;
    const double divisor = median(other->second);
    if (!(divisor > 0))
      throw std::invalid_argument(
          fmt::format("paired_ratio: the divisor's median in block {} is {}, must be above 0", block, divisor));
    ratios.push_back(median(values) / divisor);
  }
  if (ratios.empty()) throw std::invalid_argument("paired_ratio: the two cells have no block in common");
  return estimate(ratios);
}

std::optional<std::int64_t> blocks_to_resolve(const Estimate& observed, double resolution) {
  if (!(resolution > 0))
    throw std::invalid_argument(fmt::format("blocks_to_resolve: resolution is {}, must be above 0", resolution));
  if (!observed.interval) return std::nullopt;
  const double wanted = resolution / observed.interval->half_width() * usual_half_width(observed.blocks);
  if (observed.interval->half_width() <= resolution) return observed.blocks;
  constexpr std::int64_t kMostTried = 200;
  for (std::int64_t blocks = observed.blocks + 1; blocks <= kMostTried; ++blocks)
    if (usual_half_width(blocks) <= wanted) return blocks;
  // Of many blocks a median scatters by sqrt(pi / 2) of what their mean does.
  const double width_of_one = quantile_of((1 + kLevel) / 2, kInfinite) * std::sqrt(std::acos(-1.0) / 2);
  return static_cast<std::int64_t>(std::ceil(width_of_one * width_of_one / (wanted * wanted)));
}

double upper_tail(double t, double freedom) {
  using boost::math::cdf, boost::math::complement;
  if (freedom == kInfinite) return cdf(complement(boost::math::normal(), t));
  return cdf(complement(boost::math::students_t(freedom), t));
}

double quantile_of(double p, double freedom) {
  using boost::math::quantile;
  if (freedom == kInfinite) return quantile(boost::math::normal(), p);
  return quantile(boost::math::students_t(freedom), p);
}

double chance_of_at_most(std::int64_t count, std::int64_t trials) {
  return boost::math::cdf(boost::math::binomial(static_cast<double>(trials), 0.5), static_cast<double>(count));
}

double digamma(double x) { return boost::math::digamma(x); }
double trigamma(double x) { return boost::math::trigamma(x); }

// Newton's steps on 1 / trigamma, which is nearly a straight line, so that they never overshoot.
// Source: Smyth 2004, appendix.
double inverse_trigamma(double y) {
  if (y > 1e7) return 1 / std::sqrt(y);
  if (y < 1e-6) return 1 / y;
  double x = 0.5 + 1 / y;
  for (int i = 0; i < 50; ++i) {
    const double at_x = trigamma(x);
    const double step = at_x * (1 - at_x / y) / boost::math::polygamma(2, x);
    x += step;
    if (-step / x < 1e-10) break;
  }
  return x;
}

double upper_limit_of_share(std::int64_t count, std::int64_t trials, double level) {
  if (count == trials) return 1;
  return boost::math::binomial::find_upper_bound_on_p(static_cast<double>(trials), static_cast<double>(count),
                                                      1 - level);
}

}  // namespace underlap::report
