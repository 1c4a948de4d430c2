// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace underlap::bench {

/// Output of a command, both streams interleaved, and its exit code.
struct Said {
  int exit_code = 0;  ///< 128 + signal if a signal ended it
  std::string text;
};

/// Runs a program found in PATH and waits for it. nullopt if there is no such program. Throws MachineError if it cannot
/// be started.
std::optional<Said> run_command(const std::vector<std::string>& words);

/// A job as Slurm knows it.
struct JobState {
  std::string state;   ///< PENDING, RUNNING, COMPLETED, TIMEOUT, NODE_FAIL, ...
  std::string reason;  ///< why it is pending: Resources, Priority, ...; may be empty
  std::string nodes;   ///< node[1-4]; empty while pending
};

/// Hands a job script to Slurm (`sbatch`). Returns the job's number. Throws std::invalid_argument if this machine has
/// no Slurm or if Slurm refuses the script, with Slurm's message.
std::string submit_to_slurm(const std::filesystem::path& script);

/// State of a job according to Slurm (`squeue`, and after its end `sacct` if the cluster keeps accounts); nullopt if
/// Slurm reports nothing, or this machine has no Slurm.
std::optional<JobState> state_of_job(const std::string& job);

/// The pending and running tasks of a job array, by number (`squeue`); nullopt if Slurm reports nothing, or this
/// machine has no Slurm.
std::optional<std::map<std::size_t, JobState>> states_of_tasks(const std::string& job);

}  // namespace underlap::bench
