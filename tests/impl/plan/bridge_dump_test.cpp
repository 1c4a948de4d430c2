// SPDX-License-Identifier: Apache-2.0
// Dumps of Megatron-Bridge: which copy of a knob counts, and what is passed over. The golden bridge_dump_llama3_70b is
// a whole one.
#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

/// A dump of a tiny model on two data-parallel ranks.
std::string dump(const std::string& rest, const std::string& model = "") {
  return "_target_: megatron.bridge.training.config.ConfigContainer\ndata_parallel_size: 2\n"
         "model: {preset: tiny, _target_: x.Provider" +
         (model.empty() ? "" : ", " + model) + "}\n" + rest;
}

auto told(const std::string& text) { return Contains(HasSubstr(text)); }

const std::string kGradients = "comm_overlap.overlap_grad_reduce";
const std::string kTinyModel = "model: {preset: tiny}\n";

const std::string kNemo =
    "_target_: nemo.collections.llm.api.pretrain\n"
    "model: {_target_: x.LlamaModel, config: {_target_: nemo.collections.llm.gpt.model.llama.Llama3Config8B, "
    "num_layers: 16}}\n"
    "data: {_target_: x.MockDataModule, seq_length: 4096, micro_batch_size: 1, global_batch_size: 64}\n"
    "optim: {config: {_target_: x.OptimizerConfig, lr: 0.0003, use_distributed_optimizer: true}}\n"
    "trainer:\n  _target_: x.Trainer\n  num_nodes: 2\n  devices: 8\n"
    "  plugins: {_target_: x.MegatronMixedPrecision, precision: bf16-mixed, grad_reduce_in_fp32: false}\n"
    "  strategy: {_target_: x.MegatronStrategy, tensor_model_parallel_size: 2, sequence_parallel: true, "
    "ddp: {_target_: x.D, overlap_grad_reduce: true, average_in_collective: true, use_distributed_optimizer: true}}\n";
const std::string kCallback =
    "  callbacks:\n    - {_target_: x.TimingCallback}\n"
    "    - {_target_: nemo.lightning.pytorch.callbacks.MegatronCommOverlapCallback, tp_comm_overlap: true}\n";

TEST(BridgeDump, IsKnownByATargetInASection) {
  plan_of("model: {preset: tiny, _target_: x.Provider, rotary_interleaved: false}\n");
  EXPECT_THAT(errors_of("model: {preset: tiny, rotary_interleaved: false}\n"), Only("unknown key"));
}

TEST(BridgeDump, WhatIsNotReadGetsOneNotice) {
  EXPECT_THAT(notices_of(dump("tokenizer: {_target_: x.Y, a: 1, b: 2}\ndataset: {c: 3}\nft: null\n",
                              "rotary_interleaved: false, test_mode: false, init_method: {_target_: f}")),
              ElementsAre("f:1:1: 5 keys are ignored as irrelevant to the plan: "
                          "model.rotary_interleaved, model.test_mode, model.init_method, tokenizer, dataset"));
}

TEST(BridgeDump, TheNumberOfGpusGivesTheDataParallelSize) {
  const std::string model =
      "_target_: x.ConfigContainer\nmodel: {preset: tiny, pipeline_model_parallel_size: 2, _target_: x.Provider}\n";
  const Plan plan = plan_of(model + "world_size: 8\n");
  EXPECT_EQ(plan.config.parallel.data_parallel_size, 4);
  EXPECT_THAT(lines_of(plan.notices), Not(told("the number of GPUs")));
  EXPECT_THAT(errors_of(model + "data_parallel_size: 2\nworld_size: 8\n"), Only("f:4:1: world_size is 8"));
}

TEST(BridgeDump, DefaultsThatDoNothingGetNoNotice) {
  const std::string idle =
      "pipeline_model_parallel_size: 2, microbatch_group_size_per_vp_stage: 2, context_parallel_size: 2, "
      "hierarchical_context_parallel_sizes: [2, 1], seq_length: 64";
  EXPECT_THAT(notices_of(dump("", idle)), IsEmpty());
  EXPECT_THAT(notices_of("model: {preset: tiny, " + idle + "}"),
              AllOf(told("microbatch_group_size_per_vp_stage has no"), told("parallel_sizes has no effect")));
  const std::string precision = "mixed_precision: {fp8_param_gather: false, num_layers_at_end_in_bf16: 3}\n";
  EXPECT_THAT(notices_of(dump(precision)), IsEmpty());
  EXPECT_FALSE(notices_of(kTinyModel + precision).empty());
}

