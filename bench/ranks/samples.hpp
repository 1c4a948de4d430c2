// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "bench/ranks/session.hpp"
#include "profiler/report/results.hpp"

namespace underlap::bench {

/// The loss of a run's step, `step` counted from its first: mean over the ranks, nats a token. Nullopt where no values
/// were computed.
std::optional<double> mean_loss(const BlockRun& run, std::size_t step);

/// The measured steps of one cell in one block: all but the settling one. `has_slices`: split the windows as well, for
/// a cell that records. Throws MachineError where the block's marks bound no windows.
std::vector<report::StepSample> samples_of(const BlockRun& run, std::int32_t block, bool has_slices);

/// Ranks whose steps the run holds.
std::int32_t num_ranks_of(const BlockRun& run);

}  // namespace underlap::bench
