// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "bench/measure/progress.hpp"
#include "impl/plan/plan.hpp"
#include "profiler/report/results.hpp"

namespace underlap::bench {

struct MeasureOptions {
  std::filesystem::path folder;  ///< of the run: results.json, report.md, traces/
  bool resume = false;           ///< go on after the last finished block of what is in the folder
  bool verify = true;            ///< compare losses
  report::RunInfo info;          ///< machine, command and build; measure() adds what the matrix says
  ProgressOptions progress;
};

/// What a finished run has to say.
struct MeasureOutcome {
  report::RunResults results;
  std::vector<std::string> mismatches;  ///< cells whose losses are not what they must be
};

/// Runs every cell of `matrix` in blocks and writes the folder after each of them.
///
/// A block holds every cell once, in an order shuffled from the seed: one settling step, then run.steps measured ones,
/// then the recorder is drained. So cells that differ only in toggles meet the same drift, and ratios are taken within
/// a block. Killed at any time, the folder holds what was finished, and resume goes on with the next block: from fresh
/// weights, with steps counted on.
/// Throws std::invalid_argument for a folder that holds another run or, with resume, none; MachineError where the
/// folder cannot be written or a rank fails.
MeasureOutcome measure(const plan::Matrix& matrix, const MeasureOptions& options);

}  // namespace underlap::bench
