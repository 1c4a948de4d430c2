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

/// Progress of one cell of a run.
struct StateOfCell {
  std::string name;
  std::int32_t blocks_done = 0;
  std::string failed_because = {};  ///< why blocks are missing; empty: it has not failed
};

/// State of a run, from its folder and the scheduler.
struct StateOfRun {
  enum class Stage : std::uint8_t {
    waiting,  ///< in the scheduler's queue
    running,
    silent,  ///< it may run on another machine, whose locks are not visible here, or have died there
    ended,   ///< before all blocks were done
    finished,
  };
  Stage stage = Stage::ended;
  std::int32_t blocks_done = 0;
  std::int32_t blocks_planned = 0;    ///< 0: not known yet
  std::vector<StateOfCell> cells;     ///< none before the first block is done
  std::optional<RunStatus> status;    ///< as the run reported it
  std::optional<SubmittedJob> job;    ///< if the run was submitted
  std::optional<JobState> job_state;  ///< as the scheduler reports it
  std::string holder;                 ///< process that holds the folder; empty: none visible here
};
std::string_view to_string(StateOfRun::Stage stage);

/// Reads the state of the run in `folder`, from any machine that sees the folder. `ask` queries a scheduler; empty:
/// this machine's. Throws std::invalid_argument if there is no run.
StateOfRun state_of_run(const std::filesystem::path& folder,
                        const std::function<std::optional<JobState>(const std::string&)>& ask = {});

/// The same for the folder of one array task, which may not have started. `job_state` comes from the scheduler,
/// `blocks_planned` from the submission.
StateOfRun state_of_task(const std::filesystem::path& folder, const std::optional<JobState>& job_state,
                         std::int32_t blocks_planned);

/// For people: one sentence, how to continue if needed, and one row per cell. `now_s` is Unix time.
std::string state_text(const StateOfRun& state, const std::string& folder, std::int64_t now_s,
                       const TableFormat& format);
inline constexpr const char* kStateSchema = "underlap.state/1";
/// Schema underlap.state/1.
std::string state_json(const StateOfRun& state);

}  // namespace underlap::bench
