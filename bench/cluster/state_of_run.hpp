// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/cluster/batch_job.hpp"
#include "bench/cluster/run_status.hpp"
#include "bench/cluster/scheduler.hpp"
#include "platform/table.hpp"

namespace underlap::bench {

/// Where a cell of a run is.
struct StateOfCell {
  std::string name;
  std::int32_t blocks_done = 0;
  std::string failed_because = {};  ///< why it lacks the rest; empty: it has not failed
};

/// How a run stands, as its folder and the scheduler tell it.
struct StateOfRun {
  enum class Stage : std::uint8_t {
    waiting,  ///< in the scheduler's queue
    running,
    silent,  ///< it may run on another machine, whose locks are not seen here, or have died there
    ended,   ///< before all was done
    finished,
  };
  Stage stage = Stage::ended;
  std::int32_t blocks_done = 0;
  std::int32_t blocks_planned = 0;    ///< 0: not known yet
  std::vector<StateOfCell> cells;     ///< none before the first block is done
  std::optional<RunStatus> status;    ///< as it said itself
  std::optional<SubmittedJob> job;    ///< where it was submitted
  std::optional<JobState> job_state;  ///< as the scheduler says
  std::string holder;                 ///< which process holds the folder; empty: none that is seen here
};
std::string_view to_string(StateOfRun::Stage stage);

/// Reads how the run in `folder` stands, from any machine that sees the folder. `ask` asks a scheduler; empty: the one
/// that this machine has. Throws std::invalid_argument where there is no run.
StateOfRun state_of_run(const std::filesystem::path& folder,
                        const std::function<std::optional<JobState>(const std::string&)>& ask = {});

/// The same of the folder of one task of an array, which may not have begun: what there is of it. `job_state` as the
/// scheduler says, `blocks_planned` as it was submitted.
StateOfRun state_of_task(const std::filesystem::path& folder, const std::optional<JobState>& job_state,
                         std::int32_t blocks_planned);

/// For a person: one sentence, how to go on where that is needed, and a row a cell. `now_s` is Unix time.
std::string state_text(const StateOfRun& state, const std::string& folder, std::int64_t now_s,
                       const TableFormat& format);
inline constexpr const char* kStateSchema = "underlap.state/1";
/// Schema underlap.state/1.
std::string state_json(const StateOfRun& state);

}  // namespace underlap::bench
