// SPDX-License-Identifier: Apache-2.0
// Predicted memory against sums that can be made by hand.
#include "impl/plan/memory/memory.hpp"

#include "impl/plan/memory/memory_parts.hpp"
#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

TEST(Memory, ShardsOnlyTheOptimizer) {
  const PeakMemory one = plan_of("model: {preset: tiny}").peak_memory;
  const PeakMemory four = plan_of("model: {preset: tiny}\ndata_parallel_size: 4").peak_memory;
  EXPECT_EQ(one.parameters, four.parameters);
  EXPECT_EQ(one.optimizer, 6 * one.parameters);
  EXPECT_EQ(four.optimizer * 4, one.optimizer);
  EXPECT_EQ(one.gradients, 2 * one.parameters);
  EXPECT_EQ(plan_of("model: {preset: tiny}\nmixed_precision: {grad_reduce_in_fp32: false}").peak_memory.gradients,
            one.parameters);
}

// Of four layers of 128, with 2 of 4 heads for keys and an MLP of 384 that is gated, on two tensor-parallel ranks.
TEST(Memory, CountsBiasesAndWhatLayerNormHasBesideAWeight) {
  const auto parameters = [](const std::string& more) {
    return plan_of("model: {preset: tiny, tensor_model_parallel_size: 2" + more + "}").peak_memory.parameters;
  };
  const std::int64_t plain = parameters("");
  EXPECT_EQ(parameters(", add_bias_linear: true") - plain, 2 * 4 * ((128 + 2 * 64 + 2 * 384) / 2 + 2 * 128));
  EXPECT_EQ(parameters(", normalization: LayerNorm") - plain, 2 * (4 * 2 + 1) * 128)
      << "two of each layer, and the last";
}

// A table of 128 positions of 128, and heads of 48 in place of 32: as many numbers more of each token and layer in q, k
// and v as in what attention makes of them.
TEST(Memory, CountsLearnedPositionsAndHeadsOfAnotherSize) {
  const auto peak = [](const std::string& more) {
    return plan_of("model: {preset: tiny, tensor_model_parallel_size: 2, position_embedding_type: rope" + more + "}")
        .peak_memory;
  };
  const PeakMemory plain = peak(""), wide = peak(", kv_channels: 48");
  const PeakMemory learned = plan_of("model: {preset: tiny, tensor_model_parallel_size: 2}").peak_memory;
  EXPECT_EQ(learned.parameters - plain.parameters, 2 * 128 * 128) << "which each tensor-parallel rank holds whole";
  EXPECT_EQ(wide.parameters - plain.parameters, 2 * 4 * 128 * (2 * 4 + 2 * 2) * (48 - 32) / 2);
  EXPECT_EQ(wide.activations - plain.activations, 2 * 4 * 128 * (2 * 4 + 2 * 2) * (48 - 32) / 2);
  EXPECT_EQ(peak(", add_qkv_bias: true").parameters - plain.parameters, 2 * 4 * (128 + 2 * 64) / 2);
  EXPECT_EQ(peak(", add_qkv_bias: true, add_bias_linear: true").parameters, peak(", add_bias_linear: true").parameters);
}

TEST(Memory, BeyondAllCountingNamesTheFeaturesOfAHeadWhereTheyAreToBlame) {
  EXPECT_THAT(errors_of("model: {preset: tiny, num_attention_heads: 1000000000, kv_channels: 1000000000}"),
              Contains(HasSubstr("model.kv_channels 1000000000")));
  EXPECT_THAT(errors_of("model: {preset: tiny, ffn_hidden_size: 1000000000, hidden_size: 1000000000}"),
              Contains(HasSubstr("model.ffn_hidden_size 1000000000")));
}

