// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "impl/plan/plan.hpp"

namespace underlap::bench {

/// Where one launched rank runs, and which part of the machine its launcher left it.
struct RankPlace {
  std::string node;
  std::int32_t local_rank = 0;       ///< among the ranks of its node
  std::string address = {};          ///< of its node, for ranks on other nodes
  std::string cpus = {};             ///< that it may use, in the kernel's list format: "0-3,8"
  std::string numa_nodes = {};       ///< that those CPUs are on: "0,1"; empty if unknown
  std::string visible_devices = {};  ///< CUDA_VISIBLE_DEVICES; empty: not set
  std::int64_t pid = 0;
  std::string clock = {};  ///< identifies its steady clock: equal for two ranks with the same clock
};

/// Placement of the ranks that a launcher started.
struct Placement {
  std::string launcher;
  std::vector<RankPlace> ranks;

  /// How many of the first `num_ranks` ranks share the node and the CPUs of `rank`.
  std::int32_t num_sharing(std::int32_t rank, std::int32_t num_ranks) const;
  /// The processes on rank 0's node that share its CPUs, without rank 0's own.
  std::vector<std::int64_t> processes_beside_rank_zero() const;
  /// On how many nodes the first `num_ranks` ranks run.
  std::int32_t num_nodes(std::int32_t num_ranks) const;
};

/// Place of this process: cpus, numa_nodes, visible_devices and pid, and its node.
RankPlace own_place();

/// Fills in what no launcher provided: local ranks by node and rank, and one address for all ranks of a node. The
/// address is the loopback if there is one node, else the first that is not a loopback address.
void complete(Placement& placement, const std::vector<std::optional<std::int32_t>>& said_local_ranks);

/// How many CPUs a kernel list names: 5 for "0-3,8"; 0 if the list is invalid.
std::int32_t num_cpus(const std::string& list);

/// The NUMA nodes of the CPUs in a kernel list; `nodes` is the kernel's folder of nodes.
std::string numa_nodes_of(const std::string& cpus, const std::filesystem::path& nodes = "/sys/devices/system/node");

/// The NUMA node of a PCI device ("0000:1B:00.0"); `devices` is the kernel's folder of devices. nullopt if the kernel
/// does not know, as in most virtual machines.
std::optional<std::int32_t> numa_node_of_device(const std::string& pci_bus_id,
                                                const std::filesystem::path& devices = "/sys/bus/pci/devices");

/// A warning for a rank whose CPUs, on these NUMA nodes ("0,1"), are all on other nodes than its GPU: launches and
/// copies cross between them. Empty if one is near, or if the placement is unknown.
std::string far_gpu_warning(const std::string& cpu_nodes, std::optional<std::int32_t> gpu_node);

/// A warning for launchers that bound a rank to one CPU, as mpirun does: its compute and its communication share that
/// CPU, so nothing can overlap. Empty if no rank has a single CPU.
std::string one_cpu_warning(const Placement& placement, std::int32_t num_ranks);

/// A warning for a cell whose tensor-parallel groups cross nodes: links between nodes are the slowest, and every layer
/// waits for them. Empty if no group does.
std::string tensor_parallel_warning(const plan::Cell& cell, const Placement& placement);

}  // namespace underlap::bench
