// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/cluster/batch_job.hpp"
#include "bench/cluster/scheduler.hpp"
#include "bench/cluster/state_of_run.hpp"
#include "platform/table.hpp"

namespace underlap::bench {

/// State of one cell's task, from its folder and the scheduler.
struct StateOfTask {
  std::string cell;
  StateOfRun run;
  std::string why_ended;  ///< why it ended before its cell was done; empty otherwise

  bool is_over() const { return run.stage == StateOfRun::Stage::ended || is_done(); }
  bool is_done() const { return run.stage == StateOfRun::Stage::finished; }
};

/// State of a matrix whose cells are the tasks of a job array.
struct StateOfArray {
  SubmittedJob job;
  std::vector<StateOfTask> tasks;  ///< by their numbers
  bool is_merged = false;          ///< the folder's results.json matches the folders of the tasks
  bool is_merging = false;         ///< all tasks are over, and the script of one still runs to merge them into one run

  /// Running if any task is, then silent, then waiting; finished when all are done and merged.
  StateOfRun::Stage stage() const;
};

/// Reads the state of an array in `folder`; nullopt if no array was submitted from it. `ask` queries a scheduler;
/// empty: this machine's. Throws std::invalid_argument for files that do not belong to a run.
std::optional<StateOfArray> state_of_array(
    const std::filesystem::path& folder,
    const std::function<std::optional<std::map<std::size_t, JobState>>(const std::string&)>& ask = {});

/// For people: a sentence, how to continue if needed, and one row per cell.
std::string array_text(const StateOfArray& state, const std::string& folder, const TableFormat& format);
/// Schema underlap.state/1, where each cell has a `stage` too.
std::string array_json(const StateOfArray& state);

}  // namespace underlap::bench
