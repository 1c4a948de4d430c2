// SPDX-License-Identifier: Apache-2.0
#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

using testing::Field;

const std::string kModel =
    "--num-layers 8 --hidden-size 256 --num-attention-heads 8 --seq-length 128 --vocab-size 1000 "
    "--micro-batch-size 1 --global-batch-size 16 --world-size 16 --tensor-model-parallel-size 2 "
    "--pipeline-model-parallel-size 2 --bf16 ";

const std::string kGrads = "comm_overlap.overlap_grad_reduce";

TEST(MegatronArguments, HaveTheDefaultsOfTheirOwnCommandLine) {
  const Plan plan = plan_of(kModel);
  const Config& c = plan.config;
  EXPECT_EQ(c.parallel.data_parallel_size, 4);
  EXPECT_EQ(c.model.vocab_size, 1024) << "padded to a multiple of 128 of each tensor-parallel rank";
  EXPECT_EQ(c.model.num_query_groups, 8);
  EXPECT_EQ(c.model.activation, Activation::gelu);
  EXPECT_TRUE(c.model.share_embeddings_and_output_weights && c.model.add_bias_linear);
  EXPECT_EQ(c.model.normalization, Normalization::layer_norm);
  EXPECT_EQ(outcome(plan, kGrads), "false auto");
  EXPECT_EQ(outcome(plan, "ddp.use_distributed_optimizer"), "false user");
  EXPECT_TRUE(c.ddp.grad_reduce_in_fp32);
  EXPECT_TRUE(c.pipeline.batch_p2p_comm && !c.pipeline.overlap_p2p_comm);
}

TEST(MegatronArguments, AreKnobsUnderNamesOfTheirOwn) {
  const Plan plan =
      plan_of(kModel +
              "--swiglu --untie-embeddings-and-output-weights --disable-bias-linear --normalization RMSNorm\n"
              "--position-embedding-type rope --group-query-attention --num-query-groups 4 --sequence-parallel\n"
              "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather --ddp-bucket-size=5000000\n"
              "--num-layers-per-virtual-pipeline-stage 2 --tp-comm-overlap --grad-reduce-in-bf16\n");
  const Config& c = plan.config;
  EXPECT_EQ(c.model.activation, Activation::swiglu);
  EXPECT_EQ(c.model.ffn_hidden_size, 640) << "two thirds of four times hidden_size, in whole 64s";
  EXPECT_EQ(c.model.num_query_groups, 4);
  EXPECT_EQ(c.model.position_embedding_type, PositionEmbedding::rope);
  EXPECT_FALSE(c.model.share_embeddings_and_output_weights || c.model.add_bias_linear || c.ddp.grad_reduce_in_fp32);
  EXPECT_EQ(c.parallel.virtual_pipeline_model_parallel_size, 2);
  EXPECT_TRUE(c.pipeline.overlap_p2p_comm && c.ddp.align_param_gather && c.ddp.overlap_param_gather);
  EXPECT_EQ(c.ddp.bucket_size, 5'000'000);
  EXPECT_EQ(knob_of(plan, kGrads).where, "f:3:29");
}

TEST(MegatronArguments, TakeOneVirtualStageForNone) {
  const Plan plan = plan_of(kModel + "--num-virtual-stages-per-pipeline-rank 1\n");
  EXPECT_FALSE(plan.config.parallel.is_interleaved());
  EXPECT_FALSE(plan.config.pipeline.overlap_p2p_comm);
}

// The reader's list of entries grows while it fills in defaults: at each length, they cite the same argument.
TEST(MegatronArguments, DefaultsOfAPipelineCiteItsArgumentHoweverManyThereAre) {
  const std::string vpp = "model.virtual_pipeline_model_parallel_size";
  std::string more;
  for (const char* next : {"", "--swiglu\n", "--disable-bias-linear\n", "--sequence-parallel\n",
                           "--context-parallel-size 1\n", "--no-gradient-accumulation-fusion\n",
                           "--use-distributed-optimizer\n", "--overlap-grad-reduce\n", "--overlap-param-gather\n"}) {
    more += next;
    const Plan plan = plan_of("--num-virtual-stages-per-pipeline-rank 2\n" + kModel + more);
    EXPECT_EQ(knob_of(plan, "comm_overlap.overlap_p2p_comm").where, knob_of(plan, vpp).where) << more;
  }
}

