// SPDX-License-Identifier: Apache-2.0
// Training in virtual time: the same values as on real streams, and the same times on every machine.
#include "impl/step/simulation.hpp"
#include "tests/impl/step/step_times.hpp"

namespace underlap {
namespace {

using namespace testing_support;  // NOLINT

constexpr std::int32_t kSimulatedSteps = 4;

Training simulate(plan::Config config, const sim::TimeModel& times) {
  omp_set_num_threads(1);
  config.run.numerics = true;
  const auto data = model::TextData::open(config.train.data, config.model.seq_length, config.run.seed);
  Simulation simulation(config, data, times);
  Training result;
  result.traces = {simulation.play(0, kSimulatedSteps)};
  EXPECT_EQ(simulation.memory()->num_conflicts(), 0);
  result.losses = mean_losses(simulation.take_losses());
  const dp::Buffers& buffers = simulation.buffers(0);
  std::vector<bf16> parameters(static_cast<std::size_t>(buffers.layout.elements));
  simulation.memory()->download(0, flat(buffers.params), std::as_writable_bytes(std::span(parameters)));
  for (const bf16 value : parameters) result.parameters.push_back(static_cast<float>(value));
  return result;
}

struct Variant {
  const char* name;
  void (*change)(plan::Config&);
};
void PrintTo(const Variant& v, std::ostream* out) { *out << v.name; }

class SimulatedTraining : public testing::TestWithParam<Variant> {};
INSTANTIATE_TEST_SUITE_P(
    Variants, SimulatedTraining,
    testing::Values(Variant{"off", [](plan::Config&) {}},
                    Variant{"both",
                            [](plan::Config& c) {
                              c.ddp.overlap_grad_reduce = c.ddp.overlap_param_gather = true;
                              c.ddp.bucket_size = 4000;
                            }},
                    Variant{"bf16", [](plan::Config& c) { c.ddp.grad_reduce_in_fp32 = false; }},
                    Variant{"average", [](plan::Config& c) { c.ddp.average_in_collective = true; }},
                    Variant{"fp32_accumulation",
                            [](plan::Config& c) {
                              c.ddp.grad_reduce_in_fp32 = false;
                              c.ddp.overlap_grad_reduce = c.ddp.reduce_scatter_with_fp32_accumulation = true;
                              c.ddp.bucket_size = 4000;
                            }},
                    Variant{"all_reduce", [](plan::Config& c) { c.ddp.use_distributed_optimizer = false; }},
                    Variant{"instances",
                            [](plan::Config& c) {
                              c.parallel.data_parallel_size = 4;
                              c.ddp.num_distributed_optimizer_instances = 2;
                              c.ddp.grad_reduce_in_fp32 = false;
                              c.ddp.overlap_grad_reduce = c.ddp.overlap_param_gather = true;
                              c.ddp.bucket_size = 4000;
                              c.optimizer.clip_grad = 0.5;
                            }},
                    Variant{"clip_grad",
                            [](plan::Config& c) {
                              c.optimizer.clip_grad = 0.5;
                              c.train.num_microbatches = 2;
                            }}),
    CaseName());

TEST_P(SimulatedTraining, ComputesWhatRealStreamsCompute) {
  plan::Config config = small_config(2);
  GetParam().change(config);
  const Training host = train(config, kSimulatedSteps);
  const Training sim = simulate(config, StepTimes(3.0));
  EXPECT_EQ(sim.losses, host.losses);
  EXPECT_EQ(sim.parameters, host.parameters);
}

// What ranks of one shard hold: the same weights, cast with the scales that all ranks found.
TEST(SimulatedInstances, UpdateAndQuantiseAlike) {
  omp_set_num_threads(1);
  plan::Config config = small_config(4);
  config.model.num_layers = 3;  // the inner one is fp8
  config.mixed_precision = {.recipe = "bf16_with_fp8_current_scaling_mixed", .fp8_param_gather = true};
  config.ddp.num_distributed_optimizer_instances = 2;
  config.run.numerics = true;
  const StepTimes times(3.0);
  const auto data = model::TextData::open({}, config.model.seq_length, 1);
  Simulation simulation(config, data, times);
  simulation.play(0, kSimulatedSteps);
  const auto bytes_of = [&](std::int32_t rank, Tensor dp::Buffers::*tensor) {
    const View all = flat(simulation.buffers(rank).*tensor);
    std::vector<std::byte> bytes(static_cast<std::size_t>(all.bytes()));
    simulation.memory()->download(rank, all, bytes);
    return bytes;
  };
  for (const std::int32_t rank : {0, 1})
    for (const auto tensor : {&dp::Buffers::params, &dp::Buffers::fp8_params})
      EXPECT_TRUE(bytes_of(rank, tensor) == bytes_of(rank + 2, tensor)) << "rank " << rank;
  for (const std::int32_t rank : {1, 2, 3})
    EXPECT_TRUE(bytes_of(rank, &dp::Buffers::inverse_scales) == bytes_of(0, &dp::Buffers::inverse_scales));
}

TEST(SimulatedTime, DoesNotDependOnWhetherValuesAreComputed) {
  plan::Config config = small_config(2);
  config.ddp.overlap_grad_reduce = true;
  config.run.fold = false;
  const StepTimes times(3.0);
  const auto data = model::TextData::open({}, config.model.seq_length, 1);
  Simulation simulation(config, data, times);
  const Trace trace = simulation.play(0, kSimulatedSteps);
  const Trace with_values = simulate(config, times).traces[0];
  ASSERT_EQ(trace.size(), with_values.size());
  const std::int64_t ahead = with_values.start_ns()[0] - trace.start_ns()[0];  // initial weights are computed as well
  for (std::size_t i = 0; i < trace.size(); ++i)
    ASSERT_EQ(trace.start_ns()[i] + ahead, with_values.start_ns()[i]) << "slice " << i;
  EXPECT_TRUE(simulation.take_losses().empty());
}

std::int64_t bytes_of(const Trace& trace, NameId purpose) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < trace.size(); ++i)
    if (trace.tag(i).purpose == purpose) sum += trace.communication(i)->bytes_on_wire();
  return sum;
}
std::int64_t count_of(const Trace& trace, NameId purpose) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < trace.size(); ++i) count += trace.tag(i).purpose == purpose ? 1 : 0;
  return count;
}

