// SPDX-License-Identifier: Apache-2.0
// The whole training step on CudaDevice over the GPU and the NCCL that the host plays, against HostDevice.
#include <gmock/gmock.h>
#include <omp.h>

#include <cmath>

#include "tests/impl/device/cuda/cuda_ranks.hpp"
#include "tests/impl/step/training.hpp"

namespace underlap {
namespace {

using cuda_host::NcclDouble;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::small_config;
using testing_support::train;
using testing_support::Training;

/// testing_support::train() on the other device. `seed` chooses the order in which the GPU takes its streams.
Training train_on_cuda(const plan::Config& config, std::int32_t steps, cuda::RunForm run_form, std::uint64_t seed = 1) {
  const std::int32_t n = config.parallel.data_parallel_size;
  const auto data = model::TextData::open(config.train.data, config.model.seq_length, config.run.seed);
  Training result;
  std::vector<std::vector<double>> losses(static_cast<std::size_t>(n));
  cuda::CudaRanks ranks(n, {.run_form = run_form}, {}, seed);
  ranks.run([&](cuda::CudaDevice& device, const Group& group) {
    omp_set_num_threads(1);
    Trainer trainer(device, config, group, data);
    for (std::int32_t i = 0; i < steps; ++i) trainer.step(0);
    losses[static_cast<std::size_t>(group.my_index)] = trainer.take_losses();
    EXPECT_EQ(device.take_marks().size(), static_cast<std::size_t>(steps));
    if (group.my_index > 0) return;
    std::vector<bf16> parameters(static_cast<std::size_t>(trainer.buffers().layout.elements));
    device.download(flat(trainer.buffers().params), std::as_writable_bytes(std::span(parameters)));
    for (const bf16 value : parameters) result.parameters.push_back(static_cast<float>(value));
  });
  EXPECT_THAT(NcclDouble::instance().errors(), IsEmpty());
  for (std::size_t i = 0; i < losses[0].size(); ++i) {
    double sum = 0;
    for (const auto& of_rank : losses) sum += of_rank[i];
    result.losses.push_back(sum / n);
  }
  return result;
}

plan::Config with_overlap(plan::Config config) {
  config.ddp.overlap_grad_reduce = true;
  config.ddp.overlap_param_gather = true;
  config.ddp.bucket_size = 5000;
  return config;
}

struct Variant {
  const char* name;
  void (*change)(plan::Config&);
  double overlap_changes = 0;  // losses, relatively: a norm of gradients is summed bucket by bucket
};
class Reduction : public testing::TestWithParam<Variant> {
 protected:
  static plan::Config config(std::int32_t ranks) {
    plan::Config config = small_config(ranks);
    config.ddp.grad_reduce_in_fp32 = false;
    GetParam().change(config);
    return config;
  }
};
INSTANTIATE_TEST_SUITE_P(
    Variants, Reduction,
    testing::Values(Variant{"Bf16", [](plan::Config&) {}, 0},
                    Variant{"Fp32", [](plan::Config& c) { c.ddp.grad_reduce_in_fp32 = true; }},
                    Variant{"Average", [](plan::Config& c) { c.ddp.average_in_collective = true; }},
                    Variant{"Fp32Accumulation",
                            [](plan::Config& c) { c.ddp.reduce_scatter_with_fp32_accumulation = true; }},
                    Variant{"AllReduce", [](plan::Config& c) { c.ddp.use_distributed_optimizer = false; }},
                    Variant{"TwoCommunicatorsAndClipping",
                            [](plan::Config& c) {
                              c.extensions.separate_gather_communicator = true;
                              c.optimizer.clip_grad = 1;
                            },
                            1e-4}),
    [](const auto& test) { return test.param.name; });

// The forms are the host's and the double adds in the host's order, so what differs is the device's alone: nothing may.
TEST_P(Reduction, TrainsToTheBitAsOnTheHost) {
  for (const std::int32_t ranks : {1, 2}) {
    const Training host = train(with_overlap(config(ranks)), 4);
    const Training cuda = train_on_cuda(with_overlap(config(ranks)), 4, cuda::run_cpu_form_on_host);
    EXPECT_THAT(cuda.losses, ElementsAreArray(host.losses)) << ranks << " ranks";
    EXPECT_TRUE(cuda.parameters == host.parameters) << ranks << " ranks";
  }
}

TEST_P(Reduction, IsTheSameWithAndWithoutOverlapInWhateverOrderTheGpuTakesItsStreams) {
  const Training off = train_on_cuda(config(2), 5, cuda::run_cpu_form_on_host);
  const Training on = train_on_cuda(with_overlap(config(2)), 5, cuda::run_cpu_form_on_host);
  for (std::size_t i = 0; i < off.losses.size(); ++i)
    EXPECT_NEAR(on.losses[i], off.losses[i], GetParam().overlap_changes * off.losses[i]) << "step " << i;
  for (std::uint64_t seed = 2; seed < 5; ++seed) {
    const Training again = train_on_cuda(with_overlap(config(2)), 5, cuda::run_cpu_form_on_host, seed);
    EXPECT_THAT(again.losses, ElementsAreArray(on.losses)) << "seed " << seed;
    EXPECT_TRUE(again.parameters == on.parameters) << "seed " << seed;
  }
}

TEST_P(Reduction, TrainsWithCudaFormsWithinTheirTolerance) {
  const Training host = train(with_overlap(config(2)), 3);
  const Training cuda = train_on_cuda(with_overlap(config(2)), 3, cuda::run_form_on_host);
  ASSERT_EQ(cuda.losses.size(), host.losses.size());
  for (std::size_t i = 0; i < host.losses.size(); ++i)
    EXPECT_NEAR(cuda.losses[i], host.losses[i], 1e-2 * host.losses[i]) << "step " << i;
}

TEST(CudaTrainer, RefusesPartialSumsThatNcclCannotKeep) {
  plan::Config config = with_overlap(small_config(2));
  config.ddp.grad_reduce_in_fp32 = false;
  config.extensions.reduce_accumulator = "fp32";
  try {
    train_on_cuda(config, 1, cuda::run_cpu_form_on_host);
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(), HasSubstr("reduce_accumulator"));
  }
}

}  // namespace
}  // namespace underlap