TEST(MegatronArguments, SayWhatMemoryFollowsFrom) {
  const Config c = plan_of(kModel +
                           "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params\n"
                           "--suggested-communication-unit-size 200000000 --fsdp-double-buffer\n"
                           "--use-precision-aware-optimizer\n")
                       .config;
  ASSERT_TRUE(c.ddp.fsdp.has_value());
  EXPECT_EQ(c.ddp.fsdp->strategy, ShardingStrategy::optim_grads_params);
  EXPECT_EQ(c.ddp.fsdp->communication_unit_size, 200'000'000);
  EXPECT_TRUE(c.ddp.fsdp->double_buffer && c.optimizer.use_precision_aware_optimizer);
  const std::string alone =
      "--num-layers 8 --hidden-size 256 --num-attention-heads 8 --seq-length 128 --vocab-size 1000 "
      "--micro-batch-size 1 --bf16 --cpu-offloading --cpu-offloading-num-layers 3\n";
  EXPECT_EQ(plan_of(alone).config.offload.num_layers, 3);
}

TEST(MegatronArguments, MayBeThoseOfALaunchScript) {
  const Plan plan = plan_of("# what every job has\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\nARGS=(\n  " + kModel +
                            "\\\n  --train-iters 100 \\\n  --data-path \"a b\"\n)\n");
  EXPECT_EQ(plan.config.environment.cuda_device_max_connections, 1);
  EXPECT_THAT(
      plan.notices,
      Contains(Field(&Message::message,
                     HasSubstr("2 arguments are ignored as irrelevant to the plan: --train-iters, --data-path"))));
}

TEST(MegatronArguments, MayBeThoseOfAWholeScript) {
  std::string model = kModel;
  model.erase(model.find("--world-size"), 16);
  const Plan plan = plan_of(
      "#!/bin/bash\nGPUS_PER_NODE=8\nNUM_NODES=2\nWORLD_SIZE=$(($GPUS_PER_NODE*$NUM_NODES))\nTP=4\n"
      "DISTRIBUTED_ARGS=(\n    --nproc_per_node $GPUS_PER_NODE\n    --nnodes ${NUM_NODES}\n)\nMODEL_ARGS=(\n" +
      model + "    --tensor-model-parallel-size $TP # as many\n)\ntorchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py\n");
  EXPECT_EQ(plan.config.parallel.tensor_model_parallel_size, 4);
  EXPECT_EQ(plan.config.parallel.data_parallel_size, 2) << "8 * 2 ranks, of which a model takes 4 * 2";
  EXPECT_THAT(errors_of("#!/bin/bash\n" + kModel + "--tensor-model-parallel-size $UNSET"), Only("not \"$UNSET\""));
}

TEST(MegatronArguments, AreSaidWhereTheyCountForNothing) {
  const auto is_told = [](const std::string& words) { return Contains(Field(&Message::message, HasSubstr(words))); };
  EXPECT_THAT(plan_of(kModel + "--overlap-grad-reduse --vocab-file x").notices,
              AllOf(is_told("unknown argument --overlap-grad-reduse is ignored; did you mean --overlap-grad-reduce?"),
                    is_told("1 argument is ignored as irrelevant to the plan: --vocab-file")));
  EXPECT_THAT(plan_of(kModel + "--sequence-parallel --tensor-model-parallel-size 2 --tp-comm-overlap "
                               "--tp-comm-overlap-cfg x.yaml")
                  .notices,
              is_told("the file of --tp-comm-overlap-cfg is not read"));
  EXPECT_THAT(plan_of(kModel + "--max-position-embeddings 4096").notices, is_told("4096"));
  EXPECT_THAT(plan_of(kModel + "--max-position-embeddings 4096 --position-embedding-type rope").notices,
              Not(is_told("4096")));
}

TEST(MegatronArguments, SayWhatHeadsAndAttentionAre) {
  const Plan plan = plan_of(kModel + "--kv-channels 64 --add-qkv-bias --qk-layernorm --multi-latent-attention");
  EXPECT_EQ(plan.config.model.head_size(), 64);
  EXPECT_TRUE(plan.config.model.add_qkv_bias);
  const Plan centered = plan_of(kModel + "--apply-layernorm-1p");
  EXPECT_EQ(knob_of(centered, "model.layernorm_zero_centered_gamma").effective, Value(true));
  EXPECT_EQ(centered.not_run.size(), plan_of(kModel).not_run.size()) << "moves no byte";
}

