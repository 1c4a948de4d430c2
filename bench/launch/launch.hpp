// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bench/launch/launch_environment.hpp"

namespace underlap::bench {

/// This process's place among those that a launcher (mpirun, srun, torchrun) started as one program.
struct Launch {
  std::string launcher;   ///< "Open MPI", "PMI", "Slurm", "torchrun"
  std::int32_t rank = 0;  ///< of `size`
  std::int32_t size = 1;
  std::optional<std::int32_t> local_rank = {};  ///< among those of its node, if the launcher provides it
  std::string job = {};         ///< shared by all of these processes and no others, as far as the launcher provides it
  std::string address = {};     ///< of the machine of rank 0, if the launcher provides it
  bool is_on_one_node = false;  ///< all processes are on one node, according to the launcher
};

/// Reads the variables that launchers set, in this order: torchrun's if it started this process itself
/// (TORCHELASTIC_RUN_ID), MPI's, those of a Slurm step, torchrun's. Uses the first launcher that started several
/// processes; nullopt if none did. In a Slurm batch script or allocation no step is set, so there is no launch. An
/// empty `read` reads this process's environment. Throws std::invalid_argument naming the variables if one is not a
/// number, if its counterpart is missing, or if a rank is out of range. Fails when an outer launcher, which did
/// not start this process as a rank, left its variables: the process then waits for ranks that do not come.
std::optional<Launch> read_launch(const ReadVariable& read = {});

/// The name of this machine: Slurm's name for it, else the host's.
std::string node_name(const ReadVariable& read = {});

}  // namespace underlap::bench
