// SPDX-License-Identifier: Apache-2.0
#include "impl/dp/technique.hpp"
#include "impl/plan/config.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "tests/impl/dp/schedule_text.hpp"
#include "tests/testing.hpp"

namespace underlap::dp {
namespace {

// Four parameters of 128 elements in four buckets on rank 1 of 2: bucket 3 is the start of the model.
class Techniques : public testing::Test {
 protected:
  Techniques() {
    for (int i = 0; i < 4; ++i) buffers_.parameters.push_back({.name = "p", .rows = 1, .cols = 128});
    buffers_.layout = lay_out(buffers_.parameters, {.bucket_size = 128, .num_shards = 2});
    buffers_.group = {.members = {0, 1}, .my_index = 1};
    buffers_.params = device_.allocate("params", DataType::bf16, buffers_.layout.elements);
    buffers_.grads = device_.allocate("grads", DataType::f32, buffers_.layout.elements);
    compute_ = device_.create_stream("compute");
    dp_ = device_.declare("dp", buffers_.group);
    config_.ddp.average_in_collective = true;
  }

  // With four ranks in two instances, of which this one's is the second.
  void add_instances() {
    across_ = device_.declare("dp_instances", {.members = {0, 1}, .my_index = 1});
    config_.ddp.num_distributed_optimizer_instances = 2;
  }
  Context context() {
    return {.device = &device_,
            .buffers = &buffers_,
            .compute = compute_,
            .reduce = dp_,
            .gather = dp_,
            .across_instances = across_,
            .config = &config_};
  }
  void backward(GradReduce& reduce) {
    reduce.begin_step(0);
    for (std::int32_t p = 3; p >= 0; --p) {
      note("wgrad");
      reduce.after_wgrad({&p, 1});
    }
    reduce.finish();
  }
  void forward(ParamGather& gather) {
    gather.begin_step(0);
    for (int microbatch = 0; microbatch < 2; ++microbatch) {
      for (std::int32_t p = 0; p < 4; ++p) {
        gather.before_use({&p, 1});
        note("forward");
      }
    }
  }

  void note(std::string_view what) {
    device_.launch(compute_, {.purpose = intern(what)}, kernels::fill(flat(buffers_.grads), 0));
  }
  std::vector<std::string> head(std::ptrdiff_t lines) const {
    const std::vector<std::string> all = log();
    return {all.begin(), all.begin() + lines};
  }
  std::ptrdiff_t count(const std::string& line) const {
    const std::vector<std::string> all = log();
    return std::count(all.begin(), all.end(), line);
  }
  std::vector<std::string> log() const { return schedule_text(device_.program()); }

