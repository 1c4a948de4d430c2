// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "bench/measure/kernel_files.hpp"
#include "impl/plan/plan.hpp"
#include "profiler/report/results.hpp"

namespace underlap::bench {

/// Adds to `results`, whose cells are those of `cells` and have all their samples, what only all blocks together tell:
/// the bounds of each cell's step, what its kernels took, and what made its compute longer or shorter than its off
/// cell's. `says` is told which cell comes next.
void draw_conclusions(std::span<const plan::Cell> cells, report::RunResults& results, const KernelFiles& times,
                      const std::function<void(std::size_t cell)>& says);

}  // namespace underlap::bench
