// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "impl/plan/memory/rank_shape.hpp"
#include "impl/plan/memory/stage_layers.hpp"

namespace underlap::plan {

/// Bytes of what a stage keeps from step to step, and of what of it is whole at a time. Formulas:
/// impl/plan/memory/memory.cpp.
struct StateBytes {
  double parameters = 0, gradients = 0, optimizer = 0;
};
StateBytes state_bytes(const Config& config, const RankShape& shape, const Stage& stage);

}  // namespace underlap::plan
