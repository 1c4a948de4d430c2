// SPDX-License-Identifier: Apache-2.0
// The whole training step on CudaDevice over the GPU and the NCCL that the host plays, against HostDevice.
#include <omp.h>

#include "impl/plan/config.hpp"
#include "tests/impl/device/cuda/cuda_ranks.hpp"
#include "tests/impl/step/asked_schedules.hpp"
#include "tests/impl/step/tensor_overlaps.hpp"

namespace underlap {
namespace {

using cuda_host::NcclDouble;
using namespace testing_support;  // NOLINT

/// train() on the other device. `seed` chooses the order in which the GPU takes its streams,
/// `connections` the hardware queues that they share; 0: one for each.
Training train_on_cuda(const plan::Config& config, std::int32_t steps, cuda::RunImplementation run_implementation,
                       std::uint64_t seed = 1, int connections = 0) {
  const std::int32_t n = config.parallel.world_size();
  const auto data = model::TextData::open(config.train.data, config.model.seq_length, config.run.seed);
  Training result;
  std::vector<std::vector<double>> losses(static_cast<std::size_t>(n));
  const bool copies_between_peers = config.extensions.tp_ring_transport == "copy_engine";
  cuda::CudaRanks ranks(n, {.peers_map_tensors = copies_between_peers, .run_implementation = run_implementation}, {},
                        seed);
  cuda_host::Machine::instance().connections = connections;
  ranks.run([&](cuda::CudaDevice& device, const Group& group) {
    omp_set_num_threads(1);
    Trainer trainer(device, config, parallel_groups(config, group.my_index), data);
    for (std::int32_t i = 0; i < steps; ++i) trainer.step(0);
    losses[static_cast<std::size_t>(group.my_index)] = trainer.take_losses();
    EXPECT_EQ(device.take_marks().size(), static_cast<std::size_t>(steps));
    if (group.my_index == 0) result.parameters = parameters_of(device, trainer.buffers());
  });
  EXPECT_THAT(NcclDouble::instance().errors(), IsEmpty());
  result.losses = mean_losses(losses);
  return result;
}

plan::Config with_overlap(const plan::Config& config) { return testing_support::with_overlap(config, 5000); }

// The forms are the host's and the double adds in the host's order, so what differs is the device's alone: nothing may.
void expect_bits_of_host(const plan::Config& config, std::int32_t steps, std::initializer_list<std::uint64_t> seeds,
                         int connections = 0) {
  const Training host = train(config, steps);
  for (const std::uint64_t seed : seeds)
    expect_same(train_on_cuda(config, steps, cuda::run_cpu_implementation_on_host, seed, connections), host,
                "seed " + std::to_string(seed));
}

void expect_cuda_forms_near_host(const plan::Config& config, std::int32_t steps) {
  const Training cuda = train_on_cuda(config, steps, cuda::run_implementation_on_host);
  EXPECT_LE(largest_relative_difference(cuda.losses, train(config, steps).losses), 1e-2);
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
    testing::Values(
        Variant{"Bf16", [](plan::Config&) {}, 0},
        Variant{"Fp32", [](plan::Config& c) { c.ddp.grad_reduce_in_fp32 = true; }},
        Variant{"Average", [](plan::Config& c) { c.ddp.average_in_collective = true; }},
        Variant{"Fp32Accumulation", [](plan::Config& c) { c.ddp.reduce_scatter_with_fp32_accumulation = true; }},
        Variant{"AllReduce", [](plan::Config& c) { c.ddp.use_distributed_optimizer = false; }},
        Variant{"Instances",
                [](plan::Config& c) { c.ddp.num_distributed_optimizer_instances = c.parallel.data_parallel_size; }},
        Variant{"TwoCommunicatorsAndClipping",
                [](plan::Config& c) {
                  c.extensions.separate_gather_communicator = true;
                  c.optimizer.clip_grad = 1;
                },
                1e-4}),
    CaseName());

TEST_P(Reduction, TrainsToTheBitAsOnTheHost) {
  for (const std::int32_t ranks : {1, 2}) expect_bits_of_host(with_overlap(config(ranks)), 4, {1});
}

TEST_P(Reduction, IsTheSameWithAndWithoutOverlapInWhateverOrderTheGpuTakesItsStreams) {
  const Training off = train_on_cuda(config(2), 5, cuda::run_cpu_implementation_on_host);
  const Training on = train_on_cuda(with_overlap(config(2)), 5, cuda::run_cpu_implementation_on_host);
  for (std::size_t i = 0; i < off.losses.size(); ++i)
    EXPECT_NEAR(on.losses[i], off.losses[i], GetParam().overlap_changes * off.losses[i]) << "step " << i;
  for (std::uint64_t seed = 2; seed < 5; ++seed) {
    const Training again = train_on_cuda(with_overlap(config(2)), 5, cuda::run_cpu_implementation_on_host, seed);
    expect_same(again, on, "seed " + std::to_string(seed));
  }
}

TEST_P(Reduction, TrainsWithCudaFormsWithinTheirTolerance) { expect_cuda_forms_near_host(with_overlap(config(2)), 3); }

// The played GPU has four multiprocessors.
plan::TensorOverlap on_small_gpu(plan::TensorOverlap overlap) {
  for (plan::TensorSlotOverlap& slot : overlap.slots) slot.num_sm = std::min(slot.num_sm, 2);
  return overlap;
}

class TensorOverlaps : public testing::TestWithParam<TensorOverlapCase> {
 protected:
  static plan::Config config() {
    plan::Config config = with_overlap(small_tensor_config(2, 2));
    config.tensor_overlap = on_small_gpu(GetParam().overlap);
    config.parallel.sequence_parallel = GetParam().sequence_parallel;
    config.extensions.tp_ring_transport = "nccl";
    return config;
  }
};
INSTANTIATE_TEST_SUITE_P(Techniques, TensorOverlaps, testing::ValuesIn(all_tensor_overlap_cases()), CaseName());

TEST_P(TensorOverlaps, TrainToTheBitAsOnTheHostInWhateverOrderTheGpuTakesItsStreams) {
  expect_bits_of_host(config(), 3, {1, 2});
}

TEST(CudaTrainer, TrainsUnderEveryScheduleToTheBitAsOnTheHost) {
  plan::Config config = with_overlap(small_config(2));
  config.parallel.pipeline_model_parallel_size = 2;
  config.train.num_microbatches = 3;
  for (const std::string& schedule : asked_schedules()) {
    config.extensions.pipeline_schedule = schedule;
    SCOPED_TRACE(schedule);
    expect_bits_of_host(config, 3, {1});
  }
}

class PipelinesAndContexts : public testing::TestWithParam<Variant> {};
INSTANTIATE_TEST_SUITE_P(Variants, PipelinesAndContexts,
                         testing::Values(Variant{"BatchedPipeline",
                                                 [](plan::Config& c) {
                                                   c.parallel.pipeline_model_parallel_size = 2;
                                                   c.train.num_microbatches = 3;
                                                 }},
                                         Variant{"VirtualStages",
                                                 [](plan::Config& c) {
                                                   c.model.num_layers = 4;
                                                   c.parallel.pipeline_model_parallel_size = 2;
                                                   c.parallel.virtual_pipeline_model_parallel_size = 2;
                                                   c.train.num_microbatches = 4;
                                                   c.pipeline.overlap_p2p_comm = true;
                                                   c.pipeline.batch_p2p_comm = false;
                                                   c.pipeline.microbatch_group_size_per_vp_stage = 2;
                                                   c.ddp.align_param_gather = true;
                                                 }},
                                         Variant{"ContextRing",
                                                 [](plan::Config& c) { c.parallel.context_parallel_size = 2; }},
                                         Variant{"ContextGather",
                                                 [](plan::Config& c) {
                                                   c.parallel.context_parallel_size = 2;
                                                   c.context.cp_comm_type = {plan::CpCommType::all_gather};
                                                 }}),
                         CaseName());

TEST_P(PipelinesAndContexts, TrainToTheBitAsOnTheHostInWhateverOrderTheGpuTakesItsStreams) {
  plan::Config config = with_overlap(small_config(2));
  GetParam().change(config);
  expect_bits_of_host(config, 3, {1, 2});
}

std::vector<TensorOverlapCase> cases_with_rings() {
  std::vector<TensorOverlapCase> cases = tensor_overlap_cases();
  std::erase_if(cases, [](const TensorOverlapCase& c) {
    return std::ranges::none_of(c.overlap.slots, [](const plan::TensorSlotOverlap& slot) {
      return slot.method == plan::TensorMethod::ring_exchange;
    });
  });
  return cases;
}
class Rings : public testing::TestWithParam<TensorOverlapCase> {};
INSTANTIATE_TEST_SUITE_P(Techniques, Rings, testing::ValuesIn(cases_with_rings()), CaseName());

TEST_P(Rings, TrainToTheBitAsOnTheHostWithHopsByCopyEnginesAtOneAndEightConnections) {
  for (const auto& [tp, dp, connections] : {std::array{2, 2, 1}, std::array{2, 2, 8}, std::array{4, 1, 1}}) {
    plan::Config config = with_overlap(small_tensor_config(tp, dp));
    config.tensor_overlap = on_small_gpu(GetParam().overlap);
    config.extensions.tp_ring_transport = "copy_engine";
    SCOPED_TRACE(testing::Message() << tp << " ranks, " << connections << " connections");
    expect_bits_of_host(config, 2, {1}, connections);
  }
  EXPECT_EQ(cuda_host::Machine::instance().num_freed_while_open, 0);
}

class Fp8TensorOverlaps : public testing::TestWithParam<TensorOverlapCase> {
 protected:
  static plan::Config config() {
    plan::Config config = small_tensor_config(2, 1);
    multiply_in_fp8(config);
    config.tensor_overlap = on_small_gpu(GetParam().overlap);
    config.extensions.tp_ring_transport = "nccl";
    return config;
  }
};
INSTANTIATE_TEST_SUITE_P(Techniques, Fp8TensorOverlaps, testing::ValuesIn(fp8_overlap_cases()), CaseName());

TEST_P(Fp8TensorOverlaps, TrainToTheBitAsOnTheHostAndWithCudaFormsWithinTheirTolerance) {
  expect_bits_of_host(config(), 2, {1});
  expect_cuda_forms_near_host(config(), 2);
}

TEST(CudaTrainer, TrainsTensorParallelWithCudaFormsWithinTheirTolerance) {
  plan::Config config = small_tensor_config(2, 1);
  config.tensor_overlap = on_small_gpu(tensor_overlap_cases()[2].overlap);
  config.extensions.tp_ring_transport = "nccl";
  expect_cuda_forms_near_host(config, 2);
}

TEST(CudaTrainer, NcclKnowsTheBuffersOfParametersAndGradientsWhereThatIsAskedForAndTrainsTheSame) {
  plan::Config config = with_overlap(small_config(2));
  const Training plain = train_on_cuda(config, 2, cuda::run_cpu_implementation_on_host);
  EXPECT_THAT(NcclDouble::instance().calls("MemAlloc"), IsEmpty()) << "nobody asked";
  const auto known = [&](const char* call) {
    const Training cuda = train_on_cuda(config, 2, cuda::run_cpu_implementation_on_host);
    EXPECT_THAT(cuda.losses, ElementsAreArray(plain.losses));
    return NcclDouble::instance().calls(call).size();
  };
  config.ddp.nccl_ub = true;
  EXPECT_EQ(known("CommWindowRegister"), 4U) << "parameters and gradients of two ranks";
  config.ddp.disable_symmetric_registration = true;
  EXPECT_EQ(known("CommRegister"), 4U);
  EXPECT_EQ(NcclDouble::instance().calls("CommDeregister").size(), 4U);
  config.ddp.use_distributed_optimizer = false;
  config.ddp.overlap_param_gather = false;
  (void)train_on_cuda(config, 1, cuda::run_cpu_implementation_on_host);
  EXPECT_EQ(NcclDouble::instance().calls("CommRegister").size(), 2U) << "nobody gathers parameters";
}

TEST(CudaTrainer, CollectivesBesideGemmsHaveTheClustersOfTheirSlot) {
  plan::Config config = small_tensor_config(2, 1);
  config.tensor_overlap[plan::TensorSlot::qkv_dgrad] = {.method = plan::TensorMethod::bulk, .num_sm = 2, .cga_size = 2};
  (void)train_on_cuda(config, 1, cuda::run_cpu_implementation_on_host);
  std::vector<std::pair<int, int>> asked;  // blocks and clusters
  for (const auto& [of, hints] : NcclDouble::instance().configs())
    asked.emplace_back(hints.maxCTAs, hints.cgaClusterSize);
  EXPECT_THAT(asked, Contains(std::pair(2, 2)).Times(2)) << "one communicator of two ranks";
  EXPECT_THAT(asked, Contains(std::pair(NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT)));
}

TEST(CudaTrainer, RefusesPartialSumsThatNcclCannotKeep) {
  plan::Config config = with_overlap(small_config(2));
  config.ddp.grad_reduce_in_fp32 = false;
  config.extensions.reduce_accumulator = "fp32";
  EXPECT_THAT([&] { train_on_cuda(config, 1, cuda::run_cpu_implementation_on_host); },
              ThrowsMessage<std::runtime_error>(HasSubstr("reduce_accumulator")));
}

}  // namespace
}  // namespace underlap