TEST(Memory, TensorRanksSplitAllButNorms) {
  const std::string model =
      "model: {preset: tiny, position_embedding_type: none, sequence_parallel: true, tensor_model_parallel_size: ";
  const PeakMemory one = plan_of(model + "1}").peak_memory;
  const PeakMemory two = plan_of(model + "2}").peak_memory;
  const std::int64_t norms = 2 * (4 * 2 + 1) * 128;  // bytes of nine norms of 128
  EXPECT_EQ(2 * (two.parameters - norms), one.parameters - norms);
  EXPECT_EQ(2 * two.activations, one.activations);
  const PeakMemory four = plan_of(model + "4}").peak_memory;  // which share two key heads of 32
  EXPECT_EQ(4 * (four.parameters - norms), one.parameters - norms) << "qkv is cut evenly all the same";
  EXPECT_EQ(4 * four.activations - one.activations, 4 * 128 * 2 * 64 * 2)
      << "layers, tokens, keys and values once more";
  const PeakMemory whole_sequence = plan_of("model: {preset: tiny, tensor_model_parallel_size: 2}").peak_memory;
  EXPECT_EQ(whole_sequence.activations - two.activations, 4 * 128 * (4 * 128 / 2) * 2) << "layers, tokens, half of 4 H";
}

TEST(Memory, UserbuffersAreOneWholeActivationASlotAndMoreForARingThatReduces) {
  const std::string model =
      "model: {preset: llama3-70b, sequence_parallel: true, tensor_model_parallel_size: 4}\ncomm_overlap: ";
  const std::int64_t activation = 8192LL * 8192 * 2;
  EXPECT_EQ(plan_of(model + "{tp_comm_overlap: false}").peak_memory.userbuffers, 0);
  EXPECT_EQ(plan_of(model + "{tp_comm_overlap: true}").peak_memory.userbuffers, 10 * activation);
  EXPECT_EQ(plan_of(model + "{tp_comm_overlap: true, tp_comm_overlap_cfg: {fc2_fprop: {method: ring_exchange}}}")
                .peak_memory.userbuffers,
            9 * activation + activation * 7 / 4);
}

/// Of eight layers and eight microbatches a step.
PeakMemory pipeline_memory(const std::string& sizes, const std::string& rest = "") {
  return plan_of("model: {preset: tiny, num_layers: 8, vocab_size: 256, " + sizes +
                 "}\ntrain: {num_microbatches: 8}\n" + rest)
      .peak_memory;
}

/// Bytes of the activations of one layer and microbatch of `tokens`: 4 H, 2 H + 2 K and 3 F values a token, bf16.
std::int64_t layer_activations(std::int64_t tokens) { return tokens * 2 * (4 * 128 + 2 * 128 + 2 * 64 + 3 * 384); }

TEST(Memory, AStageKeepsWhatTheScheduleHasInFlight) {
  const std::string pp4 = "pipeline_model_parallel_size: 4";
  EXPECT_EQ(pipeline_memory(pp4).activations, 4 * 2 * layer_activations(128)) << "four microbatches of two layers";
  EXPECT_EQ(pipeline_memory(pp4 + ", virtual_pipeline_model_parallel_size: 2").activations,
            (2 * 3 + 4 + 1) * layer_activations(128))
      << "eleven chunks of one layer";
  EXPECT_EQ(pipeline_memory(pp4 + ", virtual_pipeline_model_parallel_size: 2, microbatch_group_size_per_vp_stage: 8")
                .activations,
            (2 * 3 + 8 + 1) * layer_activations(128));
  EXPECT_EQ(pipeline_memory("pipeline_model_parallel_size: 2, virtual_pipeline_model_parallel_size: 4").activations,
            (2 + 3 * 2 + 1) * layer_activations(128));
  EXPECT_EQ(pipeline_memory(pp4, "extensions: {overlap_without_virtual_stages: true}").activations,
            (2 * 3 + 1) * 2 * layer_activations(128))
      << "overlap needs time between a gradient's making and its use";
}

