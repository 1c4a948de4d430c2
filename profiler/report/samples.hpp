// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "profiler/report/block_figures.hpp"
#include "profiler/report/results.hpp"

namespace underlap::report {

/// What one cell did in one block.
struct BlockRun {
  BlockFigures figures;                     ///< of all ranks
  std::int32_t first_step = 0;              ///< the settling step
  std::int32_t num_steps = 0;               ///< the settling step included
  std::vector<std::vector<double>> losses;  ///< by rank, one per step; no rank where no values were computed
  /// Of all steps: communication streams of all ranks and the transport's thread; absent in virtual time
  std::optional<std::int64_t> transfer_cpu_ns;
  /// By how much times of ranks on other machines may be wrong against rank 0's; 0 where all ranks have one clock
  std::int64_t clock_residual_ns = 0;
  std::int64_t tensor_bytes = 0;                  ///< size of tensors on the rank with the most; 0: unknown
  std::vector<std::string> notes = {};            ///< of ranks, on how the block was measured
  std::vector<std::string> invalid_because = {};  ///< of ranks, why its times are not to be used
  std::vector<CaptureFault> capture_faults = {};  ///< of ranks; their block is the caller's to set
  std::vector<GpuBlock> gpu_blocks = {};          ///< likewise
  std::set<std::string> gpus = {};                ///< what CUDA calls the ranks' GPUs
};

/// The loss of a run's step, `step` counted from its first: mean over the ranks, nats a token. Nullopt where no values
/// were computed.
std::optional<double> mean_loss(const BlockRun& run, std::size_t step);

/// The measured steps of one cell in one block: all but the settling one, which has no window.
std::vector<StepSample> samples_of(const BlockRun& run, std::int32_t block);

/// The first step of a cell whose loss is NaN or infinite, in words: "the loss is nan in block 0, step 3". Empty where
/// there is none, and of a cell whose values are not checked, since they mean nothing.
std::string non_finite_loss(const CellResult& cell);

/// Ranks whose steps the run holds, in ascending order.
std::vector<std::int32_t> ranks_of(const BlockRun& run);

}  // namespace underlap::report
