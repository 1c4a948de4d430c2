// SPDX-License-Identifier: Apache-2.0
// Training on a GPU against training on the host. Two ranks share the one GPU, over NCCL's sockets: what they compute
// means something, how long it takes does not.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "platform/child_process.hpp"
#include "platform/temporary_folder.hpp"
#include "tests/gpu/training_rank.hpp"
#include "tests/impl/step/training.hpp"

namespace underlap::gpu {
namespace {

// The ranks' mean loss by step. Fails the test where a rank does.
std::vector<double> train_on_gpu(std::int32_t world_size, bool overlap) {
  const TemporaryFolder folder;
  std::vector<std::unique_ptr<ChildProcess>> ranks;
  for (std::int32_t rank = 0; rank < world_size; ++rank)
    ranks.push_back(std::make_unique<ChildProcess>(
        ChildOptions{.arguments = {"underlap_gpu_tests", "--rank", std::to_string(rank), std::to_string(world_size),
                                   overlap ? "1" : "0", folder.path().string()}}));
  for (const auto& rank : ranks) {
    const auto end = rank->wait_for_end(std::chrono::seconds(80));
    EXPECT_TRUE(end.has_value() && end->signal == 0 && end->exit_status == 0)
        << "a rank " << (end ? end->text() : "did not end");
  }
  std::vector<double> losses(kTrainedSteps, 0);
  for (std::int32_t rank = 0; rank < world_size; ++rank) {
    std::ifstream file(folder.path() / ("losses." + std::to_string(rank)));
    for (double& mean : losses) {
      double loss = std::nan("");
      file >> loss;
      mean += loss / world_size;
    }
  }
  return losses;
}

class TrainingOnOneGpu : public testing::TestWithParam<std::int32_t> {};

bool is_simulated() { return std::getenv("UNDERLAP_PLAYED_GPU") != nullptr; }

TEST_P(TrainingOnOneGpu, LosesAsMuchAsOnTheHost) {
  if (is_simulated() && GetParam() > 1) GTEST_SKIP() << "ranks in several processes are not simulated";
  const std::vector<double> host =
      testing_support::train(testing_support::small_config(GetParam()), kTrainedSteps).losses;
  const std::vector<double> gpu = train_on_gpu(GetParam(), false);
  for (std::size_t i = 0; i < gpu.size(); ++i) EXPECT_NEAR(gpu[i], host[i], 0.01 * host[i]) << "step " << i;
}

TEST_P(TrainingOnOneGpu, LosesTheSameToTheBitWithOverlap) {
  if (is_simulated() && GetParam() > 1) GTEST_SKIP() << "ranks in several processes are not simulated";
  EXPECT_EQ(train_on_gpu(GetParam(), true), train_on_gpu(GetParam(), false));
}

TEST(CaptureOnAGpu, TiesEveryKernelToAnOperation) {
  const TemporaryFolder folder;
  ChildProcess recorder({.arguments = {"underlap_gpu_tests", "--record", folder.path().string()}});
  const auto end = recorder.wait_for_end(std::chrono::seconds(80));
  EXPECT_TRUE(end.has_value() && end->signal == 0 && end->exit_status == 0)
      << "the recorder " << (end ? end->text() : "did not end");
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "training.cupti"));
}

INSTANTIATE_TEST_SUITE_P(Ranks, TrainingOnOneGpu, testing::Values(1, 2), testing::PrintToStringParamName());

}  // namespace
}  // namespace underlap::gpu
