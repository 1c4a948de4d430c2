// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/window_agreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "platform/numbers/median.hpp"

namespace underlap::analysis {
namespace {

double ratio(std::int64_t traced, std::int64_t timed) {
  if (traced <= 0 || timed <= 0)
    throw std::invalid_argument(fmt::format("windows of {} and {} ns: both must be above 0", traced, timed));
  return static_cast<double>(traced) / static_cast<double>(timed);
}

double distance_from_one(double value) { return std::max(value, 1 / value); }

}  // namespace

WindowAgreement compare_windows(std::span<const std::int64_t> traced_ns, std::span<const std::int64_t> timed_ns) {
  if (traced_ns.size() != timed_ns.size() || traced_ns.empty())
    throw std::invalid_argument(fmt::format("{} traced and {} timed windows: counts must be equal and at least 1",
                                            traced_ns.size(), timed_ns.size()));
  std::vector<double> ratios;
  WindowAgreement agreement{.count = traced_ns.size()};
  for (std::size_t i = 0; i < traced_ns.size(); ++i) {
    ratios.push_back(ratio(traced_ns[i], timed_ns[i]));
    if (distance_from_one(ratios[i]) <= distance_from_one(agreement.worst_ratio)) continue;
    agreement.worst_ratio = ratios[i];
    agreement.worst_index = i;
  }
  agreement.median_ratio = median(std::move(ratios));
  return agreement;
}

}  // namespace underlap::analysis
