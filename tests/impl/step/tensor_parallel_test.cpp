// SPDX-License-Identifier: Apache-2.0
// Training over tensor-parallel groups: every technique gives what one rank alone gives.
#include "impl/plan/config.hpp"
#include "impl/step/record_programs.hpp"
#include "tests/impl/step/step_times.hpp"
#include "tests/impl/step/tensor_overlaps.hpp"

namespace underlap {
namespace {

using namespace testing_support;  // NOLINT

constexpr std::int32_t kTensorSteps = 20;
constexpr double kTolerance = 2e-3;  // between runs whose sums have another order, in fp8 too

std::vector<double> losses_of(const plan::Config& config, double ns_per_byte = 0.5) {
  return simulated_losses(config, ns_per_byte, kTensorSteps);
}

plan::Config with_overlap(plan::Config config, const plan::TensorOverlap& overlap) {
  config.tensor_overlap = overlap;
  return config;
}

using TrainingCase = std::tuple<std::int32_t, TensorOverlapCase, Precision>;

class TensorParallelTraining : public testing::TestWithParam<TrainingCase> {
 protected:
  std::int32_t size() const { return std::get<0>(GetParam()); }
  const TensorOverlapCase& overlap() const { return std::get<1>(GetParam()); }
  bool is_fp8() const { return std::get<2>(GetParam()) == Precision::fp8; }
  plan::Config config_of(std::int32_t tensor, std::int32_t data) const {
    plan::Config config = small_tensor_config(tensor, data);
    config.parallel.sequence_parallel = overlap().sequence_parallel;
    if (is_fp8()) multiply_in_fp8(config);
    return config;
  }
};
std::string name_of_case(const testing::TestParamInfo<TrainingCase>& info) {
  const auto& [size, overlap, precision] = info.param;
  return overlap.name + std::to_string(size) + (precision == Precision::fp8 ? "Fp8" : "");
}
INSTANTIATE_TEST_SUITE_P(Techniques, TensorParallelTraining,
                         testing::Combine(testing::Values(2, 4), testing::ValuesIn(all_tensor_overlap_cases()),
                                          testing::Values(Precision::bf16)),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(Fp8Techniques, TensorParallelTraining,
                         testing::Combine(testing::Values(4), testing::ValuesIn(all_tensor_overlap_cases()),
                                          testing::Values(Precision::fp8)),
                         name_of_case);

TEST_P(TensorParallelTraining, LearnsAsOneRankDoes) {
  static std::map<bool, std::vector<double>> of_one_rank;
  std::vector<double>& alone = of_one_rank[is_fp8()];
  if (alone.empty()) {
    plan::Config config = config_of(1, 1);
    config.train.num_microbatches = 2;
    alone = losses_of(config);
  }
  const auto losses = losses_of(with_overlap(config_of(size(), 2), overlap().overlap));
  EXPECT_LT(losses.back(), losses.front() - 0.5);
  EXPECT_LT(largest_relative_difference(losses, alone), kTolerance);
}

TEST_P(TensorParallelTraining, MovesNoBitThatNcclWouldNotMove) {
  const plan::Config config = config_of(size(), 2);
  const auto off = losses_of(with_overlap(config, {}));
  const auto on = losses_of(with_overlap(config, overlap().overlap), 5);
  if (overlap().reorders && size() > 2)  // two numbers have one sum
    EXPECT_THAT(largest_relative_difference(on, off), AllOf(testing::Gt(0), testing::Lt(kTolerance)));
  else
    EXPECT_EQ(on, off);
}

class Fp8Reduction : public testing::TestWithParam<TensorOverlapCase> {};
INSTANTIATE_TEST_SUITE_P(Techniques, Fp8Reduction, testing::ValuesIn(fp8_overlap_cases()), CaseName());

// e4m3 rounds to a sixteenth of a value at most, e5m2 to an eighth.
TEST_P(Fp8Reduction, LearnsAsOneInBf16DoesWithinItsRoundings) {
  plan::Config config = small_tensor_config(4, 1);
  multiply_in_fp8(config);
  const auto in_bf16 = losses_of(with_overlap(config, {}));
  const auto in_fp8 = losses_of(with_overlap(config, GetParam().overlap));
  EXPECT_LT(in_fp8.back(), in_fp8.front() - 0.5);
  EXPECT_THAT(largest_relative_difference(in_fp8, in_bf16), AllOf(testing::Gt(0), testing::Lt(5e-3)));
}

// In layers of bf16 they are what their fields say without fp8_buf.
TEST_P(Fp8Reduction, IsOfFp8LayersAlone) {
  plan::Config config = small_tensor_config(2, 1);
  plan::TensorOverlap without = GetParam().overlap;
  for (plan::TensorSlotOverlap& slot : without.slots) slot.fp8_buf = false;
  EXPECT_EQ(losses_of(with_overlap(config, GetParam().overlap)), losses_of(with_overlap(config, without)));
}

TEST(TensorParallelTraining, ClipsByTheNormOfTheWholeModel) {
  const auto clipped = [](std::int32_t tensor, std::int32_t data, bool sequence_parallel = true) {
    plan::Config config = small_tensor_config(tensor, data);
    config.parallel.sequence_parallel = sequence_parallel;
    config.train.num_microbatches = 4 / tensor / data;
    config.train.micro_batch_size = 2 * tensor;
    config.optimizer.clip_grad = 0.3;
    return losses_of(config);
  };
  EXPECT_LT(largest_relative_difference(clipped(2, 2), clipped(1, 1)), kTolerance);
  EXPECT_LT(largest_relative_difference(clipped(4, 1), clipped(1, 1)), kTolerance);
  EXPECT_LT(largest_relative_difference(clipped(2, 2, false), clipped(1, 1)), kTolerance)
      << "norms whole on every rank";
}

// The norms' gradients are not among them: they are whole on every rank, and adding them up would be wrong by a factor
// that Adam does not show.
TEST(TensorParallelTraining, OnWholeActivationsExchangesTheseAndNothingElse) {
  plan::Config config = small_tensor_config(2, 1);
  config.parallel.sequence_parallel = false;
  const auto programs = record_programs(config, 1);
  std::set<std::string> purposes;
  for (const ProgramCommand& command : programs.front().commands)
    if (command.type == ProgramCommand::Type::communicate && command.tag.mode == Mode::tp)
      purposes.emplace(name_of(command.tag.purpose));
  EXPECT_THAT(purposes, ElementsAre("embedding_all_reduce", "fc1_wgrad_all_reduce", "fc2_fprop_all_reduce",
                                    "head_wgrad_all_reduce", "loss_max_all_reduce", "loss_sum_all_reduce",
                                    "proj_fprop_all_reduce", "qkv_wgrad_all_reduce"));
}

TEST(TensorParallelTraining, RunsWithoutTransfersWhateverIsInBuffersThatNobodyFilled) {
  plan::Config config = small_tensor_config(2, 2);
  config.run.no_comm = true;
  EXPECT_NO_THROW(losses_of(with_overlap(config, tensor_overlap_cases()[2].overlap)));
}

TEST(TensorParallelTraining, LearnsOnRealStreamsAndSockets) {
  const auto no_change = [](plan::Config&) {};
  const auto whole = [](plan::Config& c) { c.parallel.sequence_parallel = false; };
  const plan::TensorOverlap overlap = tensor_overlap_cases()[3].overlap;
  const auto losses = [](plan::Config config, const plan::TensorOverlap& with, auto change) {
    change(config);
    return train(with_overlap(config, with), 4).losses;
  };
  const auto alone = [&](auto change) {
    plan::Config config = small_tensor_config(1, 1);
    change(config);
    config.train.num_microbatches = 2;
    return train(config, 4).losses;
  };
  const plan::Config four = small_tensor_config(2, 2);
  EXPECT_LT(largest_relative_difference(losses(four, overlap, no_change), alone(no_change)), kTolerance);
  EXPECT_LT(largest_relative_difference(losses(four, overlap, multiply_in_fp8), alone(multiply_in_fp8)), kTolerance);
  EXPECT_LT(largest_relative_difference(losses(four, {}, whole), alone(no_change)), kTolerance);
  EXPECT_EQ(losses(four, {}, whole), losses(four, all_slots({.method = plan::TensorMethod::waited}), whole));
}

}  // namespace
}  // namespace underlap
