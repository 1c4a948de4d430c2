// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace underlap::report {

/// Figures of one cell by block, e.g. every measured step's time. Blocks pair by their number.
using Blocks = std::map<std::int32_t, std::vector<double>>;

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

using Statistic = double (*)(std::span<const double>);

/// The value below which the share `p` of `values` lies, interpolated linearly between order statistics.
/// Throws std::invalid_argument without values, for a NaN among them, and for p outside [0, 1].
double quantile(std::span<const double> values, double p);

double median(std::span<const double> values);

double mean(std::span<const double> values);

/// Percentile bootstrap: the middle `level` of `statistic` over resamples of `block_values` with replacement. Blocks
/// are resampled rather than steps, because steps of one block are not independent of each other.
///
/// block_values  one figure a block
/// level         share of the resamples inside, in (0, 1)
/// seed          the same seed gives the same interval
/// Returns nullopt for a single block. Few blocks cannot support a wide level: see best_coverage.
/// Throws std::invalid_argument as quantile does, and for a level outside (0, 1).
/// Source: Efron & Tibshirani 1993, chapter 13.
std::optional<Interval> bootstrap(std::span<const double> block_values, Statistic statistic = median,
                                  double level = 0.95, std::uint64_t seed = 1);

/// The coverage that no interval between two of `blocks` independent figures can exceed for their median:
/// 1 - 2^(1 - blocks). Five blocks reach 93.75 %, two reach 50 %.
double best_coverage(std::int32_t blocks);

/// Median over blocks of each block's median, and its bootstrap interval.
/// Throws std::invalid_argument without a block, for a block without values, and for NaN.
Estimate block_median(const Blocks& blocks, double level = 0.95, std::uint64_t seed = 1);

/// The ratio a / b, taken within each block that both have (median over median), so that a drift of the machine hits
/// both sides alike; its median over blocks, and its bootstrap interval.
/// Throws std::invalid_argument where no block is common, where a median of b is not positive, and for NaN.
Estimate paired_ratio(const Blocks& a, const Blocks& b, double level = 0.95, std::uint64_t seed = 1);

/// How many blocks would bring the interval's half-width down to `resolution`, at the spread seen so far: the
/// half-width shrinks with the square root of the blocks. At least the blocks measured where those suffice.
/// Returns nullopt where `observed` has no interval. Throws std::invalid_argument unless resolution > 0.
std::optional<std::int64_t> blocks_to_resolve(const Estimate& observed, double resolution);

}  // namespace underlap::report
