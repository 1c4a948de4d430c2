// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/launch/placement.hpp"
#include "bench/launch/rank_link.hpp"
#include "impl/plan/plan.hpp"
#include "platform/errors.hpp"
#include "platform/status_line.hpp"
#include "profiler/report/results.hpp"

namespace underlap::bench {

struct MeasureOptions {
  std::filesystem::path folder;              ///< run folder: results.json, report.md, traces/
  bool resume = false;                       ///< continue after the last finished block in the folder
  bool verify = true;                        ///< compare losses
  std::vector<report::RefusedCell> refused;  ///< cells that were taken out of the matrix, to be listed in the results
  report::RunInfo info;                      ///< machine, command and build; measure() adds the settings of the matrix
  StatusOptions progress;
  RankStarter* starter = nullptr;        ///< of the ranks whose processes a launcher started; null: no launcher
  const Placement* placement = nullptr;  ///< of those ranks
  std::string resume_command;  ///< shell command that continues this run, printed after an early end; empty: none
};

/// A signal requested the end of the run, which ended after the current block. what() lists what is kept.
class StoppedBySignal : public MachineError {
 public:
  StoppedBySignal(int number, const std::string& what) : MachineError(what), signal(number) {}
  int signal;
};

/// Outcome of a finished run.
struct MeasureOutcome {
  report::RunResults results;
  std::vector<std::string> mismatches;  ///< cells whose losses are wrong
  std::vector<std::string> invalid;     ///< cells whose times are not valid, and why
};

/// Runs every cell of `matrix` in blocks and writes the folder after each of them.
///
/// A block contains every cell once, in an order shuffled from the seed: one settling step, then run.steps measured
/// ones, then the recorder is drained. So cells that differ only in toggles see the same drift, and ratios are taken
/// within a block. If the process is killed, the folder keeps the finished blocks, and resume continues with the next
/// block: from fresh weights, with continued step numbers and trace clocks. If no block was finished, it starts with
/// the first. SIGINT, SIGTERM and SIGHUP end the process at once, after a line about what is kept: call it before there
/// are other threads. If a launcher started the ranks, the first SIGTERM ends the run after the current block
/// (StoppedBySignal): schedulers announce a time limit that way. The folder's status.json shows the progress.
/// If a rank process of a cell fails, the cell is tried once more, on fresh ranks and with its whole block. If it fails
/// again, it is left out from there on (failed_because, MeasureOutcome::invalid), and resume retries it. Throws
/// std::invalid_argument if the folder is in use by another process or holds a run, or if resume finds a different run,
/// with the differences; MachineError if the folder cannot be written or a rank fails.
MeasureOutcome measure(const plan::Matrix& matrix, const MeasureOptions& options);

}  // namespace underlap::bench
