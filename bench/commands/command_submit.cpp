// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "bench/cluster/batch_job.hpp"
#include "bench/cluster/scheduler.hpp"
#include "bench/cluster/state_of_run.hpp"
#include "bench/commands/commands.hpp"
#include "bench/commands/config_input.hpp"
#include "bench/commands/run_fields.hpp"
#include "bench/ranks/rank_runner.hpp"
#include "platform/atomic_file.hpp"
#include "platform/errors.hpp"
#include "platform/exit_code.hpp"
#include "platform/flag_values.hpp"

namespace underlap::bench {
namespace {

namespace fs = std::filesystem;

struct SubmitArguments {
  std::string config;
  std::string folder;
  RunFields fields;
  BatchJob job;
  bool resume = false;
  bool no_requeue = false;
  bool dry_run = false;
};

std::int32_t largest_tensor_group(const plan::Matrix& matrix) {
  std::int32_t size = 1;
  for (const plan::Cell& cell : matrix.cells)
    size = std::max(size, cell.plan.config.parallel.tensor_model_parallel_size);
  return size;
}

// One rank a GPU; without GPUs as many as spread the largest cell over the nodes.
void settle_ranks(const plan::Matrix& matrix, BatchJob& job) {
  const plan::RunConfig& run = matrix.cells.front().plan.config.run;
  if (!run.traits().measures_time)
    throw std::invalid_argument("run.backend sim needs no cluster: one process computes virtual time, `underlap run`");
  if (run.traits().runs_on_gpus && job.gpus_per_node == 0)
    throw std::invalid_argument("run.backend cuda: say --gpus-per-node N, one rank runs on each");
  const std::int32_t ranks = world_size(matrix.cells);
  if (job.ranks_per_node == 0)
    job.ranks_per_node = run.traits().runs_on_gpus ? job.gpus_per_node : (ranks + job.nodes - 1) / job.nodes;
  const std::int64_t asked = std::int64_t{job.nodes} * job.ranks_per_node;
  if (asked < ranks)
    throw std::invalid_argument(fmt::format(
        "the largest cell has {} ranks, and --nodes {} with {} on each gives {}: ask for more (--nodes, {})", ranks,
        job.nodes, job.ranks_per_node, asked, run.traits().runs_on_gpus ? "--gpus-per-node" : "--ranks-per-node"));
  if (asked > ranks)
    fmt::print(stderr, "note: {} of {} ranks will be idle: the largest cell has {}\n", asked - ranks, asked, ranks);
  if (const std::int32_t group = largest_tensor_group(matrix); group > job.ranks_per_node)
    fmt::print(stderr,
               "note: tensor-parallel groups of {} cross nodes of {} ranks: their transfers take the network between "
               "nodes\n",
               group, job.ranks_per_node);
}

std::string absolute(const std::string& path) { return fs::absolute(path).lexically_normal().string(); }

// What the folder holds already.
void check_folder(const SubmitArguments& arguments) {
  const fs::path folder = arguments.job.folder;
  const bool is_run = fs::exists(folder / "results.json") || fs::exists(folder / "job.json");
  if (!is_run) return;
  if (!arguments.resume)
    throw std::invalid_argument(
        fmt::format("{} holds a run already: --resume goes on with it, -o DIR takes another folder", folder.string()));
  const StateOfRun state = state_of_run(folder);
  if (state.stage == StateOfRun::Stage::running || state.stage == StateOfRun::Stage::waiting)
    throw std::invalid_argument(fmt::format("{} has a run that is {}{}: underlap status {} says more", folder.string(),
                                            to_string(state.stage), state.job ? " as job " + state.job->job : "",
                                            folder.string()));
}

/// Takes back what was written into a run's folder, unless the job was submitted.
class Written {
 public:
  explicit Written(fs::path folder) : folder_(std::move(folder)) {
    std::error_code error;
    is_new_ = fs::create_directories(folder_, error);
    if (error) throw MachineError(fmt::format("cannot make {}: {}", folder_.string(), error.message()));
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

int submit(const SubmitArguments& arguments, const plan::Matrix& matrix, const std::string& script) {
  const BatchJob& job = arguments.job;
  if (!run_command({"sbatch", "--version"}))
    throw std::invalid_argument(
        "there is no Slurm on this machine (sbatch); --dry-run prints the job script, for a machine that has one");
  check_folder(arguments);
  Written written(job.folder);
  write_file_atomically(job.folder / "config.yaml", matrix.source.yaml);
  write_file_atomically(job.folder / "job.sh", script);
  const std::string number = submit_to_slurm(job.folder / "job.sh");
  written.keep();
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  write_job(job.folder, {.job = number,
                         .nodes = job.nodes,
                         .ranks_per_node = job.ranks_per_node,
                         .submitted_s = std::chrono::duration_cast<std::chrono::seconds>(now).count()});
  fmt::print("job {} is submitted: --nodes {}, {} ranks on each\nscript:  {}\nstatus:  underlap status {}\n", number,
             job.nodes, job.ranks_per_node, (job.folder / "job.sh").string(), shell_word(arguments.folder));
  return kWell;
}

int run_submit(SubmitArguments arguments) {
  const plan::Matrix matrix = read_matrix(arguments.config, overrides_of(arguments.fields));
  if (matrix.has_errors()) {
    print_errors(matrix);
    return kBadInput;
  }
  if (arguments.folder.empty()) {
    if (arguments.resume) throw std::invalid_argument("--resume needs -o DIR, the folder of the run to go on with");
    arguments.folder = default_folder(arguments.config);
  }
  BatchJob& job = arguments.job;
  settle_ranks(matrix, job);
  job.folder = absolute(arguments.folder);
  job.name = "underlap-" + fs::path(arguments.config).stem().string();
  job.requeues = !arguments.no_requeue;
  job.run = {fs::read_symlink("/proc/self/exe").string(),
             "run",
             (job.folder / "config.yaml").string(),
             "-o",
             job.folder.string(),
             "--resume"};
  for (std::string& flag : flags_of(arguments.fields)) job.run.push_back(std::move(flag));
  const std::string script = job_script(job);
  if (!arguments.dry_run) return submit(arguments, matrix, script);
  fmt::print("{}", script);
  return kWell;
}

}  // namespace

void add_submit_command(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<SubmitArguments>();
  arguments->job.ranks_per_node = 0;
  BatchJob& job = arguments->job;
  CLI::App* command = app.add_subcommand("submit", "Hand a matrix to Slurm: write its job script, and submit it");
  add_config(*command, arguments->config);
  command->add_option("--nodes", job.nodes, "nodes of the cluster")->required()->check(CLI::Range(1, 100'000));
  command->add_option("--gpus-per-node", job.gpus_per_node, "GPUs of each; with backend cuda one rank runs on each")
      ->check(CLI::Range(1, 1024));
  command
      ->add_option("--ranks-per-node", job.ranks_per_node,
                   "ranks of each (default: its GPUs, or as many as spread the largest cell over all nodes)")
      ->check(CLI::Range(1, 100'000));
  command->add_option("--cpus-per-rank", job.cpus_per_rank, "processors of each rank")->check(CLI::Range(1, 100'000));
  command->add_option("--partition", job.partition, "of the cluster")->check(not_empty());
  command->add_option("--account", job.account, "that is charged")->check(not_empty());
  command->add_option("--time", job.time, "how long it may take, as Slurm writes it: 02:00:00")->check(not_empty());
  command
      ->add_option("--warn-s", job.warn_s,
                   "how long before that it hears of it, in seconds, and ends behind the block that is going")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command->add_option("--sbatch", job.more, "a further option of sbatch, as it is: --sbatch=--constraint=h100");
  command->add_flag("--no-requeue", arguments->no_requeue,
                    "do not begin again after a rank or a node failed, or the job had to make room");
  command
      ->add_option("-o,--output", arguments->folder,
                   "folder of the run, which all nodes see (default: a new one under results/runs)")
      ->check(not_empty());
  command->add_flag("--resume", arguments->resume, "submit it again, to go on after the folder's last finished block");
  command->add_flag("--dry-run", arguments->dry_run, "print the job script, write and submit nothing");
  add_run_fields(*command, arguments->fields);
  command->footer(
      "The script, job.sh in the folder, starts `underlap run --resume` by srun: submitted again it goes on.\n\n"
      "Example: underlap submit quick --nodes 2 --ranks-per-node 2 --partition debug -o out\n"
      "         underlap submit llama.yaml --nodes 4 --gpus-per-node 8 --time 02:00:00 --dry-run\n"
      "         underlap status out");
  command->callback([arguments, &exit_code] { exit_code = run_submit(*arguments); });
}

}  // namespace underlap::bench
