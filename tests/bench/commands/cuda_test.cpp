// SPDX-License-Identifier: Apache-2.0
// Backend cuda where it cannot run: what the program says before any rank starts.
#include "impl/device/cuda/requirements.hpp"
#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

const std::string kCudaConfig = tiny_config("data_parallel_size: 2\n");

TEST(CudaBackend, SaysThatThereIsNoDriver) {
  if (cuda::system_cuda_queries().driver_version != nullptr) GTEST_SKIP() << "this machine has a driver";
  const RunFolder folder(kCudaConfig);
  const Outcome outcome = underlap_program(folder.arguments({"--backend", "cuda"}));
  EXPECT_THAT(outcome, fails_with(3, "there is no NVIDIA driver on this machine"));
  EXPECT_FALSE(fs::exists(folder.run())) << "nothing was begun";
}

TEST(CudaBackend, RefusesAnEnvironmentThatTheCallerSetOtherwise) {
  const RunFolder folder(kCudaConfig);
  const Surroundings around{.environment = {{"CUDA_DEVICE_MAX_CONNECTIONS", "1"}}};
  const Outcome outcome = underlap_program(folder.arguments({"--backend", "cuda"}), around);
  EXPECT_THAT(outcome, fails_with(2, "CUDA_DEVICE_MAX_CONNECTIONS is 1 in the environment, but the plan"));
  EXPECT_THAT(outcome.err, HasSubstr("environment.cuda_device_max_connections: 1"));
  expect_success(folder.arguments(), around);  // the host backend has no use for it
}

}  // namespace
}  // namespace underlap::bench
