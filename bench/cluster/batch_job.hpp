// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace underlap::bench {

/// What `underlap submit` asks a scheduler for.
struct BatchJob {
  std::string name;              ///< of the job
  std::filesystem::path folder;  ///< of the run, absolute; the script and what the job prints go there
  std::vector<std::string> run;  ///< program and arguments of the run, as a shell would have them
  /// Cells of which each is a task of a job array, with an allocation and a run folder of its own: names by the numbers
  /// of the tasks. Empty: one allocation runs the whole matrix.
  std::map<std::size_t, std::string> tasks = {};
  std::int32_t nodes = 1;
  std::int32_t ranks_per_node = 1;
  std::int32_t gpus_per_node = 0;  ///< 0: none are asked for
  std::int32_t cpus_per_rank = 0;  ///< 0: as many as the cluster gives
  std::string partition;           ///< empty: the cluster's own
  std::string account;             ///< likewise
  std::string time;                ///< as Slurm writes it, 02:00:00; empty: the partition's own limit
  std::int32_t warn_s = 120;       ///< how long before its limit the run hears that it has to end
  bool requeues = true;            ///< after a rank or a node failed, or the job had to make room, it begins again
  std::vector<std::string> more;   ///< further options of sbatch, as they are: --constraint=h100
};

/// The job script: readable, and good to be submitted again as it is. Every start goes on where the one before ended.
/// Throws std::invalid_argument for an option with a control character.
std::string job_script(const BatchJob& job);

/// What was submitted from a run's folder: job.json, schema underlap.job/1.
struct SubmittedJob {
  std::string job;  ///< Slurm's number of the last submission
  std::int32_t nodes = 0;
  std::int32_t ranks_per_node = 0;
  std::int64_t submitted_s = 0;         ///< Unix time
  std::vector<std::string> cells = {};  ///< of a job array, each a task of that number; empty: one allocation
  std::int32_t blocks = 0;              ///< of an array: that every cell is to have
  std::string command = {};             ///< of an array: what a shell submitted it with
  /// Of an array: what the command line set beside the configuration, by dotted path
  std::vector<std::pair<std::string, std::string>> overrides = {};
};

/// The run folder of one task of an array: what `underlap run` leaves of that cell alone.
std::filesystem::path task_folder(const std::filesystem::path& folder, std::size_t task);

/// How the script of a task ended, which it leaves in its folder when it does not begin again; nullopt where it has
/// not ended, or without a word.
std::optional<int> exit_code_of_task(const std::filesystem::path& folder, std::size_t task);
/// Takes that back, before the task is submitted again.
void forget_exit_code(const std::filesystem::path& folder, std::size_t task);

/// Writes it. Throws MachineError where it cannot be written.
void write_job(const std::filesystem::path& folder, const SubmittedJob& job);

/// Reads it; nullopt where there is none. Throws std::invalid_argument, naming the file, for what is no such thing.
std::optional<SubmittedJob> read_job(const std::filesystem::path& folder);

/// `word` as a shell takes it.
std::string shell_word(const std::string& word);

}  // namespace underlap::bench
