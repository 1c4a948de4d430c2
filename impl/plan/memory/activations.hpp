// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "impl/plan/memory/rank_shape.hpp"
#include "impl/plan/memory/stage_layers.hpp"
#include "impl/plan/pipeline_schedules.hpp"

namespace underlap::plan {

/// The most microbatches of the stage's chunks, all together, that are between forward and backward at once.
InFlight chunks_in_flight(const Config& config, const Stage& stage);

/// Bytes that a stage keeps between forward and backward passes, the logits of the last included. Formulas:
/// impl/plan/memory/memory.cpp.
double activation_bytes(const Config& config, const RankShape& shape, const Stage& stage);

}  // namespace underlap::plan
