// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "impl/plan/plan.hpp"
#include "profiler/report/observed.hpp"

namespace underlap::bench {

/// Every knob of `plan` that overlap hangs on, in the order in which they are shown: the switches of data and tensor
/// parallelism, each tensor-parallel slot, pipeline and context parallelism. A knob of another mode is one more row of
/// the table in the source.
std::vector<report::OverlapKnob> overlap_knobs(const plan::Plan& plan);

/// Those whose communication can be told in a trace that was made elsewhere, by mode and collective: the switches of
/// data, tensor, pipeline and context parallelism. Of gradients and of parameters, norms and scales count with them
/// where their collective is the same. `plan` must outlive the rows.
std::vector<report::OverlapKnob> foreign_overlap_knobs(const plan::Plan& plan);

}  // namespace underlap::bench
