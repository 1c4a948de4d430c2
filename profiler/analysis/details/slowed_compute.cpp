// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/details/trace_details.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "platform/numbers/median.hpp"
#include "profiler/analysis/intervals.hpp"
#include "profiler/analysis/waits/covered_time.hpp"
#include "profiler/analysis/windows.hpp"

namespace underlap::analysis {
namespace {

struct LaunchHash {
  std::size_t operator()(const Launch& launch) const {
    std::size_t hash = static_cast<std::size_t>(launch.name);
    const auto add = [&](std::size_t part) { hash = (hash ^ part) * 0x9E3779B97F4A7C15ULL + (hash >> 29); };
    add(static_cast<std::size_t>(launch.purpose));
    add((static_cast<std::size_t>(launch.direction) << 1) | static_cast<std::size_t>(launch.has_bucket));
    for (const std::uint32_t value : launch.shape.grid) add(value);
    for (const std::uint32_t value : launch.shape.block) add(value);
    return hash;
  }
};

struct Durations {
  std::vector<double> concurrent, alone;
};

template <class T>
using ByLaunch = std::unordered_map<Launch, T, LaunchHash>;

// A kernel over all ranks; `cost_ns` is exact only up to the medians of each.
struct Totals {
  Durations all;
  double cost_ns = 0;
  double concurrent_ns = 0;
};

double sum_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

CoveredTime communication_of(const Trace& trace, const std::vector<std::uint32_t>& slices) {
  std::vector<Interval> active;
  for (const std::uint32_t i : slices)
    if (trace.tag(i).kind == Kind::communication) active.push_back({trace.start_ns()[i], trace.end_ns(i)});
  return CoveredTime(IntervalSet(std::move(active)));
}

class Comparison {
 public:
  explicit Comparison(const Trace& trace) : trace_(trace) {}

  void add_rank(const std::vector<std::uint32_t>& slices) {
    const CoveredTime communication = communication_of(trace_, slices);
    ByLaunch<Durations> launches;
    for (const std::uint32_t i : slices) {
      const std::int64_t duration = trace_.duration_ns()[i];
      if (trace_.tag(i).kind != Kind::compute || duration <= 0) continue;
      const std::int64_t concurrent = communication.within(trace_.start_ns()[i], trace_.end_ns(i));
      const bool is_concurrent = concurrent >= duration - concurrent;
      if (concurrent > 0 && !is_concurrent) {
        result_.partly_concurrent_ns += duration;
        continue;
      }
      if (is_concurrent) result_.concurrent_ns += duration;
      Durations& durations = launches[launch_of(trace_, i)];
      (is_concurrent ? durations.concurrent : durations.alone).push_back(static_cast<double>(duration));
    }
    for (auto& [launch, durations] : launches)
      if (!durations.concurrent.empty() && !durations.alone.empty()) compare(launch, durations);
  }

  SlowedCompute finish() {
    for (auto& [launch, totals] : totals_) {
      SlowedKernel kernel{.name = launch.name, .purpose = launch.purpose, .shape = launch.shape};
      kernel.concurrent = static_cast<std::int64_t>(totals.all.concurrent.size());
      kernel.alone = static_cast<std::int64_t>(totals.all.alone.size());
      kernel.median_concurrent_ns = median(totals.all.concurrent);
      kernel.median_alone_ns = median(totals.all.alone);
      kernel.concurrent_ns = static_cast<std::int64_t>(totals.concurrent_ns);
      kernel.cost_ns = totals.cost_ns;
      result_.cost_ns += kernel.cost_ns;
      result_.kernels.push_back(kernel);
    }
    std::ranges::sort(result_.kernels, [](const SlowedKernel& a, const SlowedKernel& b) {
      const auto key = [](const SlowedKernel& k) {
        return std::tuple(-k.cost_ns, name_of(k.name), k.shape.grid, k.shape.block, name_of(k.purpose),
                          k.concurrent_ns);
      };
      return key(a) < key(b);
    });
    return std::move(result_);
  }

 private:
  void compare(const Launch& launch, Durations& durations) {
    Totals& totals = totals_[launch];
    const double concurrent = sum_of(durations.concurrent);
    totals.concurrent_ns += concurrent;
    totals.cost_ns += concurrent - static_cast<double>(durations.concurrent.size()) * median(durations.alone);
    totals.all.concurrent.insert(totals.all.concurrent.end(), durations.concurrent.begin(), durations.concurrent.end());
    totals.all.alone.insert(totals.all.alone.end(), durations.alone.begin(), durations.alone.end());
    result_.compared_ns += static_cast<std::int64_t>(concurrent);
    if (launch.shape.grid[0] == 0) result_.unknown_shape_ns += static_cast<std::int64_t>(concurrent);
  }

  const Trace& trace_;
  ByLaunch<Totals> totals_;
  SlowedCompute result_;
};

}  // namespace

Launch launch_of(const Trace& trace, std::uint32_t slice) {
  const Tag& tag = trace.tag(slice);
  return {trace.name(slice), tag.purpose, tag.direction, tag.bucket >= 0, trace.shape(slice)};
}

SlowedCompute find_slowed_compute(const Trace& trace) {
  Comparison comparison(trace);
  for (const auto& [rank, slices] : work_by_rank(trace)) comparison.add_rank(slices);
  return comparison.finish();
}

}  // namespace underlap::analysis