TEST(BridgeDump, ReportsWhichCopyOfAKnobCounts) {
  const std::string reuse = "ddp.reuse_grad_buf_for_mxfp8_param_ag";
  const std::string over = dump(
      "ddp: {overlap_grad_reduce: false, bucket_size: 7}\n"
      "comm_overlap: {overlap_grad_reduce: null, overlap_param_gather: false}\n"
      "optimizer: {overlap_param_gather: true}\n");
  const std::string without = dump("ddp: {overlap_grad_reduce: true, bucket_size: 7}\ncomm_overlap: null\n");
  const std::string spelled_out = dump("ddp: {average_in_collective: false, check_for_nan_in_grad: true}\n");
  // ddp had no distributed optimizer yet when comm_overlap looked at it.
  const std::string differ = dump(
      "ddp: {use_distributed_optimizer: false}\noptimizer: {use_distributed_optimizer: true}\n"
      "comm_overlap: {overlap_grad_reduce: true}\n");
  const std::string mxfp8 = dump(
      "ddp: {fp8_param_gather: false, reuse_grad_buf_for_mxfp8_param_ag: false}\n"
      "mixed_precision: {bf16: true, fp8: e4m3, fp8_recipe: mxfp8, fp8_param: true, fp8_param_gather: true, "
      "reuse_grad_buf_for_mxfp8_param_ag: true, fp4: null, fp4_recipe: nvfp4, num_layers_at_start_in_bf16: 0, "
      "num_layers_at_end_in_bf16: 0, first_last_layers_bf16: false}\n"
      "optimizer: {reuse_grad_buf_for_mxfp8_param_ag: false}\n");
  const auto fsdp = [](const std::string& value) {
    return dump(
        "dist: {use_megatron_fsdp: true}\nmixed_precision: {bf16: true, fp8: e4m3, fp8_recipe: mxfp8, "
        "fp8_param_gather: true, reuse_grad_buf_for_mxfp8_param_ag: " +
        value + "}\n");
  };
  expect_outcomes({
      {over, kGradients, "true auto"},
      {over, "comm_overlap.overlap_param_gather", "false user"},
      {over, "comm_overlap.bucket_size", "134217728 auto"},
      {without, kGradients, "true user"},
      {without, "comm_overlap.bucket_size", "7 user"},
      {dump("ddp: {use_distributed_optimizer: false, overlap_grad_reduce: true}\n"
            "optimizer: {use_distributed_optimizer: false}\ncomm_overlap: {overlap_grad_reduce: false}\n"),
       kGradients, "true user"},
      {differ, kGradients, "false gate"},
      {spelled_out, "ddp.average_in_collective", "false auto"},
      {spelled_out, "ddp.check_for_nan_in_grad", "true user"},
      {dump("ddp: {grad_reduce_in_fp32: true}\n"
            "mixed_precision: {_target_: x.Y, bf16: true, grad_reduce_in_fp32: false}\n"),
       "mixed_precision.grad_reduce_in_fp32", "false user"},
      {mxfp8, reuse, "true user"},
      {fsdp("false"), reuse, "false auto"},
      {fsdp("true"), reuse, "false gate"},
      {kNemo + kCallback, "comm_overlap.tp_comm_overlap", "true user"},
      {kNemo + kCallback, "comm_overlap.overlap_param_gather", "true auto"},
      {kNemo, kGradients, "true user"},
      {kNemo, "comm_overlap.overlap_param_gather", "false auto"},
  });
  EXPECT_THAT(notices_of(over), told("ddp.overlap_grad_reduce, optimizer.overlap_param_gather, ddp.bucket_size"));
  EXPECT_TRUE(plan_of(differ).config.ddp.use_distributed_optimizer);
  EXPECT_EQ(plan_of(mxfp8).config.mixed_precision.recipe, "bf16_with_mxfp8_mixed");
}

