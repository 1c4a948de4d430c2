// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "impl/plan/plan.hpp"

namespace underlap::plan {

/// The memory of the rank that needs most. Formulas: impl/plan/memory/memory.cpp.
PeakMemory predicted_memory(const Config& config);

}  // namespace underlap::plan