TEST(Memory, NoMoreIsInFlightThanThereIs) {
  const PeakMemory few = plan_of(
                             "model: {preset: tiny, num_layers: 8, pipeline_model_parallel_size: 4}\n"
                             "train: {num_microbatches: 3}")
                             .peak_memory;
  EXPECT_EQ(few.activations, 3 * 2 * layer_activations(128));
}

TEST(Memory, TheLastStageIsTheOneWhereItsHeadAndLogitsAreLarger) {
  const PeakMemory wide = plan_of(
                              "model: {preset: tiny, num_layers: 2, vocab_size: 65536, "
                              "pipeline_model_parallel_size: 2}\ntrain: {num_microbatches: 1}")
                              .peak_memory;
  EXPECT_EQ(wide.activations, layer_activations(128) + 14 * 65536 * 128);
}

TEST(Memory, RecomputedLayersKeepTheInputsOfGroupsAndOneGroup) {
  const auto activations = [](const std::string& method, const std::string& chunks = "") {
    return pipeline_memory("hidden_size: 512, pipeline_model_parallel_size: 2" + chunks +
                           ", recompute_granularity: full, recompute_method: " + method)
        .activations;
  };
  const std::int64_t input = 128 * 2 * 512, layer = 128 * 2 * (4 * 512 + 2 * 512 + 2 * 256 + 3 * 384);
  EXPECT_EQ(activations("uniform, recompute_num_layers: 1"), 2 * 4 * input + layer) << "two microbatches, four layers";
  EXPECT_EQ(activations("uniform, recompute_num_layers: 3"), 2 * 2 * input + 3 * layer)
      << "the second group has one layer";
  EXPECT_EQ(activations("block, recompute_num_layers: 1"), 2 * (input + 3 * layer) + layer);
  EXPECT_EQ(activations("block, recompute_num_layers: 1", ", virtual_pipeline_model_parallel_size: 4"),
            9 * input + layer)
      << "nine chunks of one layer";
}

TEST(Memory, TheHeadKeepsWhatItsDeferredWgradsAreMadeOf) {
  const auto activations = [](const std::string& defer) {
    return plan_of(
               "model: {preset: tiny, num_layers: 2, vocab_size: 65536, pipeline_model_parallel_size: 2}\n"
               "train: {num_microbatches: 4}\n" +
               defer)
        .peak_memory.activations;
  };
  const std::int64_t of_one = 128 * (2 * 128 + 2 * 65536);
  const std::string defer = "comm_overlap: {defer_embedding_wgrad_compute: true, wgrad_deferral_limit: ";
  EXPECT_EQ(activations(defer + "3}"), activations("") + 3 * of_one);
  EXPECT_EQ(activations(defer + "0}"), activations("") + 4 * of_one) << "all";
  EXPECT_EQ(activations(defer + "22}"), activations("") + 4 * of_one) << "there are no more";
}

TEST(Memory, StagesHoldWhatTheyExchange) {
  const std::int64_t message = 128 * 128 * 2;
  EXPECT_EQ(pipeline_memory("").exchange, 0);
  const std::string pp4 = "pipeline_model_parallel_size: 4";
  EXPECT_EQ(pipeline_memory(pp4).exchange, 2 * message) << "an output that is sent, a gradient that is received";
  EXPECT_EQ(pipeline_memory(pp4 + ", deallocate_pipeline_outputs: false").exchange, 5 * message) << "four outputs";
  EXPECT_EQ(pipeline_memory(pp4 + ", virtual_pipeline_model_parallel_size: 2").exchange, 6 * message);
}

TEST(Memory, ContextRanksSplitTokensAndShardTheOptimizer) {
  const PeakMemory one = pipeline_memory("");
  const PeakMemory four = pipeline_memory("context_parallel_size: 4");
  EXPECT_EQ(4 * four.activations, one.activations);
  EXPECT_EQ(4 * four.optimizer, one.optimizer);
  EXPECT_EQ(four.parameters, one.parameters);
  const PeakMemory instances =
      pipeline_memory("context_parallel_size: 4", "ddp: {num_distributed_optimizer_instances: 2}");
  EXPECT_EQ(2 * instances.optimizer, one.optimizer);
}

