// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/launch.hpp"

#include <stdexcept>

#include "tests/testing.hpp"

namespace underlap::bench {
namespace {

using Variables = std::map<std::string, std::string>;

std::optional<Launch> launch_in(const Variables& variables) {
  return read_launch([&](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

void expect_refused(const Variables& variables, const std::string& first, const std::string& second) {
  EXPECT_THAT([&] { launch_in(variables); },
              ThrowsMessage<std::invalid_argument>(AllOf(HasSubstr(first), HasSubstr(second))));
}

const Variables kOpenMpi{{"OMPI_COMM_WORLD_RANK", "3"},
                         {"OMPI_COMM_WORLD_SIZE", "4"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                         {"PMIX_RANK", "3"},
                         {"PMIX_NAMESPACE", "1315373057"}};
const Variables kSlurmStep{{"SLURM_JOB_ID", "12"},        {"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "5"},
                           {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_NTASKS", "16"}, {"SLURM_LOCALID", "1"}};
const Variables kTorchrun{{"RANK", "2"},          {"WORLD_SIZE", "6"},      {"LOCAL_RANK", "0"},
                          {"MASTER_ADDR", "n17"}, {"MASTER_PORT", "29500"}, {"TORCHELASTIC_RUN_ID", "none"}};

Variables with(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}

Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

void expect_launch(const Variables& variables, const std::string& launcher, std::int32_t rank, std::int32_t size,
                   std::optional<std::int32_t> local_rank) {
  const std::optional<Launch> launch = launch_in(variables);
  ASSERT_TRUE(launch.has_value());
  EXPECT_EQ(launch->launcher, launcher);
  EXPECT_EQ(launch->rank, rank);
  EXPECT_EQ(launch->size, size);
  EXPECT_EQ(launch->local_rank, local_rank);
}

TEST(Launch, IsReadFromEachLauncher) {
  expect_launch(kOpenMpi, "Open MPI", 3, 4, 1);
  expect_launch({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "0"}}, "PMI", 1, 2, 0);
  expect_launch({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}, "PMI", 1, 2, std::nullopt);
  expect_launch(kSlurmStep, "Slurm", 5, 8, 1);
  expect_launch(without(kSlurmStep, "SLURM_STEP_NUM_TASKS"), "Slurm", 5, 16, 1);
  expect_launch(kTorchrun, "torchrun", 2, 6, 0);
}

TEST(Launch, IsNoneWithoutALauncherOrWithOneProcess) {
  EXPECT_EQ(launch_in({}), std::nullopt);
  EXPECT_EQ(launch_in({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}, {"PMIX_RANK", "0"}}),
            std::nullopt);
}

// What Slurm sets there would make one process wait for others that nobody starts.
TEST(Launch, IsNoneInABatchScriptOrAnAllocation) {
  EXPECT_EQ(launch_in(without(kSlurmStep, "SLURM_STEP_ID")), std::nullopt);
  EXPECT_EQ(launch_in(with(kSlurmStep, {{"SLURM_STEP_ID", "batch"}})), std::nullopt);
  EXPECT_EQ(launch_in({{"SLURM_JOB_ID", "12"}, {"SLURM_NTASKS", "16"}}), std::nullopt);
}

TEST(Launch, TakesTheInnermostOfSeveralLaunchers) {
  expect_launch(with(kSlurmStep, kOpenMpi), "Open MPI", 3, 4, 1);  // mpirun starts its daemons as a step
  expect_launch(with(kSlurmStep, without(kTorchrun, "TORCHELASTIC_RUN_ID")), "Slurm", 5, 8, 1);
  expect_launch(with(kSlurmStep, kTorchrun), "torchrun", 2, 6, 0);  // srun starts one torchrun a node
  expect_launch(with(kTorchrun, {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}}), "torchrun", 2, 6, 0);
}

TEST(Launch, OfPmixAloneIsThatOfTheStep) {
  expect_launch(with(kSlurmStep, {{"PMIX_RANK", "5"}}), "Slurm", 5, 8, 1);
  expect_refused({{"PMIX_RANK", "5"}}, "PMIX_RANK", "the number of ranks");
}

TEST(Launch, KnowsTheJobAndTheAddressOfRankZero) {
  EXPECT_NE(launch_in(kSlurmStep)->job, launch_in(with(kSlurmStep, {{"SLURM_STEP_ID", "1"}}))->job);
  EXPECT_EQ(launch_in(kSlurmStep)->job, launch_in(with(kSlurmStep, {{"SLURM_PROCID", "6"}}))->job);
  EXPECT_EQ(launch_in(kTorchrun)->address, "n17");
}

TEST(Launch, KnowsWhetherAllAreOnOneNode) {
  const auto is_on_one_node = [](const Variables& variables) { return launch_in(variables)->is_on_one_node; };
  EXPECT_FALSE(is_on_one_node(kOpenMpi));
  EXPECT_FALSE(is_on_one_node(with(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}})));
  EXPECT_TRUE(is_on_one_node(with(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}})));
  EXPECT_TRUE(is_on_one_node(with(kTorchrun, {{"LOCAL_WORLD_SIZE", "6"}})));
  EXPECT_TRUE(is_on_one_node(with(kSlurmStep, {{"SLURM_STEP_NUM_NODES", "1"}})));
  EXPECT_FALSE(is_on_one_node(with(kSlurmStep, {{"SLURM_STEP_NUM_NODES", "2"}})));
  EXPECT_FALSE(is_on_one_node(with(kSlurmStep, {{"SLURM_STEP_NUM_NODES", "one"}})));
}

TEST(Launch, NamesAMissingHalf) {
  expect_refused(without(kOpenMpi, "OMPI_COMM_WORLD_SIZE"), "OMPI_COMM_WORLD_RANK is set",
                 "OMPI_COMM_WORLD_SIZE is not");
  expect_refused({{"PMI_SIZE", "2"}}, "PMI_SIZE is set", "PMI_RANK is not");
  expect_refused({{"RANK", "2"}}, "RANK is set", "WORLD_SIZE is not");
}

TEST(Launch, NamesWhatContradictsItself) {
  expect_refused(with(kOpenMpi, {{"OMPI_COMM_WORLD_RANK", "4"}}), "OMPI_COMM_WORLD_RANK is 4",
                 "OMPI_COMM_WORLD_SIZE is 4");
  expect_refused(with(kTorchrun, {{"LOCAL_RANK", "6"}}), "LOCAL_RANK is 6", "WORLD_SIZE is 6");
}

TEST(Launch, NamesWhatIsNoNumber) {
  for (const char* value : {"", "two", "-1", "1x", "99999999999"})
    expect_refused(with(kTorchrun, {{"RANK", value}}), "RANK is '" + std::string(value) + "'", "number");
}

TEST(Launch, ANodeHasTheNameThatSlurmGivesIt) {
  EXPECT_EQ(node_name([](const std::string& name) {
              return name == "SLURMD_NODENAME" ? std::optional<std::string>("node7") : std::nullopt;
            }),
            "node7");
  EXPECT_FALSE(node_name([](const std::string&) { return std::nullopt; }).empty());
}

}  // namespace
}  // namespace underlap::bench
