// SPDX-License-Identifier: Apache-2.0
#include "impl/plan/memory.hpp"
#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ModelPreset, NamesAreSortedAndEachPlans) {
  const auto names = preset_names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(names.size(), 8U);
  for (const std::string& name : names) EXPECT_EQ(plan_of("model: {preset: " + name + "}").config.model.preset, name);
}

/// Parameters as the models' publishers count them, to 2 %.
TEST(ModelPreset, HasAsManyParametersAsItsNameSays) {
  const auto billions = [](const std::string& name) {
    return double(plan_of("model: {preset: " + name + "}").peak_memory.parameters) / 2e9;
  };
  EXPECT_NEAR(billions("llama3-8b"), 8.03, 0.01);
  EXPECT_NEAR(billions("llama3-70b"), 70.55, 0.01);
  EXPECT_NEAR(billions("llama3.1-405b"), 405.85, 0.05);
  EXPECT_NEAR(billions("gpt3-175b"), 175, 2);
  EXPECT_NEAR(billions("gpt3-20b"), 20.2, 0.4);
  EXPECT_NEAR(billions("nemotron4-340b"), 341, 2);
  EXPECT_NEAR(billions("nemotron4-15b"), 15.6, 0.3);
}

TEST(ModelPreset, FieldsOverrideIt) {
  const ModelConfig model = plan_of("model: {num_layers: 2, preset: llama3-8b, activation: gelu}").config.model;
  EXPECT_EQ(model.num_layers, 2);
  EXPECT_EQ(model.activation, Activation::gelu);
  EXPECT_EQ(model.hidden_size, 4096);
}

TEST(ModelPreset, UnknownNameListsAllAndTheNearest) {
  EXPECT_THAT(errors_of("model: {preset: llama3-9b}"),
              ElementsAre(testing::AllOf(HasSubstr("nemotron4-340b, tiny"), HasSubstr("did you mean llama3-8b?"))));
}

TEST(Model, WithoutPresetEverySizeMustBeGiven) {
  const std::string all =
      "model: {num_layers: 2, hidden_size: 64, ffn_hidden_size: 96, num_attention_heads: 4, num_query_groups: 2, "
      "vocab_size: 256, seq_length: 32";
  EXPECT_EQ(plan_of(all + "}").config.model.head_size(), 16);
  EXPECT_THAT(errors_of("\nmodel: {num_layers: 2}"),
              ElementsAre(testing::AllOf(testing::StartsWith("f:2:1: "), HasSubstr("model.hidden_size, "),
                                         HasSubstr("model.seq_length;"))));
  EXPECT_THAT(errors_of("run: {steps: 1}"), ElementsAre(HasSubstr("model.num_layers, ")));
}

TEST(Model, ASizeThatCannotBeReadIsNotMissingToo) {
  EXPECT_THAT(errors_of("model: {num_layers: x, hidden_size: 64, ffn_hidden_size: 96, num_attention_heads: 4, "
                        "num_query_groups: 2, vocab_size: 256, seq_length: 32}"),
              ElementsAre(HasSubstr("num_layers must be")));
}

TEST(Batch, GlobalBatchSizeGivesTheMicrobatches) {
  const Plan plan =
      plan_of("model: {preset: tiny}\ndata_parallel_size: 2\ntrain: {global_batch_size: 12, micro_batch_size: 2}");
  EXPECT_EQ(plan.config.train.num_microbatches, 3);
}

TEST(Batch, GlobalBatchSizeMustFit) {
  EXPECT_THAT(errors_of("model: {preset: tiny}\ndata_parallel_size: 2\ntrain: {global_batch_size: 5}"),
              ElementsAre(HasSubstr("global_batch_size is 5")));
  EXPECT_THAT(errors_of("model: {preset: tiny}\ntrain: {global_batch_size: 4, num_microbatches: 3}"),
              ElementsAre(HasSubstr("num_microbatches is 3")));
}

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

