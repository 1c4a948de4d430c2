// SPDX-License-Identifier: Apache-2.0
#include "research/studies/model_errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "platform/numbers/median.hpp"

namespace underlap::bench {

Errors errors_of(std::vector<double> errors) {
  Errors out{.points = errors.size()};
  if (errors.empty()) return out;
  std::ranges::sort(errors);
  out.median = median(errors);
  for (const double error : errors) out.mean_absolute += std::abs(error) / static_cast<double>(errors.size());
  out.largest = std::abs(errors.front()) > std::abs(errors.back()) ? errors.front() : errors.back();
  return out;
}

std::string percent(double fraction) { return fmt::format("{:.1f} %", 100 * fraction); }

std::string signed_percent(double fraction) {
  const std::string text = fmt::format("{:+.1f} %", 100 * fraction);
  return text == "-0.0 %" ? "+0.0 %" : text;
}

}  // namespace underlap::bench
