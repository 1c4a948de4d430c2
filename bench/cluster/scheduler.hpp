// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace underlap::bench {

/// What a command said, both streams as they came, and how it ended.
struct Said {
  int exit_code = 0;  ///< 128 + signal where one ended it
  std::string text;
};

/// Runs a program that PATH has, and waits for its end. nullopt where there is none of that name. Throws MachineError
/// where it cannot be started.
std::optional<Said> run_command(const std::vector<std::string>& words);

/// A job as Slurm knows it.
struct JobState {
  std::string state;   ///< PENDING, RUNNING, COMPLETED, TIMEOUT, NODE_FAIL, ...
  std::string reason;  ///< why it waits: Resources, Priority, ...; may be empty
  std::string nodes;   ///< node[1-4]; empty while it waits
};

/// Hands a job script to Slurm (`sbatch`). Returns the job's number. Throws std::invalid_argument where this machine
/// has no Slurm and where Slurm refuses the script, with what it said.
std::string submit_to_slurm(const std::filesystem::path& script);

/// What Slurm says of a job (`squeue`, and once it is over `sacct` where the cluster keeps accounts); nullopt where it
/// says nothing, or this machine has no Slurm.
std::optional<JobState> state_of_job(const std::string& job);

/// The tasks of a job array that Slurm still has, waiting or running, by number (`squeue`); nullopt where it says
/// nothing, or this machine has no Slurm.
std::optional<std::map<std::size_t, JobState>> states_of_tasks(const std::string& job);

}  // namespace underlap::bench
