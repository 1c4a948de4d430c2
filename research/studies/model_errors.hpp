// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace underlap::bench {

/// How far modelled figures are from published ones, as fractions of these.
struct Errors {
  std::size_t points = 0;
  double median = 0;
  double mean_absolute = 0;
  double largest = 0;  ///< the one furthest from 0, with its sign
};

/// All zeros where there are none. The mean of the two middle ones is the median of an even number.
Errors errors_of(std::vector<double> errors);

/// "4.7 %"
std::string percent(double fraction);

/// "+4.7 %"; never "-0.0 %".
std::string signed_percent(double fraction);

}  // namespace underlap::bench
