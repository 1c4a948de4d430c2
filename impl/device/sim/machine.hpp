// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "impl/device/sim/cost_model.hpp"
#include "impl/device/sim/time_model.hpp"
#include "impl/plan/config.hpp"

namespace underlap::sim {

/// The machine that `config` asks for: run.hardware, run.gpus_per_node and the LayerNorm SM margin of its environment.
/// Throws std::invalid_argument with every error of the hardware file, each with file, line and column.
std::unique_ptr<TimeModel> make_time_model(const plan::Config& config);

/// Memory of one GPU that `config` asks for. Throws as make_time_model() does.
std::int64_t gpu_memory_bytes(const plan::Config& config);

/// A described machine. `layernorm_sm_margin`: SMs that its persistent norms leave free.
std::unique_ptr<TimeModel> make_time_model(CostModel model, int layernorm_sm_margin = 0);

}  // namespace underlap::sim
