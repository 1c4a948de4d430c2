// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <regex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "bench/cluster/batch_job.hpp"
#include "bench/cluster/scheduler.hpp"
#include "bench/cluster/state_of_array.hpp"
#include "bench/cluster/state_of_run.hpp"
#include "bench/commands/commands.hpp"
#include "bench/commands/config_input.hpp"
#include "bench/commands/run_fields.hpp"
#include "bench/ranks/rank_runner.hpp"
#include "impl/plan/modes/mode_rules.hpp"
#include "platform/atomic_file.hpp"
#include "platform/errors.hpp"
#include "platform/exit_code.hpp"
#include "platform/flag_values.hpp"
#include "platform/text/output.hpp"
#include "profiler/report/run_folders.hpp"

namespace underlap::bench {
namespace {

namespace fs = std::filesystem;

struct SubmitArguments {
  std::string config;
  std::string folder;
  RunFields fields;
  BatchJob job;
  bool array = false;
  bool resume = false;
  bool no_requeue = false;
  bool dry_run = false;
};

std::int32_t most_sharing_weights(const plan::Matrix& matrix) {
  std::int32_t size = 1;
  for (const plan::Cell& cell : matrix.cells)
    size = std::max(size, plan::ranks_sharing(plan::Shared::weights, cell.plan.config.parallel));
  return size;
}

// One rank per GPU; without GPUs, enough ranks to spread the largest cell over the nodes.
void settle_ranks(const plan::Matrix& matrix, BatchJob& job) {
  const plan::RunConfig& run = matrix.cells.front().plan.config.run;
  if (!run.traits().measures_time)
    throw std::invalid_argument("run.backend sim needs no cluster: `underlap run` simulates in one process");
  if (run.traits().runs_on_gpus && job.gpus_per_node == 0)
    throw std::invalid_argument("run.backend cuda requires --gpus-per-node N; one rank runs on each");
  const std::int32_t ranks = world_size(matrix.cells);
  if (job.ranks_per_node == 0)
    job.ranks_per_node = run.traits().runs_on_gpus ? job.gpus_per_node : (ranks + job.nodes - 1) / job.nodes;
  const std::int64_t asked = std::int64_t{job.nodes} * job.ranks_per_node;
  if (asked < ranks)
    throw std::invalid_argument(fmt::format(
        "the largest cell has {} ranks, but --nodes {} with {} on each gives {}: request more (--nodes, {})", ranks,
        job.nodes, job.ranks_per_node, asked, run.traits().runs_on_gpus ? "--gpus-per-node" : "--ranks-per-node"));
  if (asked > ranks)
    print_error("note: {} of {} ranks will be idle: the largest cell has {}\n", asked - ranks, asked, ranks);
  if (const std::int32_t group = most_sharing_weights(matrix); group > job.ranks_per_node)
    print_error(
        "note: tensor-parallel groups of {} span nodes of {} ranks: their transfers use the network between nodes\n",
        group, job.ranks_per_node);
}

bool is_going(StateOfRun::Stage stage) {
  return stage == StateOfRun::Stage::running || stage == StateOfRun::Stage::waiting;
}

[[noreturn]] void refuse_going(const fs::path& folder, StateOfRun::Stage stage, const std::string& job) {
  throw std::invalid_argument(fmt::format("{} has a run that is {}{}: see underlap status {}", folder.string(),
                                          to_string(stage), job.empty() ? "" : " as job " + job, folder.string()));
}

// A single allocation cannot continue the folder of an array, nor the reverse.
void check_same_kind(const SubmitArguments& arguments, bool is_array) {
  if (arguments.array == is_array) return;
  throw std::invalid_argument(
      fmt::format("{} {}, or choose another folder with -o DIR", arguments.job.folder.string(),
                  is_array ? "was submitted as a job array: continue it with --array --resume"
                           : "contains a run in a single allocation, not a job array: continue it without --array"));
}

// The cells that lack blocks, by task number.
std::map<std::size_t, std::string> tasks_to_do(const SubmitArguments& arguments, const plan::Matrix& matrix) {
  const auto blocks = static_cast<std::int32_t>(matrix.cells.front().plan.config.run.blocks);
  auto state = arguments.resume ? state_of_array(arguments.job.folder) : std::nullopt;
  if (state && !std::ranges::equal(matrix.cells, state->job.cells, {}, &plan::Cell::name))
    throw std::invalid_argument(
        fmt::format("{} contains a job array with other cells than {}: choose another folder with -o DIR",
                    arguments.job.folder.string(), arguments.config));
  std::map<std::size_t, std::string> tasks;
  for (std::size_t i = 0; i < matrix.cells.size(); ++i)
    if (!state || !state->tasks[i].is_done() || state->tasks[i].run.blocks_done < blocks)
      tasks[i] = matrix.cells[i].name;
  return tasks;
}

void check_array(const SubmitArguments& arguments, const plan::Matrix& matrix) {
  if (matrix.cells.size() == 1)
    throw std::invalid_argument(
        fmt::format("--array runs each cell as a task, but {} has one cell: remove --array", arguments.config));
  if (arguments.fields.contains(plan::kOneCell))
    throw std::invalid_argument("--array runs every cell as a task; remove --cell");
  if (arguments.job.tasks.empty())
    throw std::invalid_argument(fmt::format("{} already has all blocks of all cells: request more with --blocks",
                                            arguments.job.folder.string()));
}

// Checks what the folder already holds.
void check_folder(const SubmitArguments& arguments) {
  const fs::path folder = arguments.job.folder;
  const bool is_run = report::find_results(folder) || fs::exists(folder / "job.json");
  if (!is_run) return;
  if (!arguments.resume)
    throw std::invalid_argument(fmt::format(
        "{} already contains a run: continue it with --resume, or choose another folder with -o DIR", folder.string()));
  const auto array = state_of_array(folder);
  check_same_kind(arguments, array.has_value());
  if (array && is_going(array->stage())) refuse_going(folder, array->stage(), array->job.job);
  if (array) return;
  const StateOfRun state = state_of_run(folder);
  if (is_going(state.stage)) refuse_going(folder, state.stage, state.job ? state.job->job : "");
}

/// Removes what was written into a run's folder, unless the job was submitted.
class Written {
 public:
  explicit Written(fs::path folder) : folder_(std::move(folder)) {
    std::error_code error;
    is_new_ = fs::create_directories(folder_, error);
    if (error) throw MachineError(fmt::format("cannot create {}: {}", folder_.string(), error.message()));
  }
  ~Written() {
    std::error_code ignored;
    if (!is_kept_ && is_new_) fs::remove_all(folder_, ignored);
  }
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;
  void keep() { is_kept_ = true; }

