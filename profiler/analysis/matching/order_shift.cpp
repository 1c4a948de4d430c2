// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/matching/order_shift.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <vector>

#include "platform/numbers/median.hpp"
#include "profiler/trace/saturating.hpp"

namespace underlap::analysis {
namespace {

constexpr std::ptrdiff_t kFewest = 3;
// Ends of one collective differ by less on ranks with one GPU each.
constexpr double kCloseNs = 50'000;
constexpr double kClearly = 4;  // a shift must fit this many times better than none
constexpr std::ptrdiff_t kMostShift = 500;
constexpr double kMostSpreadNs = 1'000'000;
constexpr double kAlikeNs = 10'000;  // spreads up to this are all of the right shift

std::ptrdiff_t length(std::span<const OrderedCollective> order) { return static_cast<std::ptrdiff_t>(order.size()); }

struct Fit {
  std::ptrdiff_t shift = 0;
  double spread_ns = 0;  ///< median absolute deviation of the distances between ends
  double apart_ns = 0;   ///< their median, without sign
};

// nullopt if the operations differ.
std::optional<Fit> fit_of(std::span<const OrderedCollective> a, std::span<const OrderedCollective> b,
                          std::ptrdiff_t shift) {
  const std::ptrdiff_t begin = std::max<std::ptrdiff_t>(0, -shift), end = std::min(length(a), length(b) - shift);
  const bool is_whole = shift == 0 && length(a) == length(b);
  if (end <= begin || (!is_whole && end - begin < kFewest)) return std::nullopt;
  if (2 * (end - begin) < std::min(length(a), length(b))) return std::nullopt;
  std::vector<std::int64_t> apart;
  for (std::ptrdiff_t i = begin; i < end; ++i) {
    const auto at = static_cast<std::size_t>(i), other = static_cast<std::size_t>(i + shift);
    if (a[at].what != b[other].what) return std::nullopt;
    apart.push_back(saturating_subtract(b[other].end_ns, a[at].end_ns));
  }
  const std::int64_t middle = median(apart);
  for (std::int64_t& ns : apart) ns = std::max(saturating_subtract(ns, middle), saturating_subtract(middle, ns));
  return Fit{shift, static_cast<double>(median(std::move(apart))), std::abs(static_cast<double>(middle))};
}

// The only fit, or the one at which the clocks agree by far the best.
std::optional<OrderShift> clearest(std::vector<Fit> fits) {
  if (fits.empty()) return std::nullopt;
  std::ranges::sort(fits, {}, &Fit::apart_ns);
  if (fits.size() > 1 && kClearly * std::max(fits[0].apart_ns, kCloseNs) > fits[1].apart_ns) return std::nullopt;
  return OrderShift{fits[0].shift, fits[0].spread_ns};
}

}  // namespace

std::optional<OrderShift> shift_between(std::span<const OrderedCollective> a, std::span<const OrderedCollective> b) {
  double unshifted_ns = std::numeric_limits<double>::infinity();
  if (a.size() == b.size())
    if (const std::optional<Fit> fit = fit_of(a, b, 0)) unshifted_ns = fit->spread_ns;
  if (unshifted_ns <= kCloseNs) return OrderShift{0, unshifted_ns};
  std::vector<Fit> fits;
  const std::ptrdiff_t most = std::min(kMostShift, std::max(length(a), length(b)));
  for (std::ptrdiff_t shift = -most; shift <= most; ++shift)
    if (const std::optional<Fit> fit = fit_of(a, b, shift)) fits.push_back(*fit);
  if (fits.empty()) return std::nullopt;
  const double best_ns = std::ranges::min(fits, {}, &Fit::spread_ns).spread_ns;
  if (kClearly * best_ns >= unshifted_ns) return OrderShift{0, unshifted_ns};
  if (best_ns > kMostSpreadNs) return std::nullopt;
  std::erase_if(fits, [&](const Fit& fit) { return fit.spread_ns > std::max(kClearly * best_ns, kAlikeNs); });
  return clearest(std::move(fits));
}

}  // namespace underlap::analysis