TEST(Memory, ContextRanksHoldTheKeysAndValuesOfARing) {
  const std::string many = "num_query_groups: 4, num_attention_heads: 4, seq_length: 1024, context_parallel_size: ";
  const auto kv = [](std::int64_t ranks) { return 1024 / ranks * 2 * 128 * 2; };
  EXPECT_EQ(pipeline_memory(many + "8").exchange, 7 * kv(8)) << "forward keeps all of them";
  EXPECT_EQ(pipeline_memory(many + "2").exchange, 4 * kv(2)) << "backward needs two pairs";
  EXPECT_EQ(pipeline_memory(many + "4, cp_comm_type: all_gather").exchange, 2 * 4 * kv(4));
  EXPECT_EQ(pipeline_memory(many + "4, cp_comm_type: a2a").exchange, 2 * kv(4)) << "q, k, v and the output, once more";
  EXPECT_EQ(pipeline_memory(many + "8, cp_comm_type: a2a+p2p, hierarchical_context_parallel_sizes: [4, 2]").exchange,
            (2 + 4) * kv(8));
}

TEST(Memory, CountsTheCopiesOfFp8WeightsAndInputs) {
  const auto memory = [](const std::string& more) {
    return plan_of("model: {preset: tiny, num_layers: 4}\n" + more).peak_memory;
  };
  const std::string recipe = "mixed_precision: {recipe: bf16_with_fp8_current_scaling_mixed";
  const PeakMemory bf16 = memory("");
  const PeakMemory fp8 = memory(recipe + ", fp8_param_gather: false}");
  const std::int64_t weights = 2 * (128 * (128 + 2 * 64) + 128 * 128 + 3 * 128 * 384);  // of two layers of the four
  EXPECT_EQ(fp8.parameters, bf16.parameters + 2 * weights) << "as it is, and transposed";
  const std::int64_t inputs = 2 * (2 * 128 + 384);  // of three products a token, in bf16
  EXPECT_EQ(fp8.activations, bf16.activations + 128 * (2 * (3 * 128 + 384 - inputs) + inputs))
      << "in place of those of two layers, which share one";
  const PeakMemory gathered = memory("data_parallel_size: 2\n" + recipe + ", fp8_param_gather: true}");
  EXPECT_EQ(gathered.parameters, bf16.parameters) << "a byte as it is gathered, and a byte transposed";
}

/// A layer of the tiny model: 128 hidden, 64 in its keys, 384 inside the MLP.
constexpr std::int64_t kWeightsOfLayer = 128 * (128 + 2 * 64) + 128 * 128 + 3 * 128 * 384;

PeakMemory four_layers(const std::string& more, const std::string& model = "") {
  return plan_of("model: {preset: tiny, num_layers: 4" + model + "}\n" + more).peak_memory;
}

TEST(Memory, CountsScalesAndCopiesOfEachFormat) {
  struct Format {
    const char* recipe;
    double input, weight;  // bytes a value; a weight once
  };
  const PeakMemory bf16 = four_layers("");
  const auto inputs = 128 * 4 * (3 * 128 + 384);  // of four products, a token and layer
  const auto replaced = 128 * 2 * (2 * 128 + 384);
  for (const Format& f : {Format{"bf16_with_mxfp8_mixed", 1 + 1.0 / 32, 1 + 1.0 / 32},
                          Format{"bf16_with_fp8_subchannel_scaling_mixed", 1 + 4.0 / 128, 1 + 4.0 / (128 * 128)},
                          Format{"bf16_with_nvfp4_mixed", 0.5 + 1.0 / 16, 0.5 + 1.0 / 16},
                          Format{"bf16_with_fp8_delayed_scaling_mixed", 1, 1}}) {
    const PeakMemory memory = four_layers(std::string("mixed_precision: ") + f.recipe + "\n");
    EXPECT_EQ(memory.activations, bf16.activations - 3 * replaced + std::int64_t(f.input * inputs)) << f.recipe;
    const bool is_gathered_in_bf16 = std::string_view(f.recipe).find("subchannel") != std::string_view::npos;
    const double more = 2 * f.weight - (is_gathered_in_bf16 ? 0 : 2);
    EXPECT_EQ(memory.parameters, bf16.parameters + std::int64_t(more * 4 * kWeightsOfLayer)) << f.recipe;
  }
}

