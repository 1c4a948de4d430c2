// SPDX-License-Identifier: Apache-2.0
#include "bench/launch/launch_environment.hpp"

#include <gmock/gmock.h>

#include <map>
#include <stdexcept>

namespace underlap::bench {
namespace {

using ::testing::_, ::testing::AllOf, ::testing::Contains, ::testing::ElementsAre, ::testing::HasSubstr, ::testing::Not,
    ::testing::Pair, ::testing::ThrowsMessage;

std::vector<plan::Cell> cuda_cells(const std::string& more) {
  return plan::parse("model: {preset: tiny}\nrun: {backend: cuda}\n" + more, "config.yaml").cells;
}

ReadVariable caller_with(std::map<std::string, std::string> variables) {
  return [variables](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
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
  EXPECT_THAT(
      [] {
        check_caller_environment(cuda_cells(""), caller_with({{"NCCL_RUNTIME_CONNECT", "1"}}));
      },
      ThrowsMessage<std::invalid_argument>(HasSubstr("unset NCCL_RUNTIME_CONNECT")));
}

TEST(LaunchEnvironment, EqualAndOtherVariablesAreFine) {
  check_caller_environment(cuda_cells(""), caller_with({}));
  check_caller_environment(cuda_cells(""), caller_with({{"CUDA_DEVICE_MAX_CONNECTIONS", "8"}, {"NCCL_DEBUG", "INFO"}}));
}

TEST(LaunchEnvironment, ConflictNamesBothValuesTheReasonAndTheWayOut) {
  EXPECT_THAT(
      [] {
        check_caller_environment(cuda_cells(""), caller_with({{"CUDA_DEVICE_MAX_CONNECTIONS", "1"}}));
      },
      ThrowsMessage<std::invalid_argument>(
          "CUDA_DEVICE_MAX_CONNECTIONS is 1 in the environment, and the plan of cell cell sets 8: h100 without "
          "TP or CP: CUDA's default\n  unset CUDA_DEVICE_MAX_CONNECTIONS, or write "
          "environment.cuda_device_max_connections: 1 into the configuration"));
  check_caller_environment(cuda_cells("environment: {cuda_device_max_connections: 1}\n"),
                           caller_with({{"CUDA_DEVICE_MAX_CONNECTIONS", "1"}}));
}

TEST(LaunchEnvironment, RefusesWhatNcclTakesInPlaceOfThePlansHints) {
  const auto caller = caller_with({{"NCCL_MAX_CTAS", "4"}});
  const plan::Matrix beside_gemms = plan::parse(
      "model: {preset: tiny, tensor_model_parallel_size: 2, sequence_parallel: true}\n"
      "comm_overlap: {tp_comm_overlap: true}\nrun: {backend: cuda}\n",
      "config.yaml");
  EXPECT_THAT([&] { check_caller_environment(beside_gemms.cells, caller); },
              ThrowsMessage<std::invalid_argument>(
                  AllOf(HasSubstr("NCCL_MAX_CTAS is 4 in the environment"), HasSubstr("unset NCCL_MAX_CTAS"))));
  check_caller_environment(cuda_cells(""), caller);
}

TEST(LaunchEnvironment, RefusesCommunicatorsThatDoNotBlock) {
  EXPECT_THAT(
      [] {
        check_caller_environment(cuda_cells(""), caller_with({{"NCCL_COMM_BLOCKING", "0"}}));
      },
      ThrowsMessage<std::invalid_argument>(HasSubstr("unset NCCL_COMM_BLOCKING")));
  check_caller_environment(cuda_cells(""), caller_with({{"NCCL_COMM_BLOCKING", "1"}}));
}

TEST(LaunchEnvironment, TellsOfAllConflictsAtOnce) {
  EXPECT_THAT(
      [] {
        check_caller_environment(cuda_cells("environment: {torch_nccl_high_priority: true}\n"),
                                 caller_with({{"TORCH_NCCL_HIGH_PRIORITY", "0"}, {"CUDA_MODULE_LOADING", "LAZY"}}));
      },
      ThrowsMessage<std::invalid_argument>(
          AllOf(HasSubstr("CUDA_MODULE_LOADING is LAZY"), HasSubstr("unset CUDA_MODULE_LOADING\n"),
                HasSubstr("TORCH_NCCL_HIGH_PRIORITY is 0"), HasSubstr("environment.torch_nccl_high_priority: false"))));
}

TEST(LaunchEnvironment, ACellThatLeavesTheCallersVariableUnsetWouldInheritIt) {
  const auto cells = cuda_cells("matrix: {environment.torch_nccl_high_priority: [true, false]}\n");
  check_caller_environment(cells, caller_with({}));
  EXPECT_THAT(
      [&] {
        check_caller_environment(cells, caller_with({{"TORCH_NCCL_HIGH_PRIORITY", "1"}}));
      },
      ThrowsMessage<std::invalid_argument>(HasSubstr("high_priority=false leaves it unset")));
}

}  // namespace
}  // namespace underlap::bench
