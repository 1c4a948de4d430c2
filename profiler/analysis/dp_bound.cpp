// SPDX-License-Identifier: Apache-2.0
#include "profiler/analysis/dp_bound.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <stdexcept>
#include <string_view>

namespace underlap::analysis {
namespace {

std::int64_t sum(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

void check_durations(std::string_view name, const std::vector<std::int64_t>& values) {
  for (const std::int64_t value : values)
    if (value < 0) throw std::invalid_argument(fmt::format("{}: {} ns is negative", name, value));
}

void check(const DpStep& step) {
  check_durations("forward_ns", step.forward_ns);
  check_durations("gather_ns", step.gather_ns);
  check_durations("backward_ns", step.backward_ns);
  check_durations("reduce_ns", step.reduce_ns);
  check_durations("optimizer_ns", {step.optimizer_ns});
  if (step.forward_ns.size() != step.gather_ns.size())
    throw std::invalid_argument(fmt::format("{} forward segments but {} gathers: one of each a bucket is needed",
                                            step.forward_ns.size(), step.gather_ns.size()));
  if (step.backward_ns.size() != step.reduce_ns.size())
    throw std::invalid_argument(fmt::format("{} backward segments but {} reduces: one of each a bucket is needed",
                                            step.backward_ns.size(), step.reduce_ns.size()));
  if (step.prefetch_depth < 0)
    throw std::invalid_argument(fmt::format("prefetch_depth: {} is negative", step.prefetch_depth));
}

// A stream as its makespan sees it: the moment when its last operation ends.
class Stream {
 public:
  /// Runs an operation that may start at `ready`; returns its end.
  std::int64_t run(std::int64_t ready, std::int64_t duration) {
    free_at_ = std::max(free_at_, ready) + duration;
    return free_at_;
  }

 private:
  std::int64_t free_at_ = 0;
};

// The end of forward on the compute stream.
std::int64_t forward_end(const DpStep& step, Stream& gathers) {
  if (!step.overlap_param_gather) return gathers.run(0, sum(step.gather_ns)) + sum(step.forward_ns);
  const std::size_t num_buckets = step.gather_ns.size();
  std::vector<std::int64_t> gathered;  // the end of each gather dispatched so far
  std::int64_t now = 0;
  const auto dispatch_until = [&](std::size_t count) {
    while (gathered.size() < std::min(count, num_buckets))
      gathered.push_back(gathers.run(now, step.gather_ns[gathered.size()]));
  };
  for (std::size_t bucket = 0; bucket < num_buckets; ++bucket) {
    dispatch_until(bucket + 1);
    now = std::max(now, gathered[bucket]);
    dispatch_until(bucket + 1 + static_cast<std::size_t>(step.prefetch_depth));
    now += step.forward_ns[bucket];
  }
  return now;
}

// When every reduce is done, for a backward that begins at `now`.
std::int64_t reduced_at(const DpStep& step, std::int64_t now, Stream& reduces) {
  if (!step.overlap_grad_reduce) return reduces.run(now + sum(step.backward_ns), sum(step.reduce_ns));
  std::int64_t end = now;
  for (std::size_t bucket = 0; bucket < step.reduce_ns.size(); ++bucket) {
    now += step.backward_ns[bucket];
    end = reduces.run(now, step.reduce_ns[bucket]);
  }
  return end;
}

}  // namespace

DpBound dp_bound(const DpStep& step) {
  check(step);
  Stream data_parallel;
  Stream own;
  const std::int64_t backward_begin = forward_end(step, step.separate_gather_communicator ? own : data_parallel);
  const std::int64_t compute = sum(step.forward_ns) + sum(step.backward_ns) + step.optimizer_ns;
  const std::int64_t step_ns = reduced_at(step, backward_begin, data_parallel) + step.optimizer_ns;
  return {.step_ns = step_ns, .exposed_ns = step_ns - compute};
}

}  // namespace underlap::analysis
