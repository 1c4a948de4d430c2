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
  std::filesystem::path folder;              ///< of the run: results.json, report.md, traces/
  bool resume = false;                       ///< go on after the last finished block of what is in the folder
  bool verify = true;                        ///< compare losses
  std::vector<report::RefusedCell> refused;  ///< cells that were taken out of the matrix, for the results to tell
  report::RunInfo info;                      ///< machine, command and build; measure() adds what the matrix says
  StatusOptions progress;
  RankStarter* starter = nullptr;        ///< of the ranks that a launcher started processes for; null: no launcher
  const Placement* placement = nullptr;  ///< of those
  std::string resume_command;  ///< what a shell goes on with after this run has ended early, said then; empty: nothing
};

/// A signal asked the run to end, and it did behind the block that was going. what() says what is kept.
class StoppedBySignal : public MachineError {
 public:
  StoppedBySignal(int number, const std::string& what) : MachineError(what), signal(number) {}
  int signal;
};

/// What a finished run has to say.
struct MeasureOutcome {
  report::RunResults results;
  std::vector<std::string> mismatches;  ///< cells whose losses are not what they must be
  std::vector<std::string> invalid;     ///< cells whose times are not to be used, and why
};

/// Runs every cell of `matrix` in blocks and writes the folder after each of them.
///
/// A block holds every cell once, in an order shuffled from the seed: one settling step, then run.steps measured ones,
/// then the recorder is drained. So cells that differ only in toggles meet the same drift, and ratios are taken within
/// a block. Killed at any time, the folder holds what was finished, and resume goes on with the next block: from fresh
/// weights, with steps and the traces' clocks counted on; where no block was finished, with the first. SIGINT, SIGTERM
/// and SIGHUP end the process at once, after a line that says what is kept: call it before there are other threads.
/// Where a launcher started the ranks, the first SIGTERM ends it behind the block that is going (StoppedBySignal): so
/// schedulers announce that its time is up. How it stands, the folder's status.json says meanwhile.
/// A cell of which a rank process fails is tried once more, on fresh ranks and with its whole block; one that fails
/// again is left out from there on (failed_because, MeasureOutcome::invalid), and resume takes it up again.
/// Throws std::invalid_argument for a folder that another process is at, that holds a run, or with resume another one
/// than this, with what differs; MachineError where the folder cannot be written or a rank fails.
MeasureOutcome measure(const plan::Matrix& matrix, const MeasureOptions& options);

}  // namespace underlap::bench
