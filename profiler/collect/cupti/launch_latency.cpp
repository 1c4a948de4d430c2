// SPDX-License-Identifier: Apache-2.0
#include "profiler/collect/cupti/launch_latency.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace underlap::cupti {
namespace {

using FirstStarts = std::unordered_map<std::uint32_t, std::int64_t>;

void keep_first(FirstStarts& starts, std::uint32_t correlation, std::int64_t start_ns) {
  const auto [entry, is_new] = starts.try_emplace(correlation, start_ns);
  if (!is_new) entry->second = std::min(entry->second, start_ns);
}

// The smallest value that at least `percent` of the sorted ones do not exceed.
std::int64_t percentile(const std::vector<std::int64_t>& sorted, std::size_t percent) {
  const std::size_t needed = (sorted.size() * percent + 99) / 100;
  return sorted[std::max<std::size_t>(needed, 1) - 1];
}

}  // namespace

LaunchLatency launch_latency(std::span<const KernelActivity> kernels, std::span<const ApiActivity> calls) {
  FirstStarts launches;
  for (const ApiActivity& call : calls) keep_first(launches, call.correlation, call.start_ns);
  FirstStarts starts;
  for (const KernelActivity& kernel : kernels) keep_first(starts, kernel.at.correlation, kernel.at.start_ns);

  LaunchLatency latency;
  std::vector<std::int64_t> waits;
  for (const auto& [correlation, start_ns] : starts) {
    const auto launch = launches.find(correlation);
    if (launch == launches.end())
      ++latency.num_without_launch;
    else
      waits.push_back(start_ns - launch->second);
  }
  if (waits.empty()) return latency;
  std::sort(waits.begin(), waits.end());
  latency.count = static_cast<std::int64_t>(waits.size());
  latency.least_ns = waits.front();
  latency.median_ns = percentile(waits, 50);
  latency.p99_ns = percentile(waits, 99);
  latency.most_ns = waits.back();
  latency.num_negative = std::lower_bound(waits.begin(), waits.end(), 0) - waits.begin();
  return latency;
}

}  // namespace underlap::cupti
