// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
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

/// How the task of one cell stands, as its folder and the scheduler tell it.
struct StateOfTask {
  std::string cell;
  StateOfRun run;
  std::string why_ended;  ///< before its cell was done; empty else

  bool is_over() const { return run.stage == StateOfRun::Stage::ended || is_done(); }
  bool is_done() const { return run.stage == StateOfRun::Stage::finished; }
};

/// How a matrix stands whose cells are the tasks of a job array.
struct StateOfArray {
  SubmittedJob job;
  std::vector<StateOfTask> tasks;  ///< by their numbers
  bool is_merged = false;          ///< the folder's results.json holds what the folders of the tasks have
  bool is_merging = false;         ///< all are over, and the script of one still runs: it makes one run of them

  /// Running where any task is, then silent, then waiting; finished once all are done and merged.
  StateOfRun::Stage stage() const;
};

/// Reads how an array in `folder` stands; nullopt where no array was submitted from it. `ask` asks a scheduler; empty:
/// the one that this machine has. Throws std::invalid_argument for files that are no run's.
std::optional<StateOfArray> state_of_array(
    const std::filesystem::path& folder,
    const std::function<std::optional<std::map<std::size_t, JobState>>(const std::string&)>& ask = {});

/// For a person: a sentence, how to go on where that is needed, and a row a cell.
std::string array_text(const StateOfArray& state, const std::string& folder, const TableFormat& format);
/// Schema underlap.state/1, where each cell has a `stage` too.
std::string array_json(const StateOfArray& state);

}  // namespace underlap::bench
