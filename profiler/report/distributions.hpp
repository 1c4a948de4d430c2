// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

namespace underlap::report {

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
