// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/distributions.hpp"

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/polygamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>
#include <cmath>

namespace underlap::report {

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
