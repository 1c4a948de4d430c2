// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "profiler/analysis/steps/typical.hpp"

namespace underlap::report {

/// Figures of one cell by block, e.g. every measured step's time. Blocks pair by their number.
using analysis::Blocks;

struct Interval {
  double low = 0;
  double high = 0;

  double half_width() const { return (high - low) / 2; }
};

/// An estimate with the interval around it; no interval where a single block was measured.
struct Estimate {
  double value = 0;
  std::optional<Interval> interval;
  std::int32_t blocks = 0;  ///< blocks that it comes from
};

/// The value below which the share `p` of `values` lies, interpolated linearly between order statistics.
/// Throws std::invalid_argument without values, for a NaN among them, and for p outside [0, 1].
double quantile(std::span<const double> values, double p);

double median(std::span<const double> values);

/// Limits that hold the median of what blocks are drawn from in 95 % of all cases, at least.
///
/// block_values  one figure a block: steps of one block are not independent of each other, blocks are
/// With six or more blocks, the limits are two of the figures: they are right for any distribution. With fewer, they
/// are Student's limits around the mean, which assume nearly normal blocks. Logarithms are used if all figures are
/// above 0. Returns nullopt for a single block, and where figures are infinite. Throws std::invalid_argument as
/// quantile does. Source: Conover 1999, section 3.2 (order statistics).
std::optional<Interval> median_interval(std::span<const double> block_values);

/// The same of figures that are differences, and so may lie on either side of 0 although none of them does: Student's
/// limits are of the figures themselves. Limits of logarithms never reach 0.
std::optional<Interval> difference_interval(std::span<const double> block_values);

/// Median over blocks of each block's median, and its median_interval().
/// Throws std::invalid_argument without a block, for a block without values, and for NaN.
Estimate block_median(const Blocks& blocks);

/// The ratio a / b, taken within each block that both have (median over median), so that a drift of the machine hits
/// both sides alike; its median over blocks, and its median_interval().
/// Throws std::invalid_argument where no block is common, where a median of b is not positive, and for NaN.
Estimate paired_ratio(const Blocks& a, const Blocks& b);

/// How many blocks would bring the half-width of an interval at 95 % down to `resolution`, at the spread seen so far.
/// At least the blocks measured where those suffice. Returns nullopt where `observed` has no interval. Throws
/// std::invalid_argument unless resolution > 0.
std::optional<std::int64_t> blocks_to_resolve(const Estimate& observed, double resolution);

/// Degrees of freedom of a spread that is known: Student's distribution is then the normal one.
inline constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// The chance that Student's t with `freedom` degrees of freedom, above 0, exceeds `t`.
double upper_tail(double t, double freedom);

/// The value that it stays below with the chance `p`, in (0, 1).
double quantile_of(double p, double freedom);

/// How often, of `trials` of which each succeeds with chance 1/2, at most `count` do.
double chance_of_at_most(std::int64_t count, std::int64_t trials);

/// The first and second derivative of log gamma, for x above 0.
double digamma(double x);
double trigamma(double x);

/// The x with trigamma(x) = y, for y above 0.
double inverse_trigamma(double y);

/// The exact upper limit, at one-sided `level`, of the share of which `count` of `trials` were drawn.
/// Source: Clopper & Pearson 1934.
double upper_limit_of_share(std::int64_t count, std::int64_t trials, double level);

}  // namespace underlap::report
