// SPDX-License-Identifier: Apache-2.0
#include "bench/cluster/batch_job.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <string_view>

#include "platform/atomic_file.hpp"
#include "platform/input_file.hpp"
#include "platform/json.hpp"

namespace underlap::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "underlap.job/1";
constexpr int kMostRestarts = 3;
constexpr std::size_t kMostBytes = 1 << 20;

std::filesystem::path file_of(const std::filesystem::path& folder) { return folder / "job.json"; }

std::string command_text(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + shell_word(word);
  return text;
}

}  // namespace

std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain = "%+,-./0123456789:=@ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

std::string job_script(const BatchJob& job) {
  std::string text =
      "#!/bin/bash\n"
      "# A run of Underlap. Submitted again (sbatch job.sh), it goes on after its last finished block.\n";
  const auto option = [&](const std::string& words) { text += "#SBATCH " + words + "\n"; };
  option("--job-name=" + job.name);
  option(fmt::format("--nodes={}", job.nodes));
  option(fmt::format("--ntasks-per-node={}", job.ranks_per_node));
  if (job.gpus_per_node > 0) option(fmt::format("--gpus-per-node={}", job.gpus_per_node));
  if (job.cpus_per_rank > 0) option(fmt::format("--cpus-per-task={}", job.cpus_per_rank));
  if (!job.partition.empty()) option("--partition=" + job.partition);
  if (!job.account.empty()) option("--account=" + job.account);
  if (!job.time.empty()) option("--time=" + job.time);
  option(fmt::format("--signal=TERM@{}", job.warn_s));
  option(job.requeues ? "--requeue" : "--no-requeue");
  option("--open-mode=append");
  option(fmt::format("--output=\"{}\"", (job.folder / "job-%j.txt").string()));
  for (const std::string& more : job.more) option(more);
  text +=
      fmt::format("\nsrun --ntasks-per-node={} --kill-on-bad-exit=1 {}\n", job.ranks_per_node, command_text(job.run));
  if (!job.requeues) return text;
  // Slurm itself requeues only where it misses a node before the run does.
  return text + fmt::format(
                    "code=$?\n"
                    "# A rank or a node failed (not: all is well, losses differ, bad input, time is up): once more.\n"
                    "if [ $code -ge 3 ] && [ $code -ne 143 ] && [ \"${{SLURM_RESTART_COUNT:-0}}\" -lt {} ]; then\n"
                    "  scontrol requeue \"$SLURM_JOB_ID\"\n"
                    "fi\n"
                    "exit $code\n",
                    kMostRestarts);
}

void write_job(const std::filesystem::path& folder, const SubmittedJob& job) {
  const Json json = {{"schema", kSchema},
                     {"job", job.job},
                     {"nodes", job.nodes},
                     {"ranks_per_node", job.ranks_per_node},
                     {"submitted_unix_s", job.submitted_s}};
  write_file_atomically(file_of(folder), json_text(json, 1) + "\n");
}

std::optional<SubmittedJob> read_job(const std::filesystem::path& folder) {
  const std::filesystem::path file = file_of(folder);
  if (!std::filesystem::exists(std::filesystem::symlink_status(file))) return std::nullopt;
  try {
    const Json json = parse_json(read_input_file(file, kMostBytes));
    if (json.at("schema") != kSchema) throw std::invalid_argument(file.string() + ": its schema is not underlap.job/1");
    return SubmittedJob{.job = json.at("job"),
                        .nodes = json.at("nodes"),
                        .ranks_per_node = json.at("ranks_per_node"),
                        .submitted_s = json.at("submitted_unix_s")};
  } catch (const Json::exception& error) {
    throw std::invalid_argument(fmt::format("{}: no submitted job: {}", file.string(), error.what()));
  }
}

}  // namespace underlap::bench
