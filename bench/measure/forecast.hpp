// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "impl/plan/plan.hpp"

namespace underlap::bench {

/// What a run of `matrix` would be, in lines for people: cells, ranks, steps, time, disk and memory, each with what it
/// is estimated from, of at most `width` columns. Nothing is run or written. `resumed`: the folder that a run would go
/// on with; empty: a new one. Throws std::invalid_argument where that folder's results cannot be read.
std::string run_forecast(const plan::Matrix& matrix, const std::filesystem::path& resumed, int width);

/// The same of a check: of `steps` steps of each rank, and of `numerics_steps` whose losses are compared (0: none).
std::string check_forecast(const plan::Matrix& matrix, std::int32_t steps, std::int32_t numerics_steps, int width);

/// Throws std::invalid_argument where the proofs of a cell take more memory than there is, with roughly how much.
void require_memory_of_check(const plan::Cell& cell, std::int32_t steps);

}  // namespace underlap::bench