TEST(SimulatedLaws, Bf16HalvesTheBytesOfTheReductionAndABucketCountsParameters) {
  const NameId kReduce = intern("grad_reduce_scatter");
  plan::Config config = small_config(2);
  config.ddp.overlap_grad_reduce = true;
  config.ddp.bucket_size = 4000;
  const Trace fp32 = simulated_trace(config, 1.0);
  config.ddp.grad_reduce_in_fp32 = false;
  const Trace bf16 = simulated_trace(config, 1.0);
  EXPECT_EQ(bytes_of(fp32, kReduce), 2 * bytes_of(bf16, kReduce));
  EXPECT_EQ(bytes_of(fp32, intern("param_all_gather")), bytes_of(bf16, intern("param_all_gather")));
  EXPECT_EQ(count_of(fp32, kReduce), count_of(bf16, kReduce)) << "as many buckets of twice the bytes";
}

TEST(SimulatedLaws, AJitteredStepOfARightScheduleHasNoConflict) {
  plan::Config config = small_config(2);
  config.ddp.overlap_grad_reduce = config.ddp.overlap_param_gather = true;
  config.ddp.bucket_size = 4000;
  const Training calm = simulate(config, StepTimes(3.0));
  config.run.jitter_pct = 100;
  for (const std::uint64_t seed : {2, 3, 4}) {
    plan::Config jittered = config;
    jittered.run.seed = seed;
    simulate(jittered, StepTimes(3.0));  // which wants no conflict
  }
  EXPECT_EQ(simulate(config, StepTimes(3.0)).losses, calm.losses) << "times move no value";
}

}  // namespace
}  // namespace underlap
