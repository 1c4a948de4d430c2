// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/launch_environment.hpp"

#include <stdexcept>

#include "tests/testing.hpp"

namespace underlap::bench {
namespace {

using testing::_;
using testing::Pair;

std::vector<plan::Cell> cuda_cells(const std::string& more) {
  return plan::parse("model: {preset: tiny}\nrun: {backend: cuda}\n" + more, "config.yaml").cells;
}

// Why these cells are not started by a caller with these variables; empty where they are.
std::string refusal(const std::vector<plan::Cell>& cells, const std::map<std::string, std::string>& variables) {
  const auto value_of = [&](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  return thrown_by<std::invalid_argument>([&] { check_caller_environment(cells, value_of); });
}

TEST(LaunchEnvironment, IsThePlansSortedByName) {
  EXPECT_THAT(launch_environment(cuda_cells("").front().plan),
              ElementsAre(Pair("CUDA_DEVICE_MAX_CONNECTIONS", "8"), Pair("CUDA_MODULE_LOADING", "EAGER"),
                          Pair("NCCL_RUNTIME_CONNECT", "0"), Pair("NVTE_BWD_LAYERNORM_SM_MARGIN", "16"),
                          Pair("NVTE_FWD_LAYERNORM_SM_MARGIN", "16")));
}

TEST(LaunchEnvironment, HasNcclConnectItsAlgorithmsBeforeTheFirstStepUnlessTheLinkIsEmulated) {
  const auto emulated =
      plan::parse("model: {preset: tiny}\ndata_parallel_size: 4\nrun: {backend: cuda, link: 'emulated:1GB/s,sms=1'}\n",
                  "config.yaml");
  EXPECT_THAT(launch_environment(emulated.cells.front().plan), Not(Contains(Pair("NCCL_RUNTIME_CONNECT", _))));
  EXPECT_THAT(refusal(cuda_cells(""), {{"NCCL_RUNTIME_CONNECT", "1"}}), HasSubstr("unset NCCL_RUNTIME_CONNECT"));
}

TEST(LaunchEnvironment, EqualAndOtherVariablesAreFine) {
  EXPECT_EQ(refusal(cuda_cells(""), {}), "");
  EXPECT_EQ(refusal(cuda_cells(""), {{"CUDA_DEVICE_MAX_CONNECTIONS", "8"}, {"NCCL_DEBUG", "INFO"}}), "");
}

TEST(LaunchEnvironment, ConflictNamesBothValuesTheReasonAndTheWayOut) {
  const std::map<std::string, std::string> one{{"CUDA_DEVICE_MAX_CONNECTIONS", "1"}};
  EXPECT_EQ(refusal(cuda_cells(""), one),
            "CUDA_DEVICE_MAX_CONNECTIONS is 1 in the environment, but the plan of cell cell sets 8: h100 without "
            "TP or CP: CUDA's default\n  unset CUDA_DEVICE_MAX_CONNECTIONS, or write "
            "environment.cuda_device_max_connections: 1 into the configuration");
  EXPECT_EQ(refusal(cuda_cells("environment: {cuda_device_max_connections: 1}\n"), one), "");
}

TEST(LaunchEnvironment, RefusesWhatNcclTakesInPlaceOfThePlansHints) {
  const plan::Matrix beside_gemms = plan::parse(
      "model: {preset: tiny, tensor_model_parallel_size: 2, sequence_parallel: true}\n"
      "comm_overlap: {tp_comm_overlap: true}\nrun: {backend: cuda}\n",
      "config.yaml");
  EXPECT_THAT(refusal(beside_gemms.cells, {{"NCCL_MAX_CTAS", "4"}}),
              AllOf(HasSubstr("NCCL_MAX_CTAS is 4 in the environment"), HasSubstr("unset NCCL_MAX_CTAS")));
  EXPECT_EQ(refusal(cuda_cells(""), {{"NCCL_MAX_CTAS", "4"}}), "");
}

TEST(LaunchEnvironment, RefusesCommunicatorsThatDoNotBlock) {
  EXPECT_THAT(refusal(cuda_cells(""), {{"NCCL_COMM_BLOCKING", "0"}}), HasSubstr("unset NCCL_COMM_BLOCKING"));
  EXPECT_EQ(refusal(cuda_cells(""), {{"NCCL_COMM_BLOCKING", "1"}}), "");
}

TEST(LaunchEnvironment, TellsOfAllConflictsAtOnce) {
  EXPECT_THAT(
      refusal(cuda_cells("environment: {torch_nccl_high_priority: true}\n"),
              {{"TORCH_NCCL_HIGH_PRIORITY", "0"}, {"CUDA_MODULE_LOADING", "LAZY"}}),
      AllOf(HasSubstr("CUDA_MODULE_LOADING is LAZY"), HasSubstr("unset CUDA_MODULE_LOADING\n"),
            HasSubstr("TORCH_NCCL_HIGH_PRIORITY is 0"), HasSubstr("environment.torch_nccl_high_priority: false")));
}

TEST(LaunchEnvironment, ACellThatLeavesTheCallersVariableUnsetWouldInheritIt) {
  const auto cells = cuda_cells("matrix: {environment.torch_nccl_high_priority: [true, false]}\n");
  EXPECT_EQ(refusal(cells, {}), "");
  EXPECT_THAT(refusal(cells, {{"TORCH_NCCL_HIGH_PRIORITY", "1"}}), HasSubstr("high_priority=false leaves it unset"));
}

}  // namespace
}  // namespace underlap::bench
