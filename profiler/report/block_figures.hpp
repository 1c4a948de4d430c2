// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/analysis/compute_change.hpp"
#include "profiler/analysis/durations.hpp"
#include "profiler/analysis/split.hpp"
#include "profiler/analysis/windows.hpp"
#include "profiler/trace/trace.hpp"

namespace underlap::report {

/// What the kernels and transfers of measured steps took, for what is concluded at the end of a run.
struct KernelTimes {
  std::map<analysis::StepId, analysis::ComputeTimes> compute;  ///< by step, sum over ranks
  analysis::PlaceTimes places;                                 ///< a median of each rank
  analysis::TransfersAlone alone;

  friend bool operator==(const KernelTimes&, const KernelTimes&) = default;
};

/// All that the results of a run take from the traces of a block: of one rank, or of several.
struct BlockFigures {
  std::vector<analysis::Window> windows;  ///< by rank, then time
  std::vector<analysis::Split> splits;    ///< of each window; empty where no slices were recorded
  KernelTimes kernels;                    ///< the same

  friend bool operator==(const BlockFigures&, const BlockFigures&) = default;
};

/// The figures of a trace, whose communications know their last arrivals as far as these can be known. `has_slices`:
/// they were recorded. `ranks_of_a_stage`: see analysis::place_times(). Throws MachineError where its marks bound no
/// windows.
BlockFigures figures_of(const Trace& trace, bool has_slices, std::int32_t ranks_of_a_stage);

/// Appends the figures of more ranks to `figures`, which then has those of the ranks' joined trace.
void append(BlockFigures& figures, BlockFigures more);

/// As bytes, for another process of the same program or for a later run of it; without loss.
std::string encode(const BlockFigures& figures);
std::string encode(const KernelTimes& times);
/// Throw std::invalid_argument for bytes that encode() did not write.
BlockFigures decode_figures(std::string_view bytes);
KernelTimes decode_kernel_times(std::string_view bytes);

}  // namespace underlap::report
