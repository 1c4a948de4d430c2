// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "impl/plan/plan.hpp"

namespace underlap::bench {

/// Where one launched rank runs, and what its launcher left it of the machine.
struct RankPlace {
  std::string node;
  std::int32_t local_rank = 0;       ///< among the ranks of its node
  std::string address = {};          ///< of its node, by which the others reach it
  std::string cpus = {};             ///< that it may use, as the kernel lists them: "0-3,8"
  std::string numa_nodes = {};       ///< that those CPUs are on: "0,1"; empty where the machine does not say
  std::string visible_devices = {};  ///< CUDA_VISIBLE_DEVICES; empty: not set
  std::int64_t pid = 0;
  std::string clock = {};  ///< which steady clock it has: equal where two ranks have the same
};

/// Where the ranks of a run are that a launcher started.
struct Placement {
  std::string launcher;
  std::vector<RankPlace> ranks;

  /// How many of the first `num_ranks` ranks have the node and the CPUs of `rank`.
  std::int32_t num_sharing(std::int32_t rank, std::int32_t num_ranks) const;
  /// The processes on rank 0's node, but its own, that have its CPUs.
  std::vector<std::int64_t> processes_beside_rank_zero() const;
  /// How many nodes the first `num_ranks` ranks are on.
  std::int32_t num_nodes(std::int32_t num_ranks) const;
};

/// Of this process: cpus, numa_nodes, visible_devices and pid, and its node.
RankPlace own_place();

/// Fills in what no launcher said: local ranks by node and rank; and one address for all ranks of a node: the loopback
/// where there is one node, else the first that is not the loopback's.
void complete(Placement& placement, const std::vector<std::optional<std::int32_t>>& said_local_ranks);

/// How many CPUs a list of the kernel's names: "0-3,8" are 5; 0 where it is none.
std::int32_t num_cpus(const std::string& list);

/// The numbers of the NUMA nodes that CPUs of the kernel's list are on; `nodes` is where the kernel tells of them.
std::string numa_nodes_of(const std::string& cpus, const std::filesystem::path& nodes = "/sys/devices/system/node");

/// The NUMA node of a PCI device ("0000:1B:00.0"); `devices` is where the kernel tells of them. Nullopt where it does
/// not, as in most virtual machines.
std::optional<std::int32_t> numa_node_of_device(const std::string& pci_bus_id,
                                                const std::filesystem::path& devices = "/sys/bus/pci/devices");

/// What is said of a rank whose CPUs, on these NUMA nodes ("0,1"), are all on others than its GPU's: launches and
/// copies between the two cross. Empty where one is near, or nothing is known.
std::string far_gpu_warning(const std::string& cpu_nodes, std::optional<std::int32_t> gpu_node);

/// What is said first where launchers bound ranks to one CPU each, as mpirun does: of ranks that compute and
/// communicate on CPUs nothing can overlap there. Empty where none is.
std::string one_cpu_warning(const Placement& placement, std::int32_t num_ranks);

/// What is said first of a cell whose tensor-parallel groups cross nodes: their links are the slowest there are, and
/// every layer waits for them. Empty where none does.
std::string tensor_parallel_warning(const plan::Cell& cell, const Placement& placement);

}  // namespace underlap::bench
