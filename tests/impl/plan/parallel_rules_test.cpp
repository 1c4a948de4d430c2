// SPDX-License-Identifier: Apache-2.0
#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Eight layers and microbatches, so that small pipelines divide them.
std::string with(const std::string& model, const std::string& rest = "") {
  return "model: {preset: tiny, num_layers: 8, " + model + "}\ntrain: {num_microbatches: 8}\n" + rest;
}

const std::string kTp2 = "tensor_model_parallel_size: 2";
const std::string kPp2 = "pipeline_model_parallel_size: 2";
const std::string kPp2Vpp2 = kPp2 + ", virtual_pipeline_model_parallel_size: 2";

TEST(TpRules, OverlapIsOffUntilAskedFor) {
  EXPECT_EQ(outcome(plan_of(with(kTp2 + ", sequence_parallel: true")), "comm_overlap.tp_comm_overlap"), "false auto");
}

TEST(TpRules, GatesComeInBridgesOrder) {
  const std::string knob = "comm_overlap.tp_comm_overlap";
  const std::string on = "comm_overlap: {tp_comm_overlap: true}";
  const Plan one_rank = plan_of(with("", on));
  EXPECT_EQ(outcome(one_rank, knob), "false gate");
  EXPECT_THAT(knob_of(one_rank, knob).reason,
              HasSubstr("tensor_model_parallel_size is 1; TP overlap needs at least 2"));
  const Plan whole_sequence = plan_of(with(kTp2, on));
  EXPECT_EQ(outcome(whole_sequence, knob), "false gate");
  EXPECT_THAT(knob_of(whole_sequence, knob).reason, HasSubstr("sequence_parallel is false"));
  EXPECT_EQ(outcome(plan_of(with(kTp2 + ", sequence_parallel: true", on)), knob), "true user");
}

const std::string kLlama = "model: {preset: llama3-70b, sequence_parallel: true, tensor_model_parallel_size: 4}\n";

std::string overlap_config(const std::string& name) {
  return "comm_overlap: {tp_comm_overlap: true, tp_comm_overlap_cfg: " + name + "}\n";
}

TEST(TpRules, APresetForTheShapeIsTaken) {
  const Plan plan = plan_of(kLlama + overlap_config("userbuffers_bf16_h100_h8192_tp4_mbs1_seqlen8192"));
  EXPECT_THAT(plan.notices, IsEmpty());
  EXPECT_EQ(outcome(plan, "comm_overlap.tp_comm_overlap_cfg"),
            "\"userbuffers_bf16_h100_h8192_tp4_mbs1_seqlen8192\" user");
}

TEST(TpRules, APresetForSomethingElseIsTakenWithANotice) {
  const Plan plan = plan_of(kLlama + overlap_config("userbuffers_bf16_b200_h12288_tp4_mbs1_seqlen2048"));
  EXPECT_THAT(plan.notices[0].message, HasSubstr("tuned for hidden_size 12288, not 8192, for gpu_arch b200, not h100, "
                                                 "for seq_length 2048, not 8192"));
}

TEST(TpRules, APresetThatIsNoneIsAnError) {
  EXPECT_THAT(errors_of(kLlama + overlap_config("userbuffers_bf16_h100_h8192_tp3_mbs1_seqlen8192")),
              ElementsAre(HasSubstr("did you mean userbuffers_bf16_h100_h8192_tp4_mbs1_seqlen8192?")));
  EXPECT_THAT(errors_of(kLlama + overlap_config("[1]")), ElementsAre(HasSubstr("must be the name of a userbuffers")));
}

TEST(TpRules, APresetForAnotherBatchIsANotice) {
  const Plan plan = plan_of(kLlama + "train: {micro_batch_size: 2}\n" +
                            overlap_config("userbuffers_fp8_h100_h8192_tp4_mbs1_seqlen8192"));
  ASSERT_EQ(plan.notices.size(), 1U);
  EXPECT_THAT(plan.notices[0].message, HasSubstr("tuned for micro_batch_size 1, not 2, for precision fp8, not bf16"));
}

TEST(CpRules, TypesAreChecked) {
  const std::string cp2 = "context_parallel_size: 2, ";
  EXPECT_THAT(errors_of(with(cp2 + "cp_comm_type: ring")), ElementsAre(HasSubstr("one of p2p, all_gather, a2a")));
  EXPECT_THAT(errors_of(with(cp2 + "cp_comm_type: [p2p, a2a]")), ElementsAre(HasSubstr("lists 2 layers")));
  EXPECT_THAT(errors_of(with(cp2 + "cp_comm_type: a2a, num_query_groups: 1")),
              ElementsAre(HasSubstr("splits the key")));
  EXPECT_THAT(errors_of(with(cp2 + "cp_comm_type: a2a+p2p")), ElementsAre(HasSubstr("two sizes whose product")));
  plan_of(with(cp2 + "cp_comm_type: a2a+p2p, hierarchical_context_parallel_sizes: [2, 1]"));
  plan_of(with(cp2 + "cp_comm_type: [p2p, p2p, p2p, p2p, a2a, a2a, a2a, a2a]"));
}

