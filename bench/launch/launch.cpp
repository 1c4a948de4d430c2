// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/launch.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <stdexcept>

#include "platform/text/digits.hpp"

namespace underlap::bench {
namespace {

/// The variables of one kind of launcher. If there are several names, the first one set is used.
struct LauncherVariables {
  const char* launcher;
  const char* only_with = nullptr;  ///< used only if this variable is a number; null: always
  std::vector<const char*> rank, size;
  const char* local_rank;
  const char* local_size = nullptr;  ///< number of processes on this node
  const char* num_nodes = nullptr;
  std::vector<const char*> job;
  const char* address = nullptr;
};

const LauncherVariables& torchrun() {
  static const LauncherVariables variables{.launcher = "torchrun",
                                           .rank = {"RANK"},
                                           .size = {"WORLD_SIZE"},
                                           .local_rank = "LOCAL_RANK",
                                           .local_size = "LOCAL_WORLD_SIZE",
                                           .job = {"TORCHELASTIC_RUN_ID", "MASTER_PORT"},
                                           .address = "MASTER_ADDR"};
  return variables;
}

// Checked with Open MPI 4.1 and Slurm 22.05; MPI_LOCALRANKID is set by MPICH and Intel MPI. PMIx alone does not provide
// the number of processes; srun --mpi=pmix provides it as a Slurm step.
const std::vector<LauncherVariables>& launchers() {
  static const std::vector<LauncherVariables> all{{.launcher = "Open MPI",
                                                   .rank = {"OMPI_COMM_WORLD_RANK"},
                                                   .size = {"OMPI_COMM_WORLD_SIZE"},
                                                   .local_rank = "OMPI_COMM_WORLD_LOCAL_RANK",
                                                   .local_size = "OMPI_COMM_WORLD_LOCAL_SIZE",
                                                   .job = {"PMIX_NAMESPACE", "OMPI_MCA_orte_ess_jobid"}},
                                                  {.launcher = "PMI",
                                                   .rank = {"PMI_RANK"},
                                                   .size = {"PMI_SIZE"},
                                                   .local_rank = "MPI_LOCALRANKID",
                                                   .local_size = "MPI_LOCALNRANKS",
                                                   .job = {"PMI_JOBID", "SLURM_JOB_ID"}},
                                                  {.launcher = "Slurm",
                                                   .only_with = "SLURM_STEP_ID",
                                                   .rank = {"SLURM_PROCID"},
                                                   .size = {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
                                                   .local_rank = "SLURM_LOCALID",
                                                   .num_nodes = "SLURM_STEP_NUM_NODES",
                                                   .job = {"SLURM_JOB_ID", "SLURM_STEP_ID"}},
                                                  torchrun()};
  return all;
}

struct Variable {
  std::string name, value;
};

std::optional<Variable> first_of(const std::vector<const char*>& names, const ReadVariable& read) {
  for (const char* name : names)
    if (auto value = read(name)) return Variable{name, *value};
  return std::nullopt;
}

std::optional<std::int32_t> number_in(std::string_view text) {
  const auto number = parse_number<std::int32_t>(text);
  return number && *number >= 0 ? number : std::nullopt;
}

std::int32_t number_of(const Variable& variable) {
  if (const auto number = number_in(variable.value)) return *number;
  throw std::invalid_argument(
      fmt::format("{} is '{}' in the environment, but a launcher sets a whole number from 0\n  unset {} if no launcher "
                  "started this process",
                  variable.name, variable.value, variable.name));
}

[[noreturn]] void refuse_half(const LauncherVariables& variables, const std::string& set, const char* missing) {
  throw std::invalid_argument(
      fmt::format("{} is set in the environment but {} is not: {} sets both\n  unset {} if it did not start this "
                  "process, or set {} too",
                  set, missing, variables.launcher, set, missing));
}

std::string job_of(const LauncherVariables& variables, const ReadVariable& read) {
  std::string job = variables.launcher;
  for (const char* name : variables.job)
    if (const auto value = read(name)) job += " " + *value;
  return job;
}

bool is_on_one_node(const LauncherVariables& variables, std::int32_t size, const ReadVariable& read) {
  const auto is = [&](const char* name, std::int32_t number) {
    return name != nullptr && number_in(read(name).value_or("")) == number;
  };
  return is(variables.local_size, size) || is(variables.num_nodes, 1);
}

std::optional<Launch> launch_by(const LauncherVariables& variables, const ReadVariable& read) {
  if (variables.only_with != nullptr && !number_in(read(variables.only_with).value_or(""))) return std::nullopt;
  const std::optional<Variable> rank = first_of(variables.rank, read);
  const std::optional<Variable> size = first_of(variables.size, read);
  if (!rank && !size) return std::nullopt;
  if (!rank) refuse_half(variables, size->name, variables.rank.front());
  if (!size) refuse_half(variables, rank->name, variables.size.front());
  Launch launch{.launcher = variables.launcher, .rank = number_of(*rank), .size = number_of(*size)};
  if (launch.rank >= launch.size)
    throw std::invalid_argument(fmt::format(
        "{} is {} and {} is {} in the environment: ranks start at 0\n  unset both if {} did not start this process",
        rank->name, launch.rank, size->name, launch.size, variables.launcher));
  if (const auto local = read(variables.local_rank)) launch.local_rank = number_of({variables.local_rank, *local});
  if (launch.local_rank.value_or(0) >= launch.size)
    throw std::invalid_argument(
        fmt::format("{} is {} and {} is {} in the environment: a local rank must be less than the number of ranks",
                    variables.local_rank, *launch.local_rank, size->name, launch.size));
  launch.is_on_one_node = is_on_one_node(variables, launch.size, read);
  launch.job = job_of(variables, read);
  if (variables.address != nullptr) launch.address = read(variables.address).value_or("");
  return launch;
}

}  // namespace

std::optional<Launch> read_launch(const ReadVariable& given) {
  const ReadVariable read = given ? given : own_variable;
  if (read("TORCHELASTIC_RUN_ID"))
    if (auto launch = launch_by(torchrun(), read); launch && launch->size > 1) return launch;
  bool is_alone = false;
  for (const LauncherVariables& variables : launchers()) {
    auto launch = launch_by(variables, read);
    if (launch && launch->size > 1) return launch;
    is_alone = is_alone || launch;
  }
  if (read("PMIX_RANK") && !is_alone)
    throw std::invalid_argument(
        "PMIX_RANK is set in the environment, but no variable has the number of ranks: Open MPI sets "
        "OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE\n  unset PMIX_RANK if no launcher started this process");
  return std::nullopt;
}

std::string node_name(const ReadVariable& given) {
  const ReadVariable read = given ? given : own_variable;
  if (const auto name = read("SLURMD_NODENAME")) return *name;
  utsname names{};
  return ::uname(&names) == 0 ? names.nodename : "this machine";
}

}  // namespace underlap::bench