TEST(BridgeDump, SlotsAreReadAndTheirMistakesAreErrors) {
  const std::string model = "tensor_model_parallel_size: 2, sequence_parallel: true";
  const auto overlap = [](const std::string& slots) {
    return "comm_overlap: {_target_: a.B, tp_comm_overlap: true, tp_comm_overlap_cfg: {_target_: a.C, " + slots +
           "}}\n";
  };
  const Plan plan = plan_of(
      dump(overlap("qkv_dgrad: {_target_: a.BulkOverlapCfg, num_sm: 3, cga_size: 2, set_sm_margin: false}"), model));
  EXPECT_EQ(plan.config.tensor_overlap[TensorSlot::qkv_dgrad].num_sm, 3);
  EXPECT_THAT(errors_of(dump(overlap("qkv_dgrat: {}"), model)), Only("did you mean"));
}

TEST(BridgeDump, VariablesOfTheEnvironmentAreText) {
  const Plan plan =
      plan_of(dump("env_vars: {CUDA_DEVICE_MAX_CONNECTIONS: '32', TORCH_NCCL_HIGH_PRIORITY: '1', "
                   "NVTE_FWD_LAYERNORM_SM_MARGIN: '20', NCCL_NVLS_ENABLE: '0'}\n"));
  EXPECT_EQ(plan.config.environment.cuda_device_max_connections, 32);
  EXPECT_EQ(plan.config.environment.layernorm_sm_margin, 20);
  EXPECT_TRUE(plan.config.environment.torch_nccl_high_priority);
  EXPECT_THAT(lines_of(plan.notices), told("1 key is ignored as irrelevant to the plan: env_vars.NCCL_NVLS_ENABLE"));
}

TEST(BridgeDump, FillsTheModelAsMegatronCoreDoes) {
  const std::string model =
      "_target_: x.ConfigContainer\ndata_parallel_size: 1\nmodel: {num_layers: 2, hidden_size: 64, "
      "num_attention_heads: 4, vocab_size: 1000, seq_length: 128, num_query_groups: null, ffn_hidden_size: null, "
      "should_pad_vocab: true, tensor_model_parallel_size: 2, ";
  const ModelConfig plain = plan_of(model + "gated_linear_unit: false}\n").config.model;
  EXPECT_EQ(plain.num_query_groups, 4);
  EXPECT_EQ(plain.ffn_hidden_size, 256);
  EXPECT_EQ(plain.vocab_size, 1024);
  EXPECT_EQ(plain.activation, Activation::gelu);
  const auto activation = [&](const std::string& rest) {
    return plan_of(model + rest + "}\n").config.model.activation;
  };
  EXPECT_EQ(activation("gated_linear_unit: true, activation_func: {_target_: torch.nn.functional.silu}"),
            Activation::swiglu);
  EXPECT_EQ(activation("activation_func: {_target_: megatron.core.activations.squared_relu}"),
            Activation::squared_relu);
}

TEST(BridgeDump, SaysWhatItCannotKnow) {
  EXPECT_THAT(notices_of("model: {preset: tiny, _target_: x.Y, num_moe_experts: 8}"),
              AllOf(told("data_parallel_size is assumed to be 1"),
                    told("the dense part of a model with 8 experts is planned")));
}

// What BridgeGPTModelConfig and its TransformerConfig write since 2026.
const std::string kNested =
    "model:\n  _target_: megatron.bridge.models.gpt.model_config.BridgeGPTModelConfig\n  make_vocab_size_divisible_by: "
    "128\n"
    "  should_pad_vocab: true\n  vocab_size: null\n  position_embedding_type: rope\n  seq_length: 128\n  transformer:\n"
    "    _target_: megatron.bridge.models.transformer_config.TransformerConfig\n    activation_func: silu\n"
    "    gated_linear_unit: true\n    hidden_size: 128\n    num_attention_heads: 4\n    num_layers: 4\n"
    "    num_query_groups: null\n    ffn_hidden_size: 384\n    normalization: RMSNorm\n    add_bias_linear: false\n"
    "    pipeline_model_parallel_size: 2\n    rotary_interleaved: false\ndata_parallel_size: 2\n"
    "train: {num_microbatches: 2}\n";

