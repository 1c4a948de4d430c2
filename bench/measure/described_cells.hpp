// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "impl/plan/plan.hpp"
#include "profiler/report/results.hpp"

namespace underlap::bench {

/// What a step of `config` works on. `gpu_model`: what CUDA calls the GPUs of backend cuda; empty where no rank has
/// said it yet. Throws std::invalid_argument for a hardware file that cannot be read.
report::StepWork work_of(const plan::Config& config, const std::string& gpu_model = {});

/// What results say of each cell before any of it is measured: all that follows from the plans.
std::vector<report::CellResult> described_cells(std::span<const plan::Cell> cells);

/// The same into results that were read, of cells in the same order: those of an earlier Underlap lack some of it.
void describe_anew(std::span<const plan::Cell> cells, const std::string& gpu_model,
                   std::vector<report::CellResult>& results);

/// What `cells` are held against, into their results, which stand in the same order.
void set_references(std::span<const plan::Cell> cells, std::vector<report::CellResult>& results);

}  // namespace underlap::bench
