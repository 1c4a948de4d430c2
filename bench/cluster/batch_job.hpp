// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace underlap::bench {

/// What `underlap submit` asks a scheduler for.
struct BatchJob {
  std::string name;              ///< of the job
  std::filesystem::path folder;  ///< of the run, absolute; the script and what the job prints go there
  std::vector<std::string> run;  ///< program and arguments of the run, as a shell would have them
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
std::string job_script(const BatchJob& job);

/// What was submitted from a run's folder: job.json, schema underlap.job/1.
struct SubmittedJob {
  std::string job;  ///< Slurm's number of the last submission
  std::int32_t nodes = 0;
  std::int32_t ranks_per_node = 0;
  std::int64_t submitted_s = 0;  ///< Unix time
};

/// Writes it. Throws MachineError where it cannot be written.
void write_job(const std::filesystem::path& folder, const SubmittedJob& job);

/// Reads it; nullopt where there is none. Throws std::invalid_argument, naming the file, for what is no such thing.
std::optional<SubmittedJob> read_job(const std::filesystem::path& folder);

/// `word` as a shell takes it.
std::string shell_word(const std::string& word);

}  // namespace underlap::bench