TEST(BridgeDump, ReadsTheFieldsOfANestedTransformer) {
  const Plan plan = plan_of(kNested);
  const Config& c = plan.config;
  EXPECT_EQ(c.model.num_layers, 4);
  EXPECT_EQ(c.model.num_query_groups, 4) << "as many as heads";
  EXPECT_EQ(c.model.activation, Activation::swiglu);
  EXPECT_EQ(c.model.position_embedding_type, PositionEmbedding::rope);
  EXPECT_EQ(c.parallel.pipeline_model_parallel_size, 2);
  EXPECT_THAT(lines_of(plan.notices), told("model.rotary_interleaved"));
}

TEST(BridgeDump, TakesAVocabularyOfNullFromTheTokenizerOrAUsualOne) {
  const Plan usual = plan_of(kNested);
  EXPECT_EQ(usual.config.model.vocab_size, 128256);
  EXPECT_THAT(lines_of(usual.notices), told("change it with --vocab-size"));
  const Plan own = plan_of(kNested + "tokenizer: {_target_: x.Y, vocab_size: 1000}\n");
  EXPECT_EQ(own.config.model.vocab_size, 1024) << "padded to a multiple of 128";
  EXPECT_THAT(lines_of(own.notices), told("using tokenizer.vocab_size, 1000"));
}

TEST(NemoDump, IsReadInTheSectionsOfBridge) {
  const Plan plan = plan_of(kNemo + kCallback);
  const Config& c = plan.config;
  EXPECT_EQ(c.model.preset, "llama3-8b");
  EXPECT_EQ(c.model.num_layers, 16);
  EXPECT_EQ(c.model.seq_length, 4096);
  EXPECT_EQ(c.parallel.data_parallel_size, 8);
  EXPECT_EQ(c.train.num_microbatches, 8);
  EXPECT_EQ(c.mixed_precision.recipe, "bf16_mixed");
  EXPECT_TRUE(c.ddp.average_in_collective && !c.ddp.grad_reduce_in_fp32);
}

TEST(BridgeDump, UnderlapsOwnSectionsStayStrict) {
  EXPECT_THAT(errors_of(dump("run: {step: 3}\n")), Only("did you mean run.steps?"));
  EXPECT_EQ(plan_of(dump("run: {steps: 3}\n")).config.run.steps, 3);
}

