// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "bench/tune/job.hpp"

namespace underlap::bench {

/// A set of choices and what is known about it.
struct Candidate {
  Choices choices;
  plan::Plan plan = {};
  std::int64_t least_ns = 0;
  std::int64_t least_of_rest_ns = 0;  ///< of the microbatches beyond those of the shorter short step
  std::int64_t step_ns = 0;           ///< estimated, or simulated in full; 0: cannot be simulated
  std::string failure = {};           ///< the reason if it cannot be simulated
};

/// By step time; for equal steps, by choices.
bool is_shorter(const Candidate& a, const Candidate& b);

/// `base` overridden by `over`.
Choices merged(Choices base, const Choices& over);

/// Equal for plans that simulate identically.
std::string effect_of(const plan::Plan& plan);

/// Equal for layouts that differ only in the number of pipeline stages and chunks.
std::string within_stage(const Candidate& candidate);

/// Equal for layouts whose stages compute the same. Their chunks and communication may differ.
std::string stages_of(const Candidate& candidate);

/// Equal for layouts that compute the same, whatever they send.
std::string compute_of(const Candidate& candidate);

/// Equal for candidates of one cell that split layers over the same number of tensor-parallel ranks.
std::string size_of(const Candidate& candidate);

/// Equal for candidates of one size that use the same kinds of parallelism, each with any number of ranks.
std::string kind_of(const Candidate& candidate);

/// Equal for candidates of one size whose tensor-parallel products have the same shapes.
std::string shape_of(const Candidate& candidate);

/// Whether a knob decides how tensor-parallel products overlap.
bool is_of_tensor_overlap(const std::string& knob);

/// Whether `plan` can be simulated.
bool is_valid(const plan::Plan& plan);

/// Why a plan cannot be simulated.
const std::string& refusal_of(const plan::Plan& plan);

}  // namespace underlap::bench
