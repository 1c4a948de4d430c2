// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "impl/plan/plan.hpp"
#include "profiler/report/results.hpp"

namespace underlap::bench {

/// The work of a step of `config`. `gpu_model`: CUDA's name of the GPUs of backend cuda; empty until a rank has
/// reported it. Throws std::invalid_argument for a hardware file that cannot be read.
report::StepWork work_of(const plan::Config& config, const std::string& gpu_model = {});

/// Results of each cell before it is measured: all that follows from the plans.
std::vector<report::CellResult> described_cells(std::span<const plan::Cell> cells);

/// Adds the same to results that were read, with cells in the same order: results of an earlier Underlap lack some of
/// it.
void describe_anew(std::span<const plan::Cell> cells, const std::string& gpu_model,
                   std::vector<report::CellResult>& results);

/// Sets the cells that `cells` are compared with in their results, which have the same order.
void set_references(std::span<const plan::Cell> cells, std::vector<report::CellResult>& results);

}  // namespace underlap::bench