TEST(Memory, BlackwellReadsOneCopyOfAWeightWithOneScaleEitherWay) {
  const std::string recipe = "mixed_precision: {recipe: bf16_with_fp8_current_scaling_mixed}\nenvironment: {gpu_arch: ";
  EXPECT_EQ(four_layers(recipe + "h100}").parameters - four_layers(recipe + "b200}").parameters, 2 * kWeightsOfLayer)
      << "of two layers of the four";
  const std::string blocks = "mixed_precision: {recipe: bf16_with_mxfp8_mixed}\nenvironment: {gpu_arch: ";
  EXPECT_EQ(four_layers(blocks + "h100}").parameters, four_layers(blocks + "b200}").parameters);
}

TEST(Memory, LayersThatStayInBf16AreTheRequested) {
  const std::string recipe =
      "mixed_precision: {recipe: bf16_with_fp8_current_scaling_mixed, fp8_param_gather: false, "
      "first_last_layers_bf16: ";
  EXPECT_EQ(four_layers(recipe + "false}").parameters - four_layers(recipe + "true}").parameters,
            2 * 2 * kWeightsOfLayer)
      << "two more layers, two copies each";
}

TEST(Memory, TheStageOfMostLayersNeedsMost) {
  const std::string pp2 = "pipeline_model_parallel_size: 2";
  EXPECT_EQ(pipeline_memory(pp2 + ", num_layers_in_first_pipeline_stage: 6").activations,
            2 * 6 * layer_activations(128));
  EXPECT_EQ(pipeline_memory(pp2 + ", num_layers_in_last_pipeline_stage: 7").activations,
            7 * layer_activations(128) + 128 * 14 * 256)
      << "one microbatch, and its logits";
  const PeakMemory middle = pipeline_memory(
      "pipeline_model_parallel_size: 4, num_layers_in_first_pipeline_stage: 1, num_layers_in_last_pipeline_stage: 1");
  EXPECT_EQ(middle.activations, 3 * 3 * layer_activations(128)) << "three microbatches of three layers";
}

/// Six layers in four ranges of 1, 2, 2 and 1.
TEST(Memory, ChunksOfUnlikeSizesAreCountedAsTheyPass) {
  const Config config = plan_of(
                            "model: {preset: tiny, num_layers: 6, vocab_size: 256, pipeline_model_parallel_size: 2, "
                            "virtual_pipeline_model_parallel_size: 2, account_for_embedding_in_pipeline_split: true, "
                            "account_for_loss_in_pipeline_split: true}\ntrain: {num_microbatches: 8}\n")
                            .config;
  const std::vector<Stage> stages = stages_to_compare(config);
  ASSERT_EQ(stages.size(), 2U);
  EXPECT_EQ(activation_bytes(config, RankShape(config), stages[0]), 7 * layer_activations(128))
      << "1 + 1 + 2 + 2 + 1 at the end of the warm-up, and never more";
  EXPECT_EQ(activation_bytes(config, RankShape(config), stages[1]), 6 * layer_activations(128) + 128 * 14 * 256)
      << "2 + 2 + 1 at the end of the warm-up, and 2 + 2 + 2 later";
}

