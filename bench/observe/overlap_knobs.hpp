// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "impl/plan/plan.hpp"
#include "profiler/report/observed.hpp"

namespace underlap::bench {

/// Every knob of `plan` that overlap hangs on, mode by mode (impl/device/mode_techniques.hpp).
std::vector<report::OverlapKnob> overlap_knobs(const plan::Plan& plan);

/// Those whose communication can be told in a trace that was made elsewhere, by mode and collective. Of gradients and
/// of parameters, norms and scales count with them where their collective is the same. `plan` must outlive the rows.
std::vector<report::OverlapKnob> foreign_overlap_knobs(const plan::Plan& plan);

}  // namespace underlap::bench
