// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "impl/plan/plan.hpp"

namespace underlap::plan {

/// The memory of the rank that needs most. Formulas: impl/plan/memory.cpp.
PeakMemory predicted_memory(const Config& config);

/// The most layers, fewer than the configuration has, that are predicted to fit in `bytes` on every rank and that its
/// pipeline stages and model chunks share alike; nothing where not even the fewest do.
std::optional<std::int64_t> layers_that_fit(const Config& config, std::int64_t bytes);

/// How a rank comes to need less than `bytes`, for a message: the layers that fit, or what else does.
std::string advice_on_memory(const Config& config, std::int64_t bytes);

}  // namespace underlap::plan