TEST(Memory, ARecomputedMlpKeepsNothingButItsInput) {
  const std::string modules = ", recompute_granularity: selective, recompute_modules: [mlp]";
  const std::int64_t kept = 128 * 2 * (128 + 3 * 384);  // its norm, fc1 and the activation
  EXPECT_EQ(four_layers("").activations - four_layers("", modules).activations, 4 * kept - kept) << "one runs again";
  const std::string fp8 = "mixed_precision: bf16_with_mxfp8_mixed\n";
  const double in_fp8 = 128 * (2 * 2 * 384 + (128 + 384) * (1 + 1.0 / 32));
  EXPECT_EQ(four_layers(fp8).activations - four_layers(fp8, modules).activations, std::int64_t(3 * in_fp8));
}

TEST(Memory, OfOffloadedLayersOneIsOnItsWay) {
  const std::string two = ", cpu_offloading: true, cpu_offloading_num_layers: 2";
  EXPECT_EQ(four_layers("").activations - four_layers("", two).activations, layer_activations(128));
  EXPECT_EQ(four_layers("", ", cpu_offloading: true").activations, four_layers("").activations);
}

TEST(Memory, TransformerEnginesLossWorksInPlace) {
  const std::int64_t logits = 128 * plan_of("model: {preset: tiny}").config.model.vocab_size;
  EXPECT_EQ(four_layers("").activations - four_layers("", ", cross_entropy_fusion_impl: te").activations, 12 * logits);
  EXPECT_EQ(four_layers("").activations,
            four_layers("", ", cross_entropy_fusion_impl: te, cross_entropy_loss_fusion: false").activations);
}

TEST(Memory, UnfusedOperationsKeepMore) {
  EXPECT_EQ(four_layers("", ", bias_activation_fusion: false").activations - four_layers("").activations,
            4 * 128 * 2 * 384);
  EXPECT_EQ(four_layers("extensions: {norm_fusion: false}\n").activations - four_layers("").activations,
            4 * 2 * 128 * 8 * 128);
}

TEST(Memory, WithoutParallelOutputEachRankHoldsAllLogits) {
  const std::string two = ", tensor_model_parallel_size: 2";
  const std::int64_t logits = 128 * plan_of("model: {preset: tiny}").config.model.vocab_size;
  EXPECT_EQ(four_layers("", two + ", parallel_output: false").activations - four_layers("", two).activations,
            14 * logits / 2);
}

TEST(Memory, APrecisionAwareOptimizerKeepsHalfOfMainParametersInBf16) {
  const std::string aware = "optimizer: {use_precision_aware_optimizer: true}\n";
  EXPECT_EQ(6 * four_layers(aware).optimizer, 5 * four_layers("").optimizer);
  const std::string fp8 = "mixed_precision: bf16_with_mxfp8_mixed\n";
  EXPECT_EQ(four_layers(fp8).optimizer - four_layers(fp8 + aware).optimizer,
            (four_layers("").optimizer - 12 * 4 * kWeightsOfLayer) / 6)
      << "of what is in bf16";
}

