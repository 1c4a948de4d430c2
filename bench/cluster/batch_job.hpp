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

/// Options of `underlap submit` for the scheduler.
struct BatchJob {
  std::string name;              ///< of the job
  std::filesystem::path folder;  ///< run folder, absolute; the script and the job's output are written there
  std::vector<std::string> run;  ///< program and arguments of the run, unquoted
  /// Cells that each run as one task of a job array, with their own allocation and run folder: cell names by task
  /// number. Empty: one allocation runs the whole matrix.
  std::map<std::size_t, std::string> tasks = {};
  std::int32_t nodes = 1;
  std::int32_t ranks_per_node = 1;
  std::int32_t gpus_per_node = 0;  ///< 0: none requested
  std::int32_t cpus_per_rank = 0;  ///< 0: the cluster's default
  std::string partition;           ///< empty: the cluster's default
  std::string account;             ///< likewise
  std::string time;                ///< as Slurm writes it, 02:00:00; empty: the partition's own limit
  std::int32_t warn_s = 120;       ///< how many seconds before its time limit the run is warned that it has to end
  bool requeues = true;            ///< restart the job after a rank or node failure, or after preemption
  std::vector<std::string> more;   ///< further options of sbatch, passed unchanged: --constraint=h100
};

/// The job script: readable, and safe to submit again unchanged. Every start resumes where the previous one ended.
/// Throws std::invalid_argument for an option with a control character.
std::string job_script(const BatchJob& job);

/// A submitted job, stored in its run folder as job.json, schema underlap.job/1.
struct SubmittedJob {
  std::string job;  ///< Slurm's number of the last submission
  std::int32_t nodes = 0;
  std::int32_t ranks_per_node = 0;
  std::int64_t submitted_s = 0;         ///< Unix time
  std::vector<std::string> cells = {};  ///< of a job array, one per task, by task number; empty: one allocation
  std::int32_t blocks = 0;              ///< of an array: planned for every cell
  std::string command = {};             ///< of an array: the shell command that submitted it
  /// Of an array: settings that the command line changed in the configuration, by dotted path
  std::vector<std::pair<std::string, std::string>> overrides = {};
};

/// The run folder of one task of an array, with what `underlap run` writes for that cell.
std::filesystem::path task_folder(const std::filesystem::path& folder, std::size_t task);

/// Exit code of a task's script, which the script writes to its folder unless it will restart; nullopt if it has not
/// ended, or ended without writing one.
std::optional<int> exit_code_of_task(const std::filesystem::path& folder, std::size_t task);
/// Removes that exit code, before the task is submitted again.
void forget_exit_code(const std::filesystem::path& folder, std::size_t task);

/// Writes job.json. Throws MachineError if that fails.
void write_job(const std::filesystem::path& folder, const SubmittedJob& job);

/// Reads job.json; nullopt if there is none. Throws std::invalid_argument, naming the file, if it is invalid.
std::optional<SubmittedJob> read_job(const std::filesystem::path& folder);

/// `word`, quoted for a shell.
std::string shell_word(const std::string& word);

/// A shell command of these words.
std::string shell_words(const std::vector<std::string>& words);

}  // namespace underlap::bench
