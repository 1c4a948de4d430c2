// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "impl/plan/memory/rank_shape.hpp"
#include "impl/plan/memory/stage_layers.hpp"

namespace underlap::plan {

// Bytes of what a rank allocates once, whatever it trains on, and of what libraries hold. Formulas:
// impl/plan/memory/memory.cpp.

double userbuffers_bytes(const Config& config, const RankShape& shape);
double exchange_bytes(const Config& config, const RankShape& shape, const Stage& stage);
double workspace_bytes(const Config& config, const RankShape& shape);
double communicator_bytes(const Config& config);
double context_bytes();

}  // namespace underlap::plan
