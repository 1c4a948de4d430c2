// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/placement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>

#include "bench/launch/launch.hpp"
#include "impl/plan/modes/mode_rules.hpp"

namespace underlap::bench {
namespace {

// "Cpus_allowed_list:\t0-3" of /proc/self/status.
std::string allowed_cpus() {
  constexpr std::string_view kKey = "Cpus_allowed_list:";
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(kKey)) continue;
    const std::size_t begin = line.find_first_not_of(" \t", kKey.size());
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

// Identifies the boot of one machine and the time namespace, which has a separate clock.
std::string own_clock() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  std::getline(file, boot);
  std::error_code none_there;
  return boot + " " + std::filesystem::read_symlink("/proc/self/ns/time", none_there).string();
}

// "0-3,8" as pairs of first and last.
std::vector<std::pair<int, int>> ranges_of(const std::string& list) {
  std::vector<std::pair<int, int>> ranges;
  std::istringstream texts(list);
  for (std::string text; std::getline(texts, text, ',');) {
    int first = 0, last = 0;
    const int found = std::sscanf(text.c_str(), "%d-%d", &first, &last);
    if (found == 1) last = first;
    if (found > 0 && last >= first) ranges.emplace_back(first, last);
  }
  return ranges;
}

constexpr const char* kLoopback = "127.0.0.1";

bool is_loopback(const std::string& address) { return address.starts_with("127.") || address == "::1"; }

}  // namespace

std::int32_t Placement::num_sharing(std::int32_t rank, std::int32_t num_ranks) const {
  const RankPlace& own = ranks[static_cast<std::size_t>(rank)];
  return static_cast<std::int32_t>(
      std::count_if(ranks.begin(), ranks.begin() + std::max(num_ranks, rank + 1),
                    [&](const RankPlace& place) { return place.node == own.node && place.cpus == own.cpus; }));
}

std::vector<std::int64_t> Placement::processes_beside_rank_zero() const {
  std::vector<std::int64_t> processes;
  for (const RankPlace& place : ranks)
    if (place.node == ranks.front().node && place.cpus == ranks.front().cpus && place.pid != ranks.front().pid)
      processes.push_back(place.pid);
  return processes;
}

std::int32_t Placement::num_nodes(std::int32_t num_ranks) const {
  std::set<std::string> nodes;
  for (std::size_t rank = 0; rank < std::min(ranks.size(), static_cast<std::size_t>(num_ranks)); ++rank)
    nodes.insert(ranks[rank].node);
  return static_cast<std::int32_t>(nodes.size());
}

RankPlace own_place() {
  const char* devices = std::getenv("CUDA_VISIBLE_DEVICES");
  const std::string cpus = allowed_cpus();
  return {.node = node_name(),
          .cpus = cpus,
          .numa_nodes = numa_nodes_of(cpus),
          .visible_devices = devices == nullptr ? "" : devices,
          .pid = ::getpid(),
          .clock = own_clock()};
}

void complete(Placement& placement, const std::vector<std::optional<std::int32_t>>& said_local_ranks) {
  std::map<std::string, std::int32_t> num_seen;
  std::map<std::string, std::string> addresses;
  for (std::size_t rank = 0; rank < placement.ranks.size(); ++rank) {
    RankPlace& place = placement.ranks[rank];
    place.local_rank = said_local_ranks[rank].value_or(num_seen[place.node]);
    ++num_seen[place.node];
    if (!is_loopback(place.address)) addresses.try_emplace(place.node, place.address);
  }
  for (RankPlace& place : placement.ranks) place.address = num_seen.size() > 1 ? addresses[place.node] : kLoopback;
}

std::int32_t num_cpus(const std::string& list) {
  std::int32_t count = 0;
  for (const auto& [first, last] : ranges_of(list)) count += last - first + 1;
  return count;
}

// node1/cpulist holds "16-31,48-63".
std::string numa_nodes_of(const std::string& cpus, const std::filesystem::path& nodes) {
  std::set<int> numbers;
  std::error_code none_there;
  for (const auto& entry : std::filesystem::directory_iterator(nodes, none_there)) {
    int number = 0;
    if (std::sscanf(entry.path().filename().c_str(), "node%d", &number) != 1) continue;
    std::ifstream file(entry.path() / "cpulist");
    std::string list;
    std::getline(file, list);
    for (const auto& [first, last] : ranges_of(list))
      for (const auto& [own_first, own_last] : ranges_of(cpus))
        if (own_first <= last && first <= own_last) numbers.insert(number);
  }
  return fmt::format("{}", fmt::join(numbers, ","));
}

// 0000:17:00.0/numa_node holds "1", or "-1" where the machine has no such nodes.
std::optional<std::int32_t> numa_node_of_device(const std::string& pci_bus_id, const std::filesystem::path& devices) {
  std::string name = pci_bus_id;
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::ifstream file(devices / name / "numa_node");
  std::int32_t node = -1;
  return file >> node && node >= 0 ? std::optional(node) : std::nullopt;
}

std::string far_gpu_warning(const std::string& cpu_nodes, std::optional<std::int32_t> gpu_node) {
  if (!gpu_node || cpu_nodes.empty()) return "";
  for (const auto& [first, last] : ranges_of(cpu_nodes))
    if (first <= *gpu_node && *gpu_node <= last) return "";
  return fmt::format(
      "its CPUs are on NUMA node {} but its GPU is on node {}, so launches and copies cross NUMA nodes: srun "
      "--gpu-bind=closest or mpirun --map-by numa binds a rank near its GPU",
      cpu_nodes, *gpu_node);
}

std::string one_cpu_warning(const Placement& placement, std::int32_t num_ranks) {
  for (std::size_t rank = 0; rank < std::min(placement.ranks.size(), static_cast<std::size_t>(num_ranks)); ++rank)
    if (num_cpus(placement.ranks[rank].cpus) == 1)
      return fmt::format(
          "{} bound rank {} on {} to one CPU ({}), so its transfers and compute cannot overlap; mpirun --bind-to none "
          "or srun --cpus-per-task=N gives it more",
          placement.launcher, rank, placement.ranks[rank].node, placement.ranks[rank].cpus);
  return "";
}

std::string tensor_parallel_warning(const plan::Cell& cell, const Placement& placement) {
  const auto size = static_cast<std::size_t>(plan::ranks_sharing(plan::Shared::weights, cell.plan.config.parallel));
  const auto world = static_cast<std::size_t>(cell.plan.config.parallel.world_size());
  for (std::size_t first = 0; size > 1 && first < std::min(world, placement.ranks.size()); first += size)
    for (std::size_t rank = first + 1; rank < std::min(first + size, placement.ranks.size()); ++rank)
      if (placement.ranks[rank].node != placement.ranks[first].node)
        return fmt::format(
            "cell {}: a tensor-parallel group of {} spans nodes: rank {} is on {} and rank {} on {}; start a multiple "
            "of {} ranks on each node to avoid this",
            cell.name, size, first, placement.ranks[first].node, rank, placement.ranks[rank].node, size);
  return "";
}

}  // namespace underlap::bench
