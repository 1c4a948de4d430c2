// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "bench/tune/job.hpp"

namespace underlap::bench {

/// A set of choices and what is known of it.
struct Candidate {
  Choices choices;
  plan::Plan plan = {};
  std::int64_t least_ns = 0;
  std::int64_t least_of_rest_ns = 0;  ///< of the microbatches beyond those of the shorter short step
  std::int64_t step_ns = 0;           ///< estimated, or played in full; 0: cannot be played
  std::string failure = {};           ///< then why
};

/// By its step; of equal ones by its choices.
bool is_shorter(const Candidate& a, const Candidate& b);

/// `base` with all of `over`, which wins.
Choices laid_over(Choices base, const Choices& over);

/// Equal for plans that are played alike.
std::string effect_of(const plan::Plan& plan);

/// Equal for layouts that compute the same, whatever they send.
std::string compute_of(const Candidate& candidate);

/// Equal for layouts that cut layers over as many tensor-parallel ranks.
std::string size_of(const Candidate& candidate);

/// Equal for those that cut the model and its data in the same ways too, each as often as they like.
std::string kind_of(const Candidate& candidate);

/// Equal for those of a size whose tensor-parallel products have the same shapes.
std::string shape_of(const Candidate& candidate);

/// Whether a knob says how tensor-parallel products overlap.
bool is_of_tensor_overlap(const std::string& knob);

/// Whether `plan` can be played.
bool is_well(const plan::Plan& plan);

/// Why one that is not well cannot.
const std::string& refusal_of(const plan::Plan& plan);

}  // namespace underlap::bench
