// SPDX-License-Identifier: Apache-2.0
#include "tests/impl/plan/plan_testing.hpp"
#include "tests/impl/step/asked_schedules.hpp"
#include "tests/impl/step/training.hpp"

namespace underlap {
namespace {

using namespace testing_support;  // NOLINT

TEST(Trainer, LossFalls) {
  const Training run = train(small_config(1), 60);
  EXPECT_NEAR(run.losses.front(), std::log(256.0), 0.1) << "untrained, every byte is about as likely";
  EXPECT_LT(run.losses.back(), 4.0);
}

// Every overlap setting against the cell without overlap, for buckets of one parameter and of several.
struct OverlapCase {
  const char* name;
  bool grads;
  bool params;
  std::int64_t bucket_size;
  std::int32_t ranks = 4;
  void (*change)(plan::Config&) = [](plan::Config& c) { c.train.num_microbatches = 2; };
};
class Overlap : public testing::TestWithParam<OverlapCase> {};
INSTANTIATE_TEST_SUITE_P(
    Settings, Overlap,
    testing::Values(OverlapCase{"GradsOnly", true, false, 4000}, OverlapCase{"ParamsOnly", false, true, 4000},
                    OverlapCase{"BothOneParameterABucket", true, true, 1}, OverlapCase{"Both", true, true, 9999},
                    OverlapCase{"BothOneBucket", true, true, 100'000'000},
                    OverlapCase{"AllReduce", true, false, 4000, 3,
                                [](plan::Config& c) { c.ddp.use_distributed_optimizer = false; }},
                    OverlapCase{"TwoInstances", true, true, 4000, 4,
                                [](plan::Config& c) { c.ddp.num_distributed_optimizer_instances = 2; }},
                    OverlapCase{"FourInstances", true, true, 4000, 4,
                                [](plan::Config& c) { c.ddp.num_distributed_optimizer_instances = 4; }},
                    OverlapCase{"Fp32Accumulation", true, true, 5000, 3,
                                [](plan::Config& c) {
                                  c.ddp.reduce_scatter_with_fp32_accumulation = !c.ddp.grad_reduce_in_fp32;
                                }},
                    OverlapCase{"TiedEmbeddings", true, true, 4000, 2,
                                [](plan::Config& c) {
                                  c.model.share_embeddings_and_output_weights = true;
                                  c.model.activation = plan::Activation::gelu;
                                }}),
    CaseName());

// Other buckets lay the parameters out in another way, so losses are compared alone.
TEST_P(Overlap, LeavesLossesBitIdentical) {
  const auto& [name, grads, params, bucket_size, ranks, change] = GetParam();
  for (const bool fp32 : {true, false}) {
    plan::Config config = small_config(ranks);
    config.ddp.grad_reduce_in_fp32 = fp32;
    change(config);
    EXPECT_THAT(train(with_overlap(config, bucket_size, grads, params), 6).losses,
                ElementsAreArray(train(config, 6).losses))
        << (fp32 ? "fp32" : "bf16");
  }
}

TEST(Trainer, CutsItsBuffersAsThePlanSays) {
  const plan::Plan plan = plan::plan_of(
      "model: {preset: tiny, pipeline_model_parallel_size: 2, virtual_pipeline_model_parallel_size: 2}\n"
      "data_parallel_size: 2\ntrain: {num_microbatches: 4}\n"
      "comm_overlap: {bucket_size: 100000}\nextensions: {bucket_every_stage: true}\n");
  ASSERT_EQ(plan.buckets.size(), 4U);
  const auto data = model::TextData::open("", plan.config.model.seq_length, 1);
  host::Ranks ranks(plan.config.parallel.world_size());
  ranks.run([&](host::HostDevice& device, const Group& group) {
    const Trainer trainer(device, plan.config, parallel_groups(plan.config, group.my_index), data);
    for (const plan::ChunkBuckets& of : plan.buckets) {
      if (of.stage != place_of(plan.config.parallel, group.my_index).stage()) continue;
      std::vector<std::int64_t> cut;
      for (const plan::Bucket& bucket : trainer.buffers(of.chunk).layout.buckets) cut.push_back(bucket.elements());
      EXPECT_THAT(cut, ElementsAreArray(of.elements)) << "stage " << of.stage << " chunk " << of.chunk;
      EXPECT_GT(cut.size(), 1U);
    }
  });
}

TEST(Trainer, FourRanksTrainAsOneDoes) {
  plan::Config one = small_config(1);
  one.train.num_microbatches = 4;
  plan::Config four = with_overlap(small_config(4), 4000);
  const Training a = train(one, 20);
  const Training b = train(four, 20);
  EXPECT_LT(largest_relative_difference(b.losses, a.losses), 2e-3) << "same samples, gradients summed in another order";
}

TEST(Trainer, SameSeedSameBitsAnotherSeedOthers) {
  plan::Config config = with_overlap(small_config(2), 4000);
  const Training first = train(config, 5);
  EXPECT_THAT(train(config, 5).parameters, ElementsAreArray(first.parameters));
  config.run.seed = 2;
  EXPECT_NE(train(config, 5).losses, first.losses);
}

TEST(Trainer, TheOptimizersShardsMoveNoLoss) {
  plan::Config config = small_config(3);
  const Training sharded = train(config, 6);
  config.ddp.use_distributed_optimizer = false;
  EXPECT_THAT(train(config, 6).losses, ElementsAreArray(sharded.losses));
  config = small_config(4);
  const Training one = train(config, 6);
  for (const std::int32_t instances : {2, 4}) {
    config.ddp.num_distributed_optimizer_instances = instances;
    EXPECT_LT(largest_relative_difference(train(config, 6).losses, one.losses), 1e-4);
  }
}

// A step as long as the gradient: Adam, which by itself does not ask how long gradients are, has an eps above them all.
TEST(Trainer, SeveralInstancesCountEveryShardOnceInTheNorm) {
  plan::Config config = small_config(4);
  config.optimizer.clip_grad = 0.1;
  config.optimizer.adam_eps = 10;
  config.optimizer.lr = 100;
  const Training one = train(config, 6);
  config.ddp.num_distributed_optimizer_instances = 2;
  EXPECT_LT(largest_relative_difference(train(config, 6).losses, one.losses), 1e-4);
  config.optimizer.clip_grad = 0.1 / std::sqrt(2.0);
  EXPECT_GT(largest_relative_difference(train(config, 6).losses, one.losses), 1e-3);
}

TEST(Trainer, EveryVariantOfTheReductionTrainsWithinItsTolerance) {
  plan::Config config = with_overlap(small_config(4), 9000);
  config.ddp.grad_reduce_in_fp32 = false;
  const Training plain = train(config, 8);
  const auto differs_by = [&](auto change) {
    plan::Config changed = config;
    change(changed);
    return largest_relative_difference(train(changed, 8).losses, plain.losses);
  };
  EXPECT_LT(differs_by([](plan::Config& c) { c.ddp.average_in_collective = true; }), 1e-2);
  EXPECT_LT(differs_by([](plan::Config& c) { c.ddp.reduce_scatter_with_fp32_accumulation = true; }), 1e-2);
  EXPECT_LT(differs_by([](plan::Config& c) { c.extensions.reduce_accumulator = "fp32"; }), 1e-2);
  EXPECT_LT(differs_by([](plan::Config& c) { c.ddp.grad_reduce_in_fp32 = true; }), 1e-2);
  EXPECT_EQ(differs_by([](plan::Config& c) { c.extensions.param_gather_prefetch = 3; }), 0);
  EXPECT_EQ(differs_by([](plan::Config& c) { c.extensions.separate_gather_communicator = true; }), 0);
  EXPECT_EQ(differs_by([](plan::Config& c) { c.ddp.pad_buckets_for_high_nccl_busbw = true; }), 0);
}

TEST(Trainer, EverySchedulePutsNoOtherBitIntoLosses) {
  plan::Config config = with_overlap(small_config(2), 4000);
  config.parallel.pipeline_model_parallel_size = 2;
  config.train.num_microbatches = 5;
  const Training megatron = train(config, 6);
  for (const std::string& schedule : asked_schedules())
    for (const bool is_batched : {true, false}) {
      config.extensions.pipeline_schedule = schedule;
      config.pipeline.batch_p2p_comm = is_batched;
      expect_same(train(config, 6, {.guard_views = true}), megatron, schedule);
    }
}

TEST(Trainer, ClippingBoundsTheStepAndIsTheSameOnEveryShardCount) {
  plan::Config config = small_config(2);
  config.optimizer.clip_grad = 1e-3;
  const Training sharded = train(config, 6);
  config.ddp.use_distributed_optimizer = false;
  EXPECT_LT(largest_relative_difference(train(config, 6).losses, sharded.losses), 1e-4);
  config.optimizer.clip_grad = 0;
  EXPECT_NE(train(config, 6).losses, sharded.losses);
}

TEST(Trainer, NoOperationTouchesWhatItDoesNotDeclare) {
  plan::Config config = with_overlap(small_config(2), 4000);
  config.model.activation = plan::Activation::squared_relu;
  config.optimizer.clip_grad = 1;
  const Training plain = train(config, 3);
  EXPECT_THAT(train(config, 3, {.guard_views = true}).losses, ElementsAreArray(plain.losses));
}

// What a rank sent, by purpose, in order of start.
std::vector<Slice> slices_of(const Trace& trace, std::string_view purpose) {
  std::vector<Slice> found;
  for (std::size_t i = 0; i < trace.size(); ++i)
    if (trace.tag(i).purpose == intern(purpose)) found.push_back(trace.slice(i));
  return found;
}

TEST(Trainer, SendsNoGradientBeforeTheLastMicrobatch) {
  plan::Config config = with_overlap(small_config(2), 4000);
  config.train.num_microbatches = 3;
  const Trace trace = train(config, 2).traces[0];
  std::int64_t last_microbatch_begins = 0;
  for (std::size_t i = 0; i < trace.size(); ++i)
    if (trace.tag(i).step == 1 && trace.tag(i).microbatch == 2 && last_microbatch_begins == 0)
      last_microbatch_begins = trace.start_ns()[i];
  const std::vector<Slice> sent = slices_of(trace, "grad_reduce_scatter");
  ASSERT_GT(sent.size(), 4U);
  for (const Slice& slice : sent)
    if (slice.tag.step == 1) {
      EXPECT_GE(slice.start_ns, last_microbatch_begins);
    }
}

TEST(Trainer, MarksEveryStepOnceAtItsEnd) {
  const Trace trace = train(small_config(2), 4).traces[1];
  ASSERT_EQ(trace.marks.size(), 4U);
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const std::int32_t step = trace.tag(i).step;
    if (step >= 0 && trace.tag(i).kind == Kind::compute) {
      EXPECT_LE(trace.end_ns(i), trace.marks[static_cast<std::size_t>(step)].time_ns) << "step " << step;
    }
  }
}

}  // namespace
}  // namespace underlap