 private:
  fs::path folder_;
  bool is_new_ = false;
  bool is_kept_ = false;
};

// The shell command, valid in any folder.
std::string submit_command(const SubmitArguments& arguments) {
  const BatchJob& job = arguments.job;
  std::vector<std::string> words = {"underlap",
                                    "submit",
                                    (job.folder / "config.yaml").string(),
                                    "--array",
                                    "--resume",
                                    "-o",
                                    job.folder.string(),
                                    "--nodes",
                                    std::to_string(job.nodes),
                                    "--ranks-per-node",
                                    std::to_string(job.ranks_per_node)};
  const auto add = [&](const char* flag, const std::string& value) {
    if (!value.empty() && value != "0") words.insert(words.end(), {flag, value});
  };
  add("--gpus-per-node", std::to_string(job.gpus_per_node));
  add("--cpus-per-rank", std::to_string(job.cpus_per_rank));
  add("--partition", job.partition);
  add("--account", job.account);
  add("--time", job.time);
  for (const std::string& more : job.more) words.push_back("--sbatch=" + more);
  if (arguments.no_requeue) words.emplace_back("--no-requeue");
  for (std::string& flag : flags_of(arguments.fields)) words.push_back(std::move(flag));
  return shell_words(words);
}

void describe_array(const SubmitArguments& arguments, const plan::Matrix& matrix, SubmittedJob& job) {
  for (const plan::Cell& cell : matrix.cells) job.cells.push_back(cell.name);
  job.blocks = static_cast<std::int32_t>(matrix.cells.front().plan.config.run.blocks);
  job.command = submit_command(arguments);
  job.overrides = overrides_of(arguments.fields);
}

int submit(const SubmitArguments& arguments, const plan::Matrix& matrix, const std::string& script) {
  const BatchJob& job = arguments.job;
  if (!run_command({"sbatch", "--version"}))
    throw std::invalid_argument(
        "sbatch (Slurm) was not found on this machine; --dry-run prints the job script for a machine that has it");
  check_folder(arguments);
  Written written(job.folder);
  write_file_atomically(job.folder / "config.yaml", matrix.source.yaml);
  write_file_atomically(job.folder / "job.sh", script);
  for (const auto& [task, cell] : job.tasks) forget_exit_code(job.folder, task);
  const std::string number = submit_to_slurm(job.folder / "job.sh");
  written.keep();
  SubmittedJob submitted{
      .job = number, .nodes = job.nodes, .ranks_per_node = job.ranks_per_node, .submitted_s = unix_now()};
  if (arguments.array) describe_array(arguments, matrix, submitted);
  write_job(job.folder, submitted);
  print_text("submitted job {}{}: --nodes {}, {} ranks on each\nscript:  {}\nstatus:  underlap status {}\n", number,
             arguments.array ? fmt::format(", an array of {} tasks", job.tasks.size()) : "", job.nodes,
             job.ranks_per_node, (job.folder / "job.sh").string(), shell_word(arguments.folder));
  return kOk;
}

// Uses only letters that every scheduler accepts.
std::string job_name(const std::string& config) {
  std::string name = "underlap-" + fs::path(config).stem().string();
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0 && c != '_' && c != '.'; }, '-');
  return name;
}

