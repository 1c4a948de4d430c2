// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "impl/plan/plan.hpp"
#include "platform/status_line.hpp"
#include "platform/table.hpp"
#include "profiler/report/results.hpp"

namespace underlap::bench {

/// Several fresh processes of one matrix, one after the other: the unit that a gate compares.
struct SeriesRequest {
  std::filesystem::path
      folder;             ///< the runs become run-00, run-01, ... in it; of two sides, in baseline/ and candidate/
  std::int32_t runs = 1;  ///< of each side
  std::string config;
  /// Another program, or another configuration, that alternates with this one and is the baseline; empty: none
  std::string other;
  std::vector<std::string> options;  ///< of `underlap run`, for every run
  bool resume = false;
  std::string resume_command;  ///< shell command that continues the series after an early end
  StatusOptions progress;
};

/// Runs the processes and prints their table. Returns the exit code: that of the first run that fails, which ends the
/// series, or kFound if losses of some run do not agree. SIGINT, SIGTERM and SIGHUP end the current run and this
/// process: call it before there are other threads. Throws std::invalid_argument if the folder already holds runs or is
/// in use by another process, and if `other` is neither a program of ours nor a configuration.
int run_series(const SeriesRequest& request);

/// Checks that a gate can compare runs of two configurations. Throws std::invalid_argument with the reason if not:
/// another backend or link, other cells, or other work in one of them.
void check_turns(const plan::Matrix& baseline, const std::string& baseline_config, const plan::Matrix& candidate,
                 const std::string& candidate_config);

/// Whether `path` is a program, not a configuration.
bool is_program(const std::string& path);

/// Whether `folder` holds runs that were started together.
bool is_series(const std::filesystem::path& folder);

/// The table of a series: each cell's step, median over the runs, and the spread of its runs; for two sides both, and
/// the gate command. Throws std::invalid_argument if a run cannot be read.
std::string series_text(const std::filesystem::path& folder, const TableFormat& format);

/// Reads the series of this process from the environment into `info`. Throws std::invalid_argument if the variable is
/// invalid.
void read_series(report::RunInfo& info);

}  // namespace underlap::bench
