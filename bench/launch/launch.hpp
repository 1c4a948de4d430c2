// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bench/launch/launch_environment.hpp"

namespace underlap::bench {

/// Who this process is among those that a launcher (mpirun, srun, torchrun) started as one program.
struct Launch {
  std::string launcher;   ///< "Open MPI", "PMI", "Slurm", "torchrun"
  std::int32_t rank = 0;  ///< of `size`
  std::int32_t size = 1;
  std::optional<std::int32_t> local_rank = {};  ///< among those of its node, where the launcher says it
  std::string job = {};         ///< what all of them share and no others have, as far as the launcher says it
  std::string address = {};     ///< of the machine of rank 0, where the launcher says it
  bool is_on_one_node = false;  ///< all processes are, as the launcher says
};

/// Reads the variables that launchers set, in this order: torchrun's where it says that it started this process itself
/// (TORCHELASTIC_RUN_ID), MPI's, those of a Slurm step, torchrun's. The first that started several processes counts;
/// nullopt where none did. In a Slurm batch script or allocation no step is set, and so no launch.
/// An empty `read` reads this process's environment. Throws std::invalid_argument naming the variables where one is no
/// number, its other half is missing, or a rank is not among as many.
std::optional<Launch> read_launch(const ReadVariable& read = {});

/// The name of this machine: what Slurm calls it, else the host's.
std::string node_name(const ReadVariable& read = {});

}  // namespace underlap::bench
