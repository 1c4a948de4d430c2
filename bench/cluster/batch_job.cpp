// SPDX-License-Identifier: Apache-2.0
#include "bench/cluster/batch_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "platform/atomic_file.hpp"
#include "platform/fields/json_fields.hpp"

namespace underlap::bench {
namespace {

using fields::PresentIf;

constexpr const char* kSchema = "underlap.job/1";
constexpr int kMostRestarts = 3;
constexpr const char* kTasks = "cells";
constexpr const char* kExitCode = "exit_code";
constexpr std::size_t kMostBytes = 1 << 20;

std::filesystem::path file_of(const std::filesystem::path& folder) { return folder / "job.json"; }

std::string array_text(const std::map<std::size_t, std::string>& tasks) {
  std::string text;
  for (const auto& [task, cell] : tasks) text += (text.empty() ? "" : ",") + std::to_string(task);
  return text;
}

// A line break would end an option, and begin a command of the script.
const std::string& one_line(const std::string& words) {
  if (std::ranges::any_of(words, [](unsigned char c) { return c < ' ' || c == 0x7F; }))
    throw std::invalid_argument(
        fmt::format("a job script cannot contain control characters: {}", json_text(fields::Json(words))));
  return words;
}

// What tasks have that one allocation has not: the cell of this one, and a folder for it.
std::string choose_task(const BatchJob& job) {
  std::string text = "\ncells=(";
  for (const auto& [task, cell] : job.tasks) text += fmt::format("\n  [{}]={}", task, shell_word(cell));
  return text + fmt::format(
                    "\n)\n"
                    "folder={}/$SLURM_ARRAY_TASK_ID\n"
                    "mkdir -p \"$folder\"\n"
                    "rm -f \"$folder/{}\"\n",
                    shell_word((job.folder / kTasks).string()), kExitCode);
}

// Whichever task is the last one to end makes one run of all.
std::string end_task(const BatchJob& job) {
  return fmt::format(
      "echo $code >\"$folder/{}\"\n"
      "{} merge {}\n",
      kExitCode, shell_word(job.run.front()), shell_word(job.folder.string()));
}

}  // namespace

std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain = "%+,-./0123456789:=@ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

std::string shell_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + shell_word(word);
  return text;
}

std::string job_script(const BatchJob& job) {
  std::string text =
      "#!/bin/bash\n# Underlap run. If submitted again (sbatch job.sh), it continues after its last finished block.\n";
  const bool is_array = !job.tasks.empty();
  const auto option = [&](const std::string& words) { text += "#SBATCH " + one_line(words) + "\n"; };
  option("--job-name=" + job.name);
  if (is_array) option("--array=" + array_text(job.tasks));
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
  option(fmt::format("--output=\"{}\"", (job.folder / (is_array ? "job-%A_%a.txt" : "job-%j.txt")).string()));
  for (const std::string& more : job.more) option(more);
  if (is_array) text += choose_task(job);
  text +=
      fmt::format("\nsrun --ntasks-per-node={} --kill-on-bad-exit=1 {}{}\n", job.ranks_per_node, shell_words(job.run),
                  is_array ? " --cell \"${cells[$SLURM_ARRAY_TASK_ID]}\" -o \"$folder\"" : "");
  if (!job.requeues && !is_array) return text;
  text += "code=$?\n";
  // Slurm itself requeues only where it misses a node before the run does.
  if (job.requeues)
    text += fmt::format(
        "# Restart after a failed rank or node (not after success, differing losses, bad input or the time limit).\nif "
        "[ $code -ge 3 ] && [ $code -ne 143 ] && [ \"${{SLURM_RESTART_COUNT:-0}}\" -lt {} ]; then\n  scontrol requeue "
        "\"$SLURM_JOB_ID\" && exit $code\nfi\n",
        kMostRestarts);
  if (is_array) text += end_task(job);
  return text + "exit $code\n";
}

void visit_fields(fields::Is<SubmittedJob> auto& job, auto&& field) {
  bool is_array = !job.cells.empty();
  field("job", job.job);
  field("nodes", job.nodes);
  field("ranks_per_node", job.ranks_per_node);
  field("submitted_unix_s", job.submitted_s);
  field("cells", PresentIf{job.cells, is_array});
  field("blocks", PresentIf{job.blocks, is_array});
  field("command", PresentIf{job.command, is_array});
  field("overrides", PresentIf{job.overrides, is_array});
}

void write_job(const std::filesystem::path& folder, const SubmittedJob& job) {
  write_file_atomically(file_of(folder), fields::document_text(kSchema, job));
}

// {"schema": "underlap.job/1", "job": "17", "nodes": 2, "ranks_per_node": 8, "submitted_unix_s": 1764270142}
std::optional<SubmittedJob> read_job(const std::filesystem::path& folder) {
  const std::filesystem::path file = file_of(folder);
  if (!std::filesystem::exists(std::filesystem::symlink_status(file))) return std::nullopt;
  return fields::read_document<SubmittedJob>(kSchema, file, {.bytes = kMostBytes});
}

std::filesystem::path task_folder(const std::filesystem::path& folder, std::size_t task) {
  return folder / kTasks / std::to_string(task);
}

// The file holds "0".
std::optional<int> exit_code_of_task(const std::filesystem::path& folder, std::size_t task) {
  std::ifstream file(task_folder(folder, task) / kExitCode);
  int code = 0;
  return file >> code ? std::optional(code) : std::nullopt;
}

void forget_exit_code(const std::filesystem::path& folder, std::size_t task) {
  std::error_code ignored;
  std::filesystem::remove(task_folder(folder, task) / kExitCode, ignored);
}

}  // namespace underlap::bench
