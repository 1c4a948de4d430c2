// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "bench/measure/kernel_files.hpp"
#include "impl/plan/plan.hpp"
#include "profiler/report/results.hpp"

namespace underlap::bench {

/// Adds to `results` what only all blocks together show: the bounds of each cell's step, what its kernels took, and
/// what made its compute longer or shorter than its off cell's. The cells of `results` are those of `cells` and have
/// all their samples. Calls `says` with each cell before it is processed.
void draw_conclusions(std::span<const plan::Cell> cells, report::RunResults& results, const KernelFiles& times,
                      const std::function<void(std::size_t cell)>& says);

}  // namespace underlap::bench