TEST(Memory, TensorRanksSplitAllButNorms) {
  const std::string model = "model: {preset: tiny, sequence_parallel: true, tensor_model_parallel_size: ";
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
  EXPECT_EQ(wide.activations, layer_activations(128) + 6 * 65536 * 128);
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

TEST(Memory, TellsTheMostLayersThatFit) {
  const auto config = [](const std::string& model) {
    return plan_of("model: {preset: tiny, " + model + "}\ntrain: {num_microbatches: 2}").config;
  };
  const auto bytes_of = [&](const std::string& model) { return predicted_memory(config(model)).total(); };
  const Config of_twelve = config("num_layers: 12");
  EXPECT_EQ(layers_that_fit(of_twelve, bytes_of("num_layers: 7")), 7);
  EXPECT_EQ(layers_that_fit(of_twelve, bytes_of("num_layers: 7") - 1), 6);
  EXPECT_EQ(layers_that_fit(of_twelve, bytes_of("num_layers: 12")), 11) << "fewer, for those did not fit";
  EXPECT_EQ(layers_that_fit(of_twelve, bytes_of("num_layers: 1") - 1), std::nullopt);
  const std::string stages = ", pipeline_model_parallel_size: 2, virtual_pipeline_model_parallel_size: 2";
  EXPECT_EQ(layers_that_fit(config("num_layers: 12" + stages), bytes_of("num_layers: 8" + stages)), 8);
  EXPECT_EQ(layers_that_fit(config("num_layers: 12" + stages), bytes_of("num_layers: 8" + stages) - 1), 4);
  EXPECT_EQ(advice_on_memory(of_twelve, bytes_of("num_layers: 7")), "--layers 7 fits as predicted");
  EXPECT_EQ(advice_on_memory(of_twelve, 0), "no fewer layers fit: a smaller micro_batch_size, or more ranks");
  EXPECT_THAT(advice_on_memory(of_twelve, 1'000'000'000), HasSubstr("GB were predicted, without workspaces"));
  const std::string block = ", recompute_granularity: full, recompute_method: block, recompute_num_layers: ";
  EXPECT_EQ(advice_on_memory(config("num_layers: 12" + block + "10"), bytes_of("num_layers: 3" + block + "3")),
            "--layers 3 with model.recompute_num_layers 3 fits as predicted");
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

TEST(Memory, AbsurdSizesDoNotOverflow) {
  const Matrix matrix = parse("model: {preset: tiny, hidden_size: 1000000000, num_layers: 10000}", "f");
  EXPECT_GT(matrix.cells.at(0).plan.peak_memory.parameters, 0);
  EXPECT_THAT(error_lines(matrix), testing::ElementsAre(testing::HasSubstr("bytes for weights")));
}

TEST(Rope, TurnsAPartOfEachHeadInPairs) {
  const auto model = [](const std::string& more) {
    return plan_of("model: {preset: tiny, position_embedding_type: rope, " + more + "}\n").config.model;
  };
  EXPECT_EQ(model("rotary_percent: 1").rotary_features(), 32);
  EXPECT_EQ(model("rotary_percent: 0.25, rotary_base: 500000").rotary_features(), 8);
  EXPECT_EQ(model("rotary_percent: 0.25, rotary_base: 500000").rotary_base, 500'000);
  const auto errors = [](const std::string& percent) {
    return errors_of("model: {preset: tiny, position_embedding_type: rope, rotary_percent: " + percent + "}\n");
  };
  EXPECT_THAT(errors("0.1"), testing::ElementsAre(testing::HasSubstr("turns 3 of the 32 features of a head")));
  EXPECT_THAT(errors("0.01"), testing::ElementsAre(testing::HasSubstr("turns 0 of the 32 features")));
  const Plan learned = plan_of("model: {preset: tiny, rotary_base: 5}\n");
  ASSERT_EQ(learned.notices.size(), 1U);
  EXPECT_THAT(learned.notices[0].message, testing::HasSubstr("rotary_base has no effect"));
}

TEST(Rope, OfPresetsIsThatOfTheModels) {
  EXPECT_EQ(plan_of("model: {preset: llama3-8b}\n").config.model.rotary_base, 500'000);
  const ModelConfig nemotron = plan_of("model: {preset: nemotron4-15b}\n").config.model;
  EXPECT_EQ(nemotron.rotary_features(), nemotron.head_size() / 2);
}

}  // namespace
}  // namespace underlap::plan
