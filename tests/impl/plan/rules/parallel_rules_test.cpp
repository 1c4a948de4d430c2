// SPDX-License-Identifier: Apache-2.0
#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

/// Eight layers and microbatches, so that small pipelines divide them.
std::string with(const std::string& model, const std::string& rest = "") {
  return "model: {preset: tiny, num_layers: 8, " + model + "}\ntrain: {num_microbatches: 8}\n" + rest;
}

const std::string kTp2 = "tensor_model_parallel_size: 2";
const std::string kPp2 = "pipeline_model_parallel_size: 2";

TEST(TpRules, GatesComeInBridgesOrder) {
  const std::string knob = "comm_overlap.tp_comm_overlap";
  const std::string on = "comm_overlap: {tp_comm_overlap: true}";
  expect_outcomes({{with(kTp2 + ", sequence_parallel: true"), knob, "false auto"},
                   {with(kTp2 + ", sequence_parallel: true", on), knob, "true user"},
                   {with("", on), knob, "false gate"},
                   {with(kTp2, on), knob, "false gate"}});
  EXPECT_THAT(knob_of(plan_of(with("", on)), knob).reason,
              HasSubstr("tensor_model_parallel_size is 1; TP overlap needs at least 2"));
  EXPECT_THAT(knob_of(plan_of(with(kTp2, on)), knob).reason, HasSubstr("sequence_parallel is false"));
}

TEST(TpRules, APresetIsForOneShape) {
  const std::string llama = "model: {preset: llama3-70b, sequence_parallel: true, tensor_model_parallel_size: 4}\n";
  const auto config = [](const std::string& name) {
    return "comm_overlap: {tp_comm_overlap: true, tp_comm_overlap_cfg: " + name + "}\n";
  };
  const std::string name = "userbuffers_bf16_h100_h8192_tp4_mbs1_seqlen8192";
  const Plan plan = plan_of(llama + config(name));
  EXPECT_THAT(plan.notices, IsEmpty());
  EXPECT_EQ(outcome(plan, "comm_overlap.tp_comm_overlap_cfg"), "\"" + name + "\" user");
  EXPECT_THAT(notices_of(llama + config("userbuffers_bf16_b200_h12288_tp4_mbs1_seqlen2048")).at(0),
              HasSubstr("tuned for hidden_size 12288, not 8192, for gpu_arch b200, not h100, "
                        "for seq_length 2048, not 8192"));
  expect_noticed({{llama + "train: {micro_batch_size: 2}\n" + config("userbuffers_fp8_h100_h8192_tp4_mbs1_seqlen8192"),
                   "tuned for micro_batch_size 1, not 2, for precision fp8, not bf16"}});
  expect_refused({{llama + config("userbuffers_bf16_h100_h8192_tp3_mbs1_seqlen8192"), "did you mean " + name + "?"},
                  {llama + config("[1]"), "must be the name of a userbuffers"}});
}

TEST(TpRules, WithoutSequenceParallelismASlotSaysWhatIsAllReduced) {
  const Plan plan = plan_of(with(kTp2, "extensions: {tp_async_collectives: false}\n"));
  for (const auto& [slot, reason] :
       {std::pair("qkv_dgrad", "tp_comm_overlap is false; without sequence_parallel it exchanges nothing"),
        {"fc2_fprop", "its output is all-reduced"},
        {"fc1_wgrad", "the output of dgrad is all-reduced"}}) {
    const std::string path = std::string("comm_overlap.tp_comm_overlap_cfg.") + slot;
    EXPECT_EQ(outcome(plan, path), R"({"method":"waited"} auto)");
    EXPECT_THAT(knob_of(plan, path).reason, HasSubstr(reason));
  }
}

TEST(ParallelSizes, MustDivideTheModel) {
  EXPECT_THAT(errors_of(with("tensor_model_parallel_size: 3")),
              ElementsAre(HasSubstr("num_attention_heads is 4"), HasSubstr("num_query_groups is 2"),
                          HasSubstr("vocab_size is 256")));
  const auto shared_key_heads = [](std::int64_t hidden) {
    return "model: {num_layers: 1, hidden_size: " + std::to_string(hidden) +
           ", ffn_hidden_size: 32, num_attention_heads: 16, num_query_groups: 1, vocab_size: 256, "
           "seq_length: 16, tensor_model_parallel_size: 16}\n";
  };
  EXPECT_THAT(errors_of(shared_key_heads(128)), IsEmpty()) << "18 heads of 8";
  expect_refused({{with("pipeline_model_parallel_size: 3"), "num_layers is 8"},
                  {with("context_parallel_size: 3"), "2 * context_parallel_size (6)"},
                  {with("seq_length: 129, sequence_parallel: true, " + kTp2), "seq_length is 129"},
                  {shared_key_heads(64),
                   "72 columns of queries, keys and values are not divisible by tensor_model_parallel_size (16)"},
                  {with("num_attention_heads: 4, context_parallel_size: 32", "data_parallel_size: 65536"),
                   "more than 1048576 ranks"}});
}