TEST(PpRules, TransfersOverlapWithVirtualStagesAndAreBatchedWithout) {
  const auto both = [](const Plan& plan) {
    return outcome(plan, "comm_overlap.overlap_p2p_comm") + ", " + outcome(plan, "comm_overlap.batch_p2p_comm");
  };
  EXPECT_EQ(both(plan_of(with(""))), "false auto, false auto");
  EXPECT_EQ(both(plan_of(with(kPp2))), "false auto, true auto");
  EXPECT_EQ(both(plan_of(with(kPp2Vpp2))), "true auto, false auto");
}

TEST(PpRules, GathersAreAlignedOnlyAcrossDataPipelineAndVirtualStages) {
  const std::string knob = "comm_overlap.align_param_gather";
  EXPECT_EQ(outcome(plan_of(with(kPp2Vpp2, "data_parallel_size: 2")), knob), "true auto");
  EXPECT_EQ(outcome(plan_of(with(kPp2Vpp2)), knob), "false auto");
  EXPECT_EQ(outcome(plan_of(with(kPp2, "data_parallel_size: 2")), knob), "false auto");
}

TEST(PpRules, WhatTheScheduleWouldRefuseIsAnError) {
  EXPECT_THAT(errors_of(with(kPp2, "comm_overlap: {overlap_p2p_comm: true, batch_p2p_comm: false}")),
              ElementsAre(HasSubstr("overlap_p2p_comm needs virtual_pipeline_model_parallel_size")));
  EXPECT_THAT(errors_of(with(kPp2Vpp2, "comm_overlap: {batch_p2p_comm: true}")),
              ElementsAre(HasSubstr("exclude each other")));
  EXPECT_THAT(errors_of(with(kPp2Vpp2, "comm_overlap: {overlap_p2p_comm: false}")),
              ElementsAre(HasSubstr("pipeline_model_parallel_size above 2")));
  EXPECT_THAT(errors_of(with(kPp2, "comm_overlap: {defer_embedding_wgrad_compute: true}")),
              ElementsAre(HasSubstr("wgrad_deferral_limit of at least 0")));
  EXPECT_THAT(errors_of(with("virtual_pipeline_model_parallel_size: 2")), ElementsAre(HasSubstr("at least 2 stages")));
  EXPECT_THAT(errors_of(with(kPp2Vpp2 + ", microbatch_group_size_per_vp_stage: 7")),
              ElementsAre(HasSubstr("leave a remainder of 0 or at least 2")));
  EXPECT_THAT(errors_of(with(kPp2 + ", overlap_p2p_comm_warmup_flush: true")),
              ElementsAre(HasSubstr("warmup_flush needs overlap_p2p_comm")));
  EXPECT_THAT(errors_of(with(kPp2 + ", gradient_accumulation_fusion: false",
                             "comm_overlap: {defer_embedding_wgrad_compute: true, wgrad_deferral_limit: 1}")),
              ElementsAre(HasSubstr("needs model.gradient_accumulation_fusion")));
  EXPECT_THAT(errors_of("model: {preset: tiny, " + kPp2Vpp2 + "}\ntrain: {num_microbatches: 3}"),
              ElementsAre(HasSubstr("num_microbatches is 3")));
}

TEST(PpRules, DeferralWithALimitIsPlanned) {
  const Plan plan =
      plan_of(with(kPp2, "comm_overlap: {defer_embedding_wgrad_compute: true, wgrad_deferral_limit: 22}"));
  EXPECT_EQ(outcome(plan, "comm_overlap.defer_embedding_wgrad_compute"), "true user");
}

TEST(ParallelSizes, MustDivideTheModel) {
  EXPECT_THAT(errors_of(with("tensor_model_parallel_size: 3")),
              ElementsAre(HasSubstr("num_attention_heads is 4"), HasSubstr("num_query_groups is 2"),
                          HasSubstr("vocab_size is 256")));
  EXPECT_THAT(errors_of(with("pipeline_model_parallel_size: 3")), ElementsAre(HasSubstr("num_layers is 8")));
  EXPECT_THAT(errors_of(with("context_parallel_size: 3")), ElementsAre(HasSubstr("2 * context_parallel_size (6)")));
  EXPECT_THAT(errors_of(with("seq_length: 129, sequence_parallel: true, " + kTp2)),
              ElementsAre(HasSubstr("seq_length is 129")));
}

