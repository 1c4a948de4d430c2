// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "profiler/report/results.hpp"

namespace underlap::report {

/// Rates of a step.
struct StepRates {
  double tokens_per_s = 0;    ///< of all ranks together
  double tflops_per_gpu = 0;  ///< of one rank, which is a GPU but on backend host
  std::optional<double> mfu;  ///< share of the peak; absent where that is not known
};

/// The rates of a step of `step_s` seconds on so many ranks, with its FLOPs counted by `convention`. Absent if the work
/// is unknown.
std::optional<StepRates> rates_of(const StepWork& work, std::int32_t num_ranks, double step_s,
                                  const std::string& convention);

/// A convention in words: "the full attention matrix, without recomputation".
std::string convention_words(const std::string& convention);

}  // namespace underlap::report
