// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "impl/plan/plan.hpp"
#include "profiler/report/observed.hpp"

namespace underlap::bench {

/// Every knob of `plan` that affects overlap, mode by mode (impl/device/mode_techniques.hpp).
std::vector<report::OverlapKnob> overlap_knobs(const plan::Plan& plan);

/// The knobs whose communication can be recognized in a trace of another program, by mode and collective. For gradients
/// and parameters, norms and scales count with them if they use the same collective. `plan` must outlive the rows.
std::vector<report::OverlapKnob> foreign_overlap_knobs(const plan::Plan& plan);

}  // namespace underlap::bench