  RecordingDevice device_;
  Buffers buffers_;
  Stream compute_;
  Communicator dp_;
  std::optional<Communicator> across_;
  plan::Config config_;
};

TEST_F(Techniques, OverlappedReduceSendsEachBucketWhenItsLastGradientIsThere) {
  config_.ddp.overlap_grad_reduce = true;
  backward(*make_grad_reduce(context()));
  EXPECT_THAT(log(), ElementsAre("compute: wgrad", "dp waits for compute", "dp: grad_reduce_scatter 0+128",    //
                                 "compute: wgrad", "dp waits for compute", "dp: grad_reduce_scatter 128+128",  //
                                 "compute: wgrad", "dp waits for compute", "dp: grad_reduce_scatter 256+128",  //
                                 "compute: wgrad", "dp waits for compute", "dp: grad_reduce_scatter 384+128",
                                 "compute waits for dp"));
}

TEST_F(Techniques, WithoutAverageInCollectiveTheComputeStreamScalesFirst) {
  config_.ddp.overlap_grad_reduce = true;
  config_.ddp.average_in_collective = false;
  backward(*make_grad_reduce(context()));
  EXPECT_EQ(log()[1], "compute: grad_scale 0");
  EXPECT_EQ(log()[2], "dp waits for compute");
}

TEST_F(Techniques, ReduceAfterBackwardSendsOneGroup) {
  backward(*make_grad_reduce(context()));
  EXPECT_THAT(
      log(), ElementsAre("compute: wgrad", "compute: wgrad", "compute: wgrad", "compute: wgrad", "dp waits for compute",
                         "dp: grad_reduce_scatter 0+128 128+128 256+128 384+128", "compute waits for dp"));
}

TEST_F(Techniques, SeveralInstancesSumTheShardBehindEachReduceScatter) {
  add_instances();
  config_.ddp.overlap_grad_reduce = true;
  backward(*make_grad_reduce(context()));
  EXPECT_THAT(head(10), ElementsAre("compute: wgrad", "dp waits for compute", "dp: grad_reduce_scatter 0+128",
                                    "dp_instances waits for dp", "dp_instances: grad_all_reduce 64+64",  //
                                    "compute: wgrad", "dp waits for compute", "dp keeps behind dp_instances",
                                    "dp: grad_reduce_scatter 128+128", "dp_instances waits for dp"));
  EXPECT_EQ(log().back(), "compute waits for dp_instances");
  EXPECT_EQ(count("dp_instances: grad_all_reduce 448+64"), 1);
}

TEST_F(Techniques, SeveralInstancesAfterBackwardSendAGroupEach) {
  add_instances();
  backward(*make_grad_reduce(context()));
  EXPECT_THAT(
      log(), ElementsAre("compute: wgrad", "compute: wgrad", "compute: wgrad", "compute: wgrad", "dp waits for compute",
                         "dp: grad_reduce_scatter 0+128 128+128 256+128 384+128", "dp_instances waits for dp",
                         "dp_instances: grad_all_reduce 64+64 192+64 320+64 448+64", "compute waits for dp_instances"));
}

TEST_F(Techniques, Fp32AccumulationSumsABucketBeforeItSendsTheNext) {
  config_.ddp.overlap_grad_reduce = true;
  config_.ddp.reduce_scatter_with_fp32_accumulation = true;
  backward(*make_grad_reduce(context()));
  EXPECT_THAT(head(8), ElementsAre("compute: wgrad", "dp waits for compute", "dp: grad_all_to_all 0+128",  //
                                   "compute: wgrad", "compute waits for dp", "compute: grad_fp32_sum 0",
                                   "dp waits for compute", "dp: grad_all_to_all 128+128"));
  EXPECT_EQ(log().back(), "compute: grad_fp32_sum 3");
}

TEST_F(Techniques, AGradientThatNeverComesIsAnErrorAndNotAHang) {
  config_.ddp.overlap_grad_reduce = true;
  const auto reduce = make_grad_reduce(context());
  reduce->begin_step(0);
  reduce->after_wgrad(std::vector{3});
  EXPECT_THROW(reduce->finish(), std::logic_error);
}

TEST_F(Techniques, GatherAtDepthOneSendsTheNextBucketAfterTheWaitForThisOne) {
  config_.ddp.overlap_param_gather = true;
  forward(*make_param_gather(context()));
  const std::vector<std::string> first_two_uses = head(10);
  EXPECT_THAT(first_two_uses,
              ElementsAre("dp waits for compute",  //
                          "dp keeps behind compute", "dp: param_all_gather 448+64", "compute waits for dp",
                          "dp: param_all_gather 320+64", "compute: forward",  //
                          "compute waits for dp", "dp keeps behind compute", "dp: param_all_gather 192+64",
                          "compute: forward"));
  EXPECT_EQ(count("compute waits for dp"), 4) << "once a bucket, not once a microbatch";
}

TEST_F(Techniques, GatherAtDepthTwoKeepsTwoBucketsInFlight) {
  config_.ddp.overlap_param_gather = true;
  config_.extensions.param_gather_prefetch = 2;
  forward(*make_param_gather(context()));
  EXPECT_EQ(log()[4], "dp: param_all_gather 320+64");
  EXPECT_EQ(log()[5], "dp: param_all_gather 192+64");
  EXPECT_EQ(log()[6], "compute: forward");
}

TEST_F(Techniques, AnOperationThatUsesTwoBucketsWaitsForTheLaterGather) {
  config_.ddp.overlap_param_gather = true;
  const auto gather = make_param_gather(context());
  gather->begin_step(0);
  gather->before_use(std::vector{0, 1});
  note("forward");
  EXPECT_THAT(log(),
              ElementsAre("dp waits for compute",  //
                          "dp keeps behind compute", "dp: param_all_gather 448+64", "dp: param_all_gather 320+64",
                          "compute waits for dp", "dp: param_all_gather 192+64", "compute: forward"));
}

TEST_F(Techniques, BucketsThatOneOperationCompletesWaitForItOnce) {
  config_.ddp.overlap_grad_reduce = true;
  const auto reduce = make_grad_reduce(context());
  reduce->begin_step(0);
  note("wgrad");
  reduce->after_wgrad(std::vector{3, 2});
  EXPECT_THAT(log(), ElementsAre("compute: wgrad", "dp waits for compute", "dp: grad_reduce_scatter 0+128",
                                 "dp: grad_reduce_scatter 128+128"));
}

TEST_F(Techniques, GatherBeforeForwardIsOneGroupThatForwardWaitsFor) {
  forward(*make_param_gather(context()));
  EXPECT_THAT(head(4), ElementsAre("dp waits for compute", "dp: param_all_gather 64+64 192+64 320+64 448+64",
                                   "compute waits for dp", "compute: forward"));
}

TEST(TechniqueRegistry, ListsEveryTechniqueAndPutsTheOneInEffectThatItsKnobsAskFor) {
  EXPECT_THAT(GradReduces::all(), SizeIs(3));
  EXPECT_THAT(ParamGathers::all(), SizeIs(3));
  for (int bits = 0; bits < 16; ++bits) {
    plan::Config config;
    config.ddp.overlap_grad_reduce = (bits & 1) != 0;
    config.ddp.overlap_param_gather = (bits & 2) != 0;
    config.ddp.use_distributed_optimizer = (bits & 4) != 0;
    config.ddp.reduce_scatter_with_fp32_accumulation = (bits & 8) != 0;
    const plan::DdpConfig& ddp = config.ddp;
    const bool in_fp32 = ddp.reduce_scatter_with_fp32_accumulation && ddp.use_distributed_optimizer;
    EXPECT_EQ(GradReduces::in_effect(config).name, in_fp32                   ? "fp32_accumulation_grad_reduce"
                                                   : ddp.overlap_grad_reduce ? "overlapped_grad_reduce"
                                                                             : "grad_reduce_after_backward");
    EXPECT_EQ(ParamGathers::in_effect(config).name, !ddp.use_distributed_optimizer ? "no_param_gather"
                                                    : ddp.overlap_param_gather     ? "prefetched_param_gather"
                                                                                   : "param_gather_before_forward");
  }
}

}  // namespace
}  // namespace underlap::dp
