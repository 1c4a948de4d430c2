// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "profiler/report/results.hpp"

namespace underlap::report {

/// A rank's window of `compute` compute-only, `hidden`, `exposed` and `idle` microseconds, all of it dp.
inline analysis::Split split_of(std::int64_t compute_us, std::int64_t hidden_us, std::int64_t exposed_us,
                                std::int64_t idle_us) {
  analysis::Split split;
  split.compute_only_ns = compute_us * 1000;
  split.hidden_ns = hidden_us * 1000;
  split.exposed_ns_by_modes["dp"] = exposed_us * 1000;
  split.idle_ns = idle_us * 1000;
  split.window_ns = (compute_us + hidden_us + exposed_us + idle_us) * 1000;
  analysis::CommunicationSplit communication{
      split.comm_ns(), split.exposed_ns(), split.hidden_ns, 0, 0, split.exposed_ns(), 0, 4096, 2};
  split.modes["dp"] = communication;
  split.purposes["grad_reduce_scatter"] = communication;
  return split;
}

/// A step as long as its first rank's window.
inline StepSample step_of(std::int32_t block, std::int32_t step, std::vector<analysis::Split> ranks) {
  return {block, step, ranks.at(0).window_ns, 2.5, 1'000'000, std::move(ranks)};
}

inline CellResult cell_of(std::string name, std::vector<std::pair<std::string, std::string>> values,
                          std::vector<StepSample> samples) {
  CellResult cell;
  cell.name = std::move(name);
  cell.values = std::move(values);
  cell.plan_json = R"({"schema":"underlap.plan/1"})";
  cell.samples = std::move(samples);
  return cell;
}

/// Three blocks of two steps, both ranks with the same window.
inline CellResult steady(std::string name, std::vector<std::pair<std::string, std::string>> values,
                         const analysis::Split& split) {
  std::vector<StepSample> samples;
  for (int block = 0; block < 3; ++block)
    for (int step = 0; step < 2; ++step) samples.push_back(step_of(block, block * 3 + step, {split, split}));
  return cell_of(std::move(name), std::move(values), std::move(samples));
}

}  // namespace underlap::report
