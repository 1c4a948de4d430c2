// SPDX-License-Identifier: Apache-2.0
#include "profiler/report/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>

namespace underlap::report {
namespace {

constexpr int kResamples = 2000;

void check(std::span<const double> values) {
  if (values.empty()) throw std::invalid_argument("statistics: no values, at least 1 is needed");
  const auto nan = std::find_if(values.begin(), values.end(), [](double value) { return std::isnan(value); });
  if (nan != values.end())
    throw std::invalid_argument(fmt::format("statistics: value {} is not a number", nan - values.begin()));
}

double sorted_quantile(const std::vector<double>& sorted, double p) {
  const double position = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double share = position - static_cast<double>(below);
  // Not the difference form alone: infinities would turn into NaN.
  return share == 0 ? sorted[below] : sorted[below] * (1 - share) + sorted[above] * share;
}

Estimate estimate(const std::vector<double>& block_values, double level, std::uint64_t seed) {
  return {median(block_values), bootstrap(block_values, median, level, seed),
          static_cast<std::int32_t>(block_values.size())};
}

}  // namespace

double quantile(std::span<const double> values, double p) {
  check(values);
  if (!(p >= 0 && p <= 1)) throw std::invalid_argument(fmt::format("quantile: p is {}, must be in [0, 1]", p));
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted_quantile(sorted, p);
}

double median(std::span<const double> values) { return quantile(values, 0.5); }

double mean(std::span<const double> values) {
  check(values);
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

std::optional<Interval> bootstrap(std::span<const double> block_values, Statistic statistic, double level,
                                  std::uint64_t seed) {
  check(block_values);
  if (!(level > 0 && level < 1))
    throw std::invalid_argument(fmt::format("bootstrap: level is {}, must be in (0, 1)", level));
  if (block_values.size() == 1) return std::nullopt;
  std::mt19937_64 engine(seed);
  std::vector<double> resample(block_values.size());
  std::vector<double> results(kResamples);
  for (double& result : results) {
    // The engine's values are the standard's; a distribution's would differ between standard libraries.
    for (double& value : resample) value = block_values[engine() % block_values.size()];
    result = statistic(resample);
  }
  std::sort(results.begin(), results.end());
  return Interval{sorted_quantile(results, (1 - level) / 2), sorted_quantile(results, (1 + level) / 2)};
}

double best_coverage(std::int32_t blocks) {
  if (blocks < 1) throw std::invalid_argument(fmt::format("best_coverage: {} blocks, at least 1 is needed", blocks));
  return 1 - std::exp2(1 - blocks);
}

Estimate block_median(const Blocks& blocks, double level, std::uint64_t seed) {
  std::vector<double> medians;
  for (const auto& [block, values] : blocks) medians.push_back(median(values));
  return estimate(medians, level, seed);
}

Estimate paired_ratio(const Blocks& a, const Blocks& b, double level, std::uint64_t seed) {
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
  return estimate(ratios, level, seed);
}

std::optional<std::int64_t> blocks_to_resolve(const Estimate& observed, double resolution) {
  if (!(resolution > 0))
    throw std::invalid_argument(fmt::format("blocks_to_resolve: resolution is {}, must be above 0", resolution));
  if (!observed.interval) return std::nullopt;
  const double excess = observed.interval->half_width() / resolution;
  if (excess <= 1) return observed.blocks;
  return static_cast<std::int64_t>(std::ceil(observed.blocks * excess * excess));
}

}  // namespace underlap::report
