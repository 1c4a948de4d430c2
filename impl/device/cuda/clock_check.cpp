// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/clock_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "platform/numbers/median.hpp"

namespace underlap::cuda {
namespace {

/// Slope of y over x by least squares; 0 where x does not vary.
double slope(std::span<const double> x, std::span<const double> y) {
  double mean_x = 0, mean_y = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_x += x[i] / static_cast<double>(x.size());
    mean_y += y[i] / static_cast<double>(x.size());
  }
  double xx = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  return xx > 0 ? xy / xx : 0;
}

}  // namespace

ClockCheck check_clocks(std::span<const TwiceTimed> kernels) {
  ClockCheck check{.num_kernels = static_cast<std::int64_t>(kernels.size())};
  if (kernels.empty()) return check;
  std::vector<double> ratios, excess_us, at_us, offset_us;
  for (const TwiceTimed& kernel : kernels) {
    const auto traced = static_cast<double>(kernel.trace_end_ns - kernel.trace_start_ns);
    const auto stamped = static_cast<double>(kernel.stamp_end_ns - kernel.stamp_start_ns);
    if (stamped > 0) ratios.push_back(traced / stamped);
    excess_us.push_back((traced - stamped) * 1e-3);
    // Relative to the first, or a double has no digits left for nanoseconds.
    at_us.push_back(static_cast<double>(kernel.stamp_start_ns - kernels.front().stamp_start_ns) * 1e-3);
    offset_us.push_back(static_cast<double>((kernel.trace_start_ns - kernels.front().trace_start_ns) -
                                            (kernel.stamp_start_ns - kernels.front().stamp_start_ns)) *
                        1e-3);
  }
  if (!ratios.empty()) check.duration_ratio = upper_median(ratios);
  check.duration_excess_us = upper_median(excess_us);
  const double drift = slope(at_us, offset_us);
  check.drift_ppm = drift * 1e6;
  for (std::size_t i = 0; i < offset_us.size(); ++i) offset_us[i] -= drift * at_us[i];
  const double middle = upper_median(offset_us);
  for (double& offset : offset_us) offset = std::abs(offset - middle);
  const auto last = static_cast<double>(offset_us.size() - 1);
  check.start_spread_us = value_at_place(offset_us, static_cast<std::size_t>(0.95 * last + 0.5));
  return check;
}

std::string to_text(const ClockCheck& check) {
  if (check.num_kernels == 0) return "CUPTI against %globaltimer: no kernel was timed by both";
  return fmt::format(
      "CUPTI against %globaltimer, {} kernels: durations {:.4f} times as long ({:+.1f} us), starts within {:.1f} us "
      "(95 %), drift {:.1f} ppm",
      check.num_kernels, check.duration_ratio, check.duration_excess_us, check.start_spread_us, check.drift_ppm);
}

std::vector<TwiceTimed> match_stamps(const Trace& trace, std::span<const StampedTransfer> stamps) {
  using Key = std::pair<std::uint32_t, std::uint64_t>;
  std::map<Key, std::vector<std::size_t>> slices;
  for (std::size_t i = 0; i < trace.size(); ++i)
    if (const CommunicationRecord* record = trace.communication(i))
      slices[{record->group, record->sequence}].push_back(i);
  std::vector<TwiceTimed> kernels;
  for (const StampedTransfer& stamp : stamps) {
    const auto found = slices.find({stamp.communicator, stamp.sequence});
    if (found == slices.end() || found->second.size() != 1 || !stamp.is_one_kernel) continue;
    const std::size_t slice = found->second.front();
    kernels.push_back({.trace_start_ns = trace.start_ns()[slice],
                       .trace_end_ns = trace.end_ns(slice),
                       .stamp_start_ns = stamp.start_ns,
                       .stamp_end_ns = stamp.end_ns});
  }
  return kernels;
}

}  // namespace underlap::cuda