TEST(ParallelSizes, DivideTheColumnsOfSharedKeyHeads) {
  const auto errors_with = [](std::int64_t hidden) {
    return errors_of("model: {num_layers: 1, hidden_size: " + std::to_string(hidden) +
                     ", ffn_hidden_size: 32, num_attention_heads: 16, num_query_groups: 1, vocab_size: 256, "
                     "seq_length: 16, tensor_model_parallel_size: 16}\n");
  };
  EXPECT_THAT(errors_with(128), IsEmpty()) << "18 heads of 8";
  EXPECT_THAT(errors_with(64), ElementsAre(HasSubstr("72 columns of queries, keys and values, which "
                                                     "tensor_model_parallel_size (16) does not divide")));
}

TEST(ParallelSizes, WorldSizeIsBounded) {
  EXPECT_THAT(errors_of(with("num_attention_heads: 4, context_parallel_size: 32", "data_parallel_size: 65536")),
              ElementsAre(HasSubstr("more than 1048576 ranks")));
}

TEST(ParallelSizes, WorldSizeIsTheirProduct) {
  const Plan plan = plan_of(with(kTp2 + ", context_parallel_size: 4, " + kPp2, "data_parallel_size: 3"));
  EXPECT_EQ(plan.config.parallel.world_size(), 48);
}

TEST(WorldSize, MustBeWhatTheSizesMake) {
  const std::string model = with(kTp2 + ", context_parallel_size: 2, " + kPp2);
  EXPECT_THAT(errors_of(model + "data_parallel_size: 3\nworld_size: 24\n"), IsEmpty());
  EXPECT_THAT(errors_of(model + "data_parallel_size: 3\nworld_size: 16\n"),
              ElementsAre("f:4:1: world_size is 16, but tensor (2) * pipeline (2) * context (2) * data (3) parallel "
                          "sizes make 24 ranks; make them agree, or leave data_parallel_size out"));
  EXPECT_THAT(errors_of(model + "world_size: 12\n"),
              ElementsAre("f:3:1: world_size is 12, which tensor (2) * pipeline (2) * context (2) parallel sizes do "
                          "not divide; make it a multiple of 8"));
}

TEST(WorldSize, GivesTheDataParallelSize) {
  const Plan plan = plan_of(with(kPp2, "world_size: 8\n"));
  EXPECT_EQ(plan.config.parallel.data_parallel_size, 4);
  EXPECT_EQ(outcome(plan, "data_parallel_size"), "4 auto");
  EXPECT_TRUE(plan.config.ddp.overlap_grad_reduce) << "rules go by the size that is in effect";
}

TEST(WorldSize, SaysNothingBesideASizeThatCannotBeRead) {
  EXPECT_THAT(errors_of(with("tensor_model_parallel_size: two", "world_size: 3\ndata_parallel_size: 2")),
              ElementsAre(HasSubstr("tensor_model_parallel_size must be")));
}

TEST(NotRun, NamesWhatThisVersionDoesNotRun) {
  EXPECT_THAT(plan_of(with("", "data_parallel_size: 2")).not_run, IsEmpty());
  const Plan plan = plan_of(with(kPp2, "run: {backend: cuda}\nmixed_precision: bf16_with_fp8_delayed_scaling_mixed\n"));
  std::vector<std::string> messages;
  for (const Message& message : plan.not_run) messages.push_back(message.where + " " + message.message);
  EXPECT_THAT(messages, ElementsAre(HasSubstr("f:4:1 recipe")));
}

TEST(TpRules, WithoutSequenceParallelismASlotSaysWhatIsAllReduced) {
  const Plan plan = plan_of(with(kTp2, "extensions: {tp_async_collectives: false}\n"));
  const auto reason = [&](const char* slot) {
    const std::string path = std::string("comm_overlap.tp_comm_overlap_cfg.") + slot;
    EXPECT_EQ(outcome(plan, path), R"({"method":"waited"} auto)");
    return knob_of(plan, path).reason;
  };
  EXPECT_THAT(reason("qkv_dgrad"),
              HasSubstr("tp_comm_overlap is false; without sequence_parallel it exchanges nothing"));
  EXPECT_THAT(reason("fc2_fprop"), HasSubstr("its output is all-reduced"));
  EXPECT_THAT(reason("fc1_wgrad"), HasSubstr("what dgrad made is all-reduced"));
}

TEST(NotRun, TensorParallelismRunsWithAndWithoutSequenceParallelismAndWholeKeyHeads) {
  EXPECT_THAT(plan_of(with(kTp2 + ", sequence_parallel: true")).not_run, IsEmpty());
  EXPECT_THAT(plan_of(with(kTp2)).not_run, IsEmpty());
  EXPECT_THAT(plan_of(with("tensor_model_parallel_size: 4, sequence_parallel: true")).not_run, IsEmpty()) << "2 groups";
}