TEST(WorldSize, IsTheProductOfTheSizes) {
  const std::string model = with(kTp2 + ", context_parallel_size: 2, " + kPp2);
  EXPECT_EQ(plan_of(model + "data_parallel_size: 3\nworld_size: 24\n").config.parallel.world_size(), 24);
  EXPECT_THAT(errors_of(model + "data_parallel_size: 3\nworld_size: 16\n"),
              ElementsAre("f:4:1: world_size is 16, but tensor (2) * pipeline (2) * context (2) * data (3) parallel "
                          "sizes make 24 ranks; make them agree, or leave data_parallel_size out"));
  EXPECT_THAT(errors_of(model + "world_size: 12\n"),
              ElementsAre("f:3:1: world_size is 12, which is not divisible by the tensor (2) * pipeline (2) * context "
                          "(2) parallel sizes; make it a multiple of 8"));
  expect_refused({{with("tensor_model_parallel_size: two", "world_size: 3\ndata_parallel_size: 2"),
                   "tensor_model_parallel_size must be"}});
}

TEST(WorldSize, GivesTheDataParallelSize) {
  const Plan plan = plan_of(with(kPp2, "world_size: 8\n"));
  EXPECT_EQ(plan.config.parallel.data_parallel_size, 4);
  EXPECT_EQ(outcome(plan, "data_parallel_size"), "4 auto");
  EXPECT_TRUE(plan.config.ddp.overlap_grad_reduce) << "rules go by the size that is in effect";
}

TEST(NotRun, IsWhatThisVersionDoesNotRun) {
  EXPECT_THAT(lines_of(plan_of(with(kPp2,
                                    "run: {backend: cuda}\n"
                                    "mixed_precision: bf16_with_fp8_delayed_scaling_mixed\n"))
                           .not_run),
              Only("f:4:1: recipe"));
  EXPECT_THAT(lines_of(plan_of(with("",
                                    "data_parallel_size: 2\n"
                                    "ddp: {check_for_nan_in_grad: true, nccl_ub: false}"))
                           .not_run),
              Only("ddp.check_for_nan_in_grad is recognized"));
  for (const std::string& model :
       {std::string("variable_seq_lengths: true"), kTp2, kTp2 + ", sequence_parallel: true",
        std::string("tensor_model_parallel_size: 4, sequence_parallel: true")})  // which share 2 key heads
    EXPECT_THAT(plan_of(with(model, "data_parallel_size: 2")).not_run, IsEmpty()) << model;
}

TEST(NotRun, Fp8RunsOverTensorParallelRanksInSizesThatGpusMultiply) {
  const std::string fp8 = "mixed_precision: bf16_with_fp8_current_scaling_mixed\n";
  EXPECT_THAT(plan_of(with(kTp2 + ", sequence_parallel: true", fp8)).not_run, IsEmpty());
  const std::string odd =
      "model: {num_layers: 3, hidden_size: 48, ffn_hidden_size: 40, num_attention_heads: 6, num_query_groups: 2, "
      "vocab_size: 256, seq_length: 24, tensor_model_parallel_size: 2, sequence_parallel: true}\n";
  EXPECT_THAT(lines_of(plan_of(odd + fp8).not_run),
              ElementsAre(HasSubstr("24 tokens per microbatch: fp8 GEMMs need a multiple of 16; change "
                                    "model.seq_length"),
                          HasSubstr("12 tokens per tensor-parallel rank"), HasSubstr("24 attention features per rank"),
                          HasSubstr("20 feed-forward features per rank")));
  EXPECT_THAT(plan_of(odd).not_run, IsEmpty());
  const std::string whole = odd.substr(0, odd.find(", sequence_parallel")) + "}\n";
  EXPECT_EQ(plan_of(whole + fp8).not_run.size(), 3U) << "no rank has 12 tokens alone";
}

TEST(NotRun, KnobsWithoutEffectAreANoticeInstead) {
  expect_noticed({{with("variable_seq_lengths: true"), "no effect: pipeline_model_parallel_size is 1"}});
  EXPECT_EQ(outcome(plan_of(with("variable_seq_lengths: true")), "model.variable_seq_lengths"), "true user");
}

const std::string kBoth = "comm_overlap: {overlap_moe_expert_parallel_comm: true, delay_wgrad_compute: true}";

TEST(ExpertRules, RefuseWhatMegatronCoreRefuses) {
  const std::string old = "moe_deepep_num_sms: 20, moe_hybridep_num_sms: ";
  expect_refused(
      {{with("", kBoth), "overlap_moe_expert_parallel_comm needs expert_model_parallel_size above 1, num_moe_experts"},
       {with("", "comm_overlap: {delay_wgrad_compute: true}"),
        "delay_wgrad_compute needs overlap_moe_expert_parallel_comm"},
       {with("expert_model_parallel_size: 2"), "the model has no experts"},
       {with("expert_model_parallel_size: 2, num_moe_experts: 3"), "not divisible by"},
       {with(old + "32"), "Megatron Core fails if they differ"}});
  for (const char* agreed : {"20", "null", "32, moe_flex_dispatcher_num_sms: 16"})
    EXPECT_THAT(errors_of(with(old + agreed)), IsEmpty()) << agreed;
}

TEST(ExpertRules, TheDensePartIsPlannedAndWhatIsNotSaidIsListed) {
  const Plan plan =
      plan_of(with("expert_model_parallel_size: 2, num_moe_experts: 8, "
                   "moe_token_dispatcher_type: alltoall",
                   kBoth));
  EXPECT_EQ(outcome(plan, "comm_overlap.overlap_moe_expert_parallel_comm"), "true user");
  EXPECT_THAT(lines_of(plan.notices), Contains(HasSubstr("the plan omits the router, the weights of the experts")));
  EXPECT_FALSE(plan.not_run.empty());
}

}  // namespace
}  // namespace underlap::plan
