// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/placement.hpp"

#include "tests/profiler/temporary_folder.hpp"
#include "tests/testing.hpp"

namespace underlap::bench {
namespace {

Placement on(const std::vector<std::string>& nodes) {
  Placement placement{.launcher = "Slurm", .ranks = {}};
  for (const std::string& node : nodes)
    placement.ranks.push_back({.node = node, .address = "10.0.0." + node.substr(1), .cpus = "0-3"});
  return placement;
}

void complete(Placement& placement) {
  complete(placement, std::vector<std::optional<std::int32_t>>(placement.ranks.size()));
}

plan::Cell cell_of(const std::string& config) { return plan::parse(config, "config.yaml").cells.front(); }

TEST(Placement, CountsRanksOfANodeWhereNoLauncherDid) {
  Placement placement = on({"n1", "n2", "n1", "n2"});
  complete(placement);
  EXPECT_EQ(placement.ranks[0].local_rank, 0);
  EXPECT_EQ(placement.ranks[2].local_rank, 1);
  EXPECT_EQ(placement.ranks[3].local_rank, 1);
  complete(placement, {0, 5, std::nullopt, 6});
  EXPECT_EQ(placement.ranks[1].local_rank, 5);
  EXPECT_EQ(placement.ranks[2].local_rank, 1);
}

TEST(Placement, SaysWhichNumaNodesCpusAreOn) {
  const testing_support::TemporaryFolder folder;
  for (const auto& [node, cpus] : {std::pair("node0", "0-3,8-11\n"), std::pair("node1", "4-7,12-15\n")}) {
    std::filesystem::create_directories(folder / node);
    testing_support::write_text(folder / (std::string(node) + "/cpulist"), cpus);
  }
  const std::filesystem::path nodes = folder / "";
  EXPECT_EQ(numa_nodes_of("0-3", nodes), "0");
  EXPECT_EQ(numa_nodes_of("12", nodes), "1");
  EXPECT_EQ(numa_nodes_of("2-5", nodes), "0,1");
  EXPECT_EQ(numa_nodes_of("", nodes), "");
  EXPECT_EQ(numa_nodes_of("0-3", folder / "none"), "");
}

TEST(Placement, KnowsTheNumaNodeOfADevice) {
  const testing_support::TemporaryFolder folder;
  for (const auto& [device, node] : {std::pair("0000:1b:00.0", "1\n"), std::pair("0000:00:04.0", "-1\n")}) {
    std::filesystem::create_directories(folder / device);
    testing_support::write_text(folder / (std::string(device) + "/numa_node"), node);
  }
  const std::filesystem::path devices = folder / "";
  EXPECT_EQ(numa_node_of_device("0000:1B:00.0", devices), 1);
  EXPECT_EQ(numa_node_of_device("0000:00:04.0", devices), std::nullopt) << "the machine does not say";
  EXPECT_EQ(numa_node_of_device("0000:02:00.0", devices), std::nullopt);
}

TEST(Placement, SaysWhereARankIsFarFromItsGpu) {
  EXPECT_THAT(far_gpu_warning("0", 1), HasSubstr("on NUMA node 0 but its GPU is on node 1"));
  EXPECT_EQ(far_gpu_warning("0,1", 1), "");
  EXPECT_EQ(far_gpu_warning("1", 1), "");
  EXPECT_EQ(far_gpu_warning("0", std::nullopt), "");
  EXPECT_EQ(far_gpu_warning("", 1), "");
}

TEST(Placement, OfOneNodeMeetsOnTheLoopback) {
  Placement placement = on({"n1", "n1"});
  complete(placement);
  EXPECT_EQ(placement.ranks[1].address, "127.0.0.1");
  EXPECT_EQ(placement.num_nodes(2), 1);
}

// A process on rank 0's node has reached it by the loopback, by which no other node reaches that process.
TEST(Placement, OfSeveralNodesGivesEachTheAddressThatOthersReach) {
  Placement placement = on({"n1", "n1", "n2"});
  placement.ranks[1].address = "127.0.0.1";
  complete(placement);
  EXPECT_EQ(placement.ranks[0].address, "10.0.0.1");
  EXPECT_EQ(placement.ranks[1].address, "10.0.0.1");
  EXPECT_EQ(placement.ranks[2].address, "10.0.0.2");
  EXPECT_EQ(placement.num_nodes(2), 1);
  EXPECT_EQ(placement.num_nodes(3), 2);
}

TEST(Placement, KnowsWhatElseRunsOnTheCpusOfRankZero) {
  Placement placement = on({"n1", "n1", "n1", "n2"});
  for (std::size_t rank = 0; rank < 4; ++rank) placement.ranks[rank].pid = 100 + std::int64_t(rank);
  placement.ranks[2].cpus = "4-7";
  EXPECT_THAT(placement.processes_beside_rank_zero(), ElementsAre(101));
}

TEST(Placement, KnowsWhoSharesCpus) {
  Placement placement = on({"n1", "n1", "n1", "n2"});
  placement.ranks[2].cpus = "4-7";
  EXPECT_EQ(placement.num_sharing(0, 4), 2);
  EXPECT_EQ(placement.num_sharing(2, 4), 1);
  EXPECT_EQ(placement.num_sharing(0, 1), 1) << "the others are not of this set";
}

TEST(Placement, CountsTheCpusOfAList) {
  EXPECT_EQ(num_cpus("0-3,8"), 5);
  EXPECT_EQ(num_cpus("7"), 1);
  EXPECT_EQ(num_cpus(""), 0);
}

TEST(Placement, SaysWhereALauncherLeftARankOneCpu) {
  Placement placement = on({"n1", "n2", "n2"});
  EXPECT_EQ(one_cpu_warning(placement, 3), "");
  placement.ranks[2].cpus = "5";
  EXPECT_THAT(one_cpu_warning(placement, 3), HasSubstr("Slurm bound rank 2 on n2 to one CPU (5)"));
  EXPECT_EQ(one_cpu_warning(placement, 2), "") << "that one is idle";
}

TEST(Placement, SaysWhereTensorParallelGroupsCrossNodes) {
  const plan::Cell cell = cell_of("model: {preset: tiny, tensor_model_parallel_size: 2}\ndata_parallel_size: 2\n");
  EXPECT_EQ(tensor_parallel_warning(cell, on({"n1", "n1", "n2", "n2"})), "");
  EXPECT_THAT(tensor_parallel_warning(cell, on({"n1", "n2", "n2", "n1"})),
              AllOf(HasSubstr("rank 0 is on n1 and rank 1 on n2"), HasSubstr("a multiple of 2 ranks on each node")));
  EXPECT_THAT(tensor_parallel_warning(cell, on({"n1", "n1", "n1", "n2"})), HasSubstr("rank 2 is on n1"));
  EXPECT_EQ(tensor_parallel_warning(cell_of("model: {preset: tiny}\ndata_parallel_size: 2\n"), on({"n1", "n2"})), "");
}

}  // namespace
}  // namespace underlap::bench