TEST(NotRun, Fp8RunsOverTensorParallelRanksInSizesThatGpusMultiply) {
  const std::string fp8 = "mixed_precision: bf16_with_fp8_current_scaling_mixed\n";
  EXPECT_THAT(plan_of(with(kTp2 + ", sequence_parallel: true", fp8)).not_run, IsEmpty());
  const std::string odd =
      "model: {num_layers: 3, hidden_size: 48, ffn_hidden_size: 40, num_attention_heads: 6, num_query_groups: 2, "
      "vocab_size: 256, seq_length: 24, tensor_model_parallel_size: 2, sequence_parallel: true}\n";
  std::vector<std::string> messages;
  for (const Message& message : plan_of(odd + fp8).not_run) messages.push_back(message.message);
  EXPECT_THAT(
      messages,
      ElementsAre(HasSubstr("24 tokens of a microbatch: products in fp8 need a multiple of 16; change "
                            "model.seq_length"),
                  HasSubstr("12 tokens of a tensor-parallel rank"), HasSubstr("24 attention features of a rank"),
                  HasSubstr("20 feed-forward features of a rank")));
  EXPECT_THAT(plan_of(odd).not_run, IsEmpty());
  const std::string whole = odd.substr(0, odd.find(", sequence_parallel")) + "}\n";
  EXPECT_EQ(plan_of(whole + fp8).not_run.size(), messages.size() - 1) << "no rank has 12 tokens alone";
}

TEST(NotRun, KnobsThatAreOnlyKnownRefuseToBeIgnored) {
  const Plan plan = plan_of(with("", "data_parallel_size: 2\nddp: {check_for_nan_in_grad: true, nccl_ub: false}"));
  ASSERT_EQ(plan.not_run.size(), 1U);
  EXPECT_THAT(plan.not_run[0].message, HasSubstr("ddp.check_for_nan_in_grad is known by name"));
}

TEST(NotRun, KnobsWithoutEffectAreANoticeInstead) {
  const Plan plan = plan_of(with("variable_seq_lengths: true"));
  EXPECT_THAT(plan.not_run, IsEmpty());
  ASSERT_EQ(plan.notices.size(), 1U);
  EXPECT_THAT(plan.notices[0].message, HasSubstr("no effect: pipeline_model_parallel_size is 1"));
  EXPECT_EQ(outcome(plan, "model.variable_seq_lengths"), "true user");
}

const std::string kBoth = "comm_overlap: {overlap_moe_expert_parallel_comm: true, delay_wgrad_compute: true}";

TEST(ExpertRules, ExpertOverlapIsAnErrorWithoutExperts) {
  EXPECT_THAT(errors_of(with("", kBoth)),
              ElementsAre(HasSubstr("overlap_moe_expert_parallel_comm needs "
                                    "expert_model_parallel_size above 1, num_moe_experts")));
  EXPECT_THAT(errors_of(with("", "comm_overlap: {delay_wgrad_compute: true}")),
              ElementsAre(HasSubstr("delay_wgrad_compute needs overlap_moe_expert_parallel_comm")));
  EXPECT_THAT(errors_of(with("expert_model_parallel_size: 2")), ElementsAre(HasSubstr("the model has no experts")));
  EXPECT_THAT(errors_of(with("expert_model_parallel_size: 2, num_moe_experts: 3")),
              ElementsAre(HasSubstr("does not divide")));
}

TEST(ExpertRules, TwoNamesOfTheDispatchersSmsMustAgreeUnlessTheNewOneIsSet) {
  const std::string old = "moe_deepep_num_sms: 20, moe_hybridep_num_sms: ";
  EXPECT_THAT(errors_of(with(old + "32")), ElementsAre(HasSubstr("Megatron Core stops where they differ")));
  EXPECT_THAT(errors_of(with(old + "20")), testing::IsEmpty());
  EXPECT_THAT(errors_of(with(old + "null")), testing::IsEmpty());
  EXPECT_THAT(errors_of(with(old + "32, moe_flex_dispatcher_num_sms: 16")), testing::IsEmpty());
}

TEST(ExpertRules, TheDensePartIsPlannedAndWhatIsNotSaidIsListed) {
  const Plan plan =
      plan_of(with("expert_model_parallel_size: 2, num_moe_experts: 8, "
                   "moe_token_dispatcher_type: alltoall",
                   kBoth));
  EXPECT_EQ(outcome(plan, "comm_overlap.overlap_moe_expert_parallel_comm"), "true user");
  EXPECT_THAT(plan.notices, testing::Contains(testing::Field(
                                &Message::message, HasSubstr("not said are the router, the weights of the experts"))));
  EXPECT_FALSE(plan.not_run.empty());
}

}  // namespace
}  // namespace underlap::plan
