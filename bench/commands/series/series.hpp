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

/// Several fresh processes of one matrix, one after the other: what a gate takes as its unit.
struct SeriesRequest {
  std::filesystem::path
      folder;             ///< the runs become run-00, run-01, ... in it; of two sides, in baseline/ and candidate/
  std::int32_t runs = 1;  ///< of each side
  std::string config;
  /// Another program, or another configuration, that takes turns with this one and is the baseline; empty: none
  std::string other;
  std::vector<std::string> options;  ///< of `underlap run`, for every run alike
  bool resume = false;
  std::string resume_command;  ///< what a shell goes on with after an early end
  StatusOptions progress;
};

/// Runs them, and prints their table. Returns the exit code: that of the first run that fails, which ends the series,
/// or kFound where losses of some run do not agree. SIGINT, SIGTERM and SIGHUP end the run that is going and this
/// process: call it before there are other threads. Throws std::invalid_argument for a folder that holds runs already,
/// or that another process is at, and where `other` is neither a program of ours nor a configuration.
int run_series(const SeriesRequest& request);

/// Whether a gate could hold runs of two configurations against each other. Throws std::invalid_argument with the
/// reason where it could not: another backend or link, other cells, or other work in one of them.
void check_turns(const plan::Matrix& baseline, const std::string& baseline_config, const plan::Matrix& candidate,
                 const std::string& candidate_config);

/// Whether `path` is a program, and no configuration.
bool is_program(const std::string& path);

/// Whether `folder` holds runs that were started together.
bool is_series(const std::filesystem::path& folder);

/// The table of a series: each cell's step, median over the runs, and how far its runs lie apart; of two sides both,
/// and what to gate them with. Throws std::invalid_argument where a run cannot be read.
std::string series_text(const std::filesystem::path& folder, const TableFormat& format);

/// What the environment says of the series that this process belongs to, into `info`. Throws std::invalid_argument
/// where somebody else has set it.
void read_series(report::RunInfo& info);

}  // namespace underlap::bench