TEST(Memory, MegatronFsdpDealsOutWhatItsStrategySays) {
  const auto memory = [](const std::string& ddp) {
    return plan_of("model: {preset: tiny, num_layers: 40}\ndata_parallel_size: 4\nddp: {" + ddp + "}").peak_memory;
  };
  const auto fsdp = [&](const std::string& strategy, const std::string& more = ", fsdp_double_buffer: true") {
    return memory("use_megatron_fsdp: true, data_parallel_sharding_strategy: " + strategy + more);
  };
  const PeakMemory whole = memory("use_distributed_optimizer: false"), sharded = memory("");
  const PeakMemory none = fsdp("no_shard"), optim = fsdp("optim"), grads = fsdp("optim_grads"),
                   all = fsdp("optim_grads_params");
  EXPECT_EQ(none.total(), whole.total());
  EXPECT_EQ(optim.total(), sharded.total());
  EXPECT_EQ(grads.parameters, whole.parameters);
  EXPECT_EQ(grads.optimizer, sharded.optimizer);
  const std::int64_t layer = kWeightsOfLayer + 2 * 128, tables = whole.parameters / 2 - 40 * layer;
  EXPECT_EQ(grads.gradients, whole.gradients / 4 + 4 * (2 * layer + tables)) << "two layers and the tables are whole";
  EXPECT_EQ(all.gradients, grads.gradients);
  EXPECT_EQ(all.parameters, whole.parameters / 4 + 2 * (2 * layer + tables));
  const std::string unit = ", suggested_communication_unit_size: " + std::to_string(6 * layer);
  EXPECT_EQ(fsdp("optim_grads_params", unit).gradients, whole.gradients / 4 + 4 * (7 * layer + tables));
  EXPECT_EQ(fsdp("optim_grads_params", unit).parameters, whole.parameters / 4 + 2 * (4 * layer + tables));
  EXPECT_EQ(fsdp("optim_grads_params", "").gradients, whole.gradients / 4 + whole.gradients)
      << "all 40 layers are fewer parameters than may be on their way";
}

TEST(Memory, ShardsOfFp8WeightsHaveNoTransposedCopy) {
  const auto parameters = [](const std::string& arch) {
    return plan_of(
               "model: {preset: tiny, num_layers: 40}\ndata_parallel_size: 4\nmixed_precision: {recipe: "
               "bf16_with_fp8_current_scaling_mixed}\nddp: {use_megatron_fsdp: true, fsdp_double_buffer: true, "
               "data_parallel_sharding_strategy: optim_grads_params}\nenvironment: {gpu_arch: " +
               arch + "}")
        .peak_memory.parameters;
  };
  const double low_of_two_layers = 2.0 * 38 / 40 * kWeightsOfLayer;
  EXPECT_NEAR(double(parameters("h100") - parameters("b200")), low_of_two_layers, 2);
}

TEST(Memory, CountsWhatLibrariesHold) {
  constexpr std::int64_t kMib = 1 << 20, kOfACommunicator = 24 * 12 * kMib;
  const PeakMemory alone = four_layers("");
  EXPECT_EQ(alone.communicators, 0);
  EXPECT_EQ(alone.context, 512 * kMib);
  const std::int64_t dq = 128 * 128 * 4;
  EXPECT_EQ(alone.workspaces, 64 * kMib + dq);
  EXPECT_EQ(alone.total() - alone.of_tensors(), alone.workspaces + alone.context);
  EXPECT_EQ(four_layers("environment: {gpu_arch: a100}").workspaces, std::int64_t(12.125 * kMib) + dq);
  EXPECT_EQ(four_layers("data_parallel_size: 2").communicators, 2 * kOfACommunicator) << "data and all";
  EXPECT_EQ(four_layers("", ", pipeline_model_parallel_size: 2, context_parallel_size: 2").communicators,
            5 * kOfACommunicator)
      << "data, context, two neighbors and all";
  const std::string tensor = ", tensor_model_parallel_size: 2, sequence_parallel: true";
  EXPECT_EQ(four_layers("comm_overlap: {tp_comm_overlap: true}", tensor).workspaces, (32 + 4 * 32) * kMib + dq / 2);
  EXPECT_EQ(four_layers("", ", deterministic_mode: true").workspaces - alone.workspaces, 2 * 128 * 128 * 4)
      << "two bytes for each query and key of four heads";
}

TEST(Memory, AbsurdSizesDoNotOverflow) {
  const Matrix matrix = parse("model: {preset: tiny, hidden_size: 1000000000, num_layers: 10000}", "f");
  EXPECT_GT(matrix.cells.at(0).plan.peak_memory.parameters, 0);
  EXPECT_THAT(error_lines(matrix), Only("bytes for weights"));
}

}  // namespace
}  // namespace underlap::plan