// Minutes, MM:SS, HH:MM:SS, D-HH, D-HH:MM or D-HH:MM:SS. Source: sbatch(1).
CLI::Validator slurm_time() {
  return {[](std::string& value) {
            static const std::regex kTime(R"([0-9]+(:[0-9]+){0,2}|[0-9]+-[0-9]+(:[0-9]+){0,2})");
            return std::regex_match(value, kTime)
                       ? ""
                       : std::string("must be a time in Slurm's format, such as 02:00:00 or 1-12");
          },
          ""};
}

int run_submit(SubmitArguments arguments) {
  const plan::Matrix matrix = read_matrix(arguments.config, overrides_of(arguments.fields));
  if (matrix.has_errors()) {
    print_errors(matrix);
    return kBadInput;
  }
  if (arguments.folder.empty()) {
    if (arguments.resume) throw std::invalid_argument("--resume needs -o DIR, the folder of the run to continue");
    arguments.folder = default_folder(arguments.config);
  }
  BatchJob& job = arguments.job;
  settle_ranks(matrix, job);
  job.folder = fs::absolute(arguments.folder).lexically_normal();
  job.name = job_name(arguments.config);
  job.requeues = !arguments.no_requeue;
  job.run = {fs::read_symlink("/proc/self/exe").string(), "run", (job.folder / "config.yaml").string()};
  if (!arguments.array) job.run.insert(job.run.end(), {"-o", job.folder.string()});
  job.run.emplace_back("--resume");
  for (std::string& flag : flags_of(arguments.fields)) job.run.push_back(std::move(flag));
  if (arguments.array) {
    check_folder(arguments);
    job.tasks = tasks_to_do(arguments, matrix);
    check_array(arguments, matrix);
  }
  const std::string script = job_script(job);
  if (!arguments.dry_run) return submit(arguments, matrix, script);
  print_data(script);
  return kOk;
}

}  // namespace

void add_submit_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<SubmitArguments>();
  arguments->job.ranks_per_node = 0;
  BatchJob& job = arguments->job;
  CLI::App* command = app.add_subcommand("submit", "Write a job script for a matrix and submit it to Slurm");
  add_config(*command, arguments->config);
  command->add_option("--nodes", job.nodes, "number of nodes")->required()->check(CLI::Range(1, 100'000));
  command->add_option("--gpus-per-node", job.gpus_per_node, "GPUs per node; with backend cuda, one rank runs on each")
      ->check(CLI::Range(1, 1024));
  command
      ->add_option("--ranks-per-node", job.ranks_per_node,
                   "ranks per node (default: its GPUs, or enough to spread the largest cell over all nodes)")
      ->check(CLI::Range(1, 100'000));
  command->add_option("--cpus-per-rank", job.cpus_per_rank, "CPUs per rank")->check(CLI::Range(1, 100'000));
  command->add_option("--partition", job.partition, "Slurm partition")->check(one_word());
  command->add_option("--account", job.account, "Slurm account")->check(one_word());
  command->add_option("--time", job.time, "time limit in Slurm's format, such as 02:00:00")->check(slurm_time());
  command
      ->add_option("--warn-s", job.warn_s,
                   "seconds before the time limit at which Slurm signals the run to end after its current block")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command->add_option("--sbatch", job.more, "an additional sbatch option: --sbatch=--constraint=h100");
  command->add_flag("--no-requeue", arguments->no_requeue,
                    "do not restart after a failed rank or node, or after preemption");
  command
      ->add_option("-o,--output", arguments->folder,
                   "output folder, visible to all nodes (default: a new one under results/runs)")
      ->check(not_empty());
  command->add_flag("--array", arguments->array,
                    "run each cell as a task of a job array with its own allocation. Cells then do not alternate, so "
                    "comparisons between them are weaker");
  command->add_flag("--resume", arguments->resume,
                    "submit again, to continue after the last complete block in the folder");
  command->add_flag("--dry-run", arguments->dry_run, "print the job script; write and submit nothing");
  add_run_fields(*command, arguments->fields);
  command->footer(
      "The script (job.sh in the folder) starts `underlap run --resume` through srun,\nso a job that is submitted "
      "again continues.\n\nExample: underlap submit quick --nodes 2 --ranks-per-node 2 -o out\n         underlap "
      "submit llama.yaml --nodes 4 --gpus-per-node 8 --dry-run\n         underlap submit quick --array --nodes 2 "
      "--ranks-per-node 2 -o out\n         underlap status out");
  command->callback([arguments, &exit_code] { exit_code = run_submit(*arguments); });
}

}  // namespace underlap::bench