TEST(BridgeDump, TakesHeadsAndPositionsOfOtherModelsThanLlama) {
  const Plan plan = plan_of(dump("",
                                 "num_attention_heads: 5, num_query_groups: 5, kv_channels: 32, "
                                 "position_embedding_type: yarn, rotary_base: [10000, 1000000]"));
  EXPECT_EQ(plan.config.model.head_size(), 32) << "128 hidden features over 5 heads are no whole number";
  EXPECT_EQ(plan.config.model.rotary_base, 10'000);
  EXPECT_THAT(lines_of(plan.notices), told("model.rotary_base lists one for each kind of layer"));
  EXPECT_THAT(lines_of(plan.not_run), told("the angles of position_embedding_type yarn and mrope"));
  EXPECT_THAT(plan_of(dump("", "position_embedding_type: rope")).not_run, IsEmpty());
  EXPECT_THAT(errors_of(dump("", "num_attention_heads: 5, num_query_groups: 5")),
              Contains(HasSubstr("model.hidden_size is 128, which is not divisible by num_attention_heads (5)")));
  EXPECT_THAT(errors_of(dump("", "kv_channels: 31, position_embedding_type: rope")),
              Only("rope rotates 31 of the 31 features of a head, and rotates them in pairs; change "
                   "model.kv_channels"));
}

TEST(BridgeDump, AModelThatIsMoreThanADecoderOfTextIsSaidToBe) {
  std::string wan = dump("");
  EXPECT_THAT(notices_of(wan), Not(told("is planned as one text decoder")));
  wan.replace(wan.find("x.Provider"), 10, "x.WanModelProvider");
  EXPECT_THAT(notices_of(wan), told("WanModelProvider is planned as one text decoder"));
}

TEST(BridgeDump, OfABackendThatNobodyNamedNothingIsSaid) {
  const std::string of_gpus =
      "model.deterministic_mode: true\nddp.nccl_ub: true\ncomm_overlap: {tp_comm_overlap: true, tp_comm_overlap_cfg: "
      "{qkv_dgrad: {method: bulk, num_sm: 4, cga_size: 2}}}\n";
  const auto sizes = [](const std::string& more) {
    return dump(more, "tensor_model_parallel_size: 2, sequence_parallel: true");
  };
  EXPECT_THAT(notices_of(sizes(of_gpus)), Not(told("run.backend is host")));
  EXPECT_THAT(notices_of(sizes(of_gpus + "run: {backend: host}\n")),
              AllOf(told("model.deterministic_mode has no effect: run.backend is host"),
                    told("ddp.nccl_ub has no effect: run.backend is host"),
                    told("cga_size has no effect: run.backend is host")));
}

TEST(BridgeDump, AModelOfLatentAttentionHasNoTensorOverlap) {
  const Plan plan =
      plan_of(dump("comm_overlap: {tp_comm_overlap: true}\n",
                   "tensor_model_parallel_size: 2, sequence_parallel: true, multi_latent_attention: true"));
  EXPECT_EQ(outcome(plan, "comm_overlap.tp_comm_overlap"), "false gate");
  EXPECT_THAT(knob_of(plan, "comm_overlap.tp_comm_overlap").reason, HasSubstr("disables TP overlap for all layers"));
}

TEST(BridgeDump, SettingsThatMegatronRefusesTogetherAreErrors) {
  const std::string reuse = "reuse_grad_buf_for_mxfp8_param_ag: true";
  const auto recipe = [](const std::string& fields) {
    return kTinyModel + "mixed_precision: {recipe: " + fields + "}\n";
  };
  EXPECT_THAT(errors_of(dump("mixed_precision: {bf16: true, fp16: true}\n")),
              told("mixed_precision.bf16 and fp16 are both true"));
  expect_refused({
      {recipe("bf16_mixed, " + reuse), "reuse_grad_buf_for_mxfp8_param_ag needs fp8_param_gather"},
      {recipe("bf16_with_fp8_delayed_scaling_mixed, first_last_layers_bf16: true"),
       "first_last_layers_bf16 is incompatible with delayed scaling"},
      {kTinyModel + "ddp.use_distributed_optimizer: false\n"
                    "optimizer.overlap_param_gather_with_optimizer_step: true\n"
                    "mixed_precision: {recipe: bf16_with_mxfp8_mixed}\n",
       "which recipe bf16_with_mxfp8_mixed sets, are mutually exclusive"},
      {dump("dataset: {_target_: x.Y, seq_length: 64}\n", "seq_length: 32"),
       "f:4:26: dataset.seq_length is 64, but model.seq_length is 32"},
  });
  for (const std::string& legal : {recipe("bf16_with_fp8_current_scaling_mixed, " + reuse),
                                   dump("dataset: {_target_: x.Y, seq_length: 32}\n", "seq_length: 32")})
    EXPECT_THAT(errors_of(legal), IsEmpty()) << legal;
}

TEST(BridgeDump, TimersThatAllRanksMeetForAreExposed) {
  EXPECT_THAT(lines_of(plan_of(dump("logger: {timing_log_level: 1}\n")).exposed), told("all ranks synchronize"));
  EXPECT_THAT(lines_of(plan_of(dump("logger: {timing_log_level: 1}\nmodel.barrier_with_L1_time: false\n")).exposed),
              Not(told("all ranks synchronize")));
  EXPECT_THAT(lines_of(plan_of(dump("logger: {timing_log_level: 0}\nmodel.barrier_with_L1_time: true\n")).exposed),
              Not(told("all ranks synchronize")));
}

}  // namespace
}  // namespace underlap::plan