TEST(MegatronArguments, AreTakenAsItsValidationLeavesThem) {
  EXPECT_EQ(outcome(plan_of(kModel), "ddp.check_for_nan_in_grad"), "true user");
  std::string in_fp16 = kModel;
  in_fp16.replace(in_fp16.find("--bf16"), 6, "--fp16");
  EXPECT_EQ(knob_of(plan_of(in_fp16), "ddp.check_for_nan_in_grad").effective, Value(false));
  EXPECT_EQ(knob_of(plan_of(in_fp16 + "--loss-scale 1024"), "ddp.check_for_nan_in_grad").effective, Value(true));
  EXPECT_FALSE(
      plan_of(kModel + "--grad-reduce-in-bf16 --accumulate-allreduce-grads-in-fp32").config.ddp.grad_reduce_in_fp32);
  EXPECT_EQ(plan_of(kModel + "--defer-embedding-wgrad-compute").config.pipeline.wgrad_deferral_limit, 0);
  plan_of(kModel + "--fp8-format e4m3 --fp8-recipe mxfp8");
}

TEST(MegatronArguments, OfOneKindMayNeedAnother) {
  const auto errors = [](const std::string& more) { return errors_of(kModel + more); };
  const std::string gathers = "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather ";
  const std::string with_step = "--overlap-param-gather-with-optimizer-step ";
  EXPECT_THAT(errors(with_step), SizeIs(4));
  EXPECT_THAT(errors(gathers + with_step + "--ckpt-format torch"), Only("virtual pipeline stages"));
  EXPECT_THAT(errors(gathers + with_step + "--num-layers-per-virtual-pipeline-stage 2"),
              Only("needs --ckpt-format torch"));
  EXPECT_THAT(errors(gathers + with_step + "--num-layers-per-virtual-pipeline-stage 2 --ckpt-format torch"), IsEmpty());
  EXPECT_THAT(errors("--tensor-model-parallel-size 1 --sequence-parallel --tp-comm-overlap"),
              Only("needs --tensor-model-parallel-size above 1"));
  EXPECT_THAT(errors("--swiglu --squared-relu"), Only("are mutually exclusive"));
  EXPECT_THAT(errors("--squared-relu"), Only("needs --disable-bias-linear"));
  EXPECT_THAT(errors("--squared-relu --disable-bias-linear"), IsEmpty());
  EXPECT_THAT(errors("--cuda-graph-impl full_iteration"), Only("needs --no-check-for-nan"));
}

TEST(MegatronArguments, WithoutAFormatAreOfFp32WhichIsSaid) {
  std::string in_fp32 = kModel;
  in_fp32.erase(in_fp32.find("--bf16"), 6);
  const auto fp32 = Contains(Field(&Message::message, HasSubstr("Megatron trains in fp32, which is not supported")));
  EXPECT_THAT(plan_of(in_fp32).notices, fp32);
  EXPECT_THAT(plan_of(in_fp32 + "--fp16").notices, Not(fp32));
  EXPECT_THAT(plan_of(kModel).notices, Not(fp32));
  EXPECT_THAT(errors_of(kModel + "--fp16"), Contains(HasSubstr("accept only one of them")));
}

TEST(MegatronArguments, ThatItsCommandLineRefusesAreErrors) {
  EXPECT_THAT(errors_of(kModel + "--overlap-param-gather --use-distributed-optimizer"),
              Only("needs --overlap-grad-reduce"));
  EXPECT_THAT(errors_of(kModel + "--tp-comm-overlap"), Only("needs --sequence-parallel"));
  EXPECT_THAT(errors_of(kModel + "--num-layers-per-virtual-pipeline-stage 3"), Only("are not a multiple of it"));
  EXPECT_FALSE(
      errors_of(kModel + "--pipeline-model-parallel-size 0 --num-layers-per-virtual-pipeline-stage 2").empty());
  EXPECT_FALSE(errors_of(kModel + "--tensor-model-parallel-size 999999999999999999 --make-vocab-size-divisible-by "
                                  "999999999999999999")
                   .empty());
  EXPECT_THAT(errors_of(kModel + "--recompute-method"), Only("--recompute-method has no value"));
}

}  // namespace
}  // namespace underlap::plan
