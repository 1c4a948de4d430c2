// SPDX-License-Identifier: Apache-2.0
// Every product of tensor, context, pipeline, virtual-pipeline and data parallelism trains as one rank does.
#include "tests/impl/plan/plan_testing.hpp"
#include "tests/impl/step/asked_schedules.hpp"
#include "tests/impl/step/step_times.hpp"

namespace underlap {
namespace {

using testing_support::largest_relative_difference;

constexpr std::int32_t kSteps = 20;

struct Layout {
  std::int32_t tensor = 1, context = 1, pipeline = 1, virtual_pipeline = 1, data = 1;
  std::int32_t instances = 1;  // of the optimizer
  bool sequence_parallel = true;
  std::int32_t groups = 4;                 // key and value heads
  std::int32_t layers = 8, sequences = 8;  // of the model, of a step
};

std::string name_of(const Layout& l) {
  return fmt::format("tp{}_cp{}_pp{}_vpp{}_dp{}{}{}{}", l.tensor, l.context, l.pipeline, l.virtual_pipeline, l.data,
                     l.instances == 1 ? "" : fmt::format("_instances{}", l.instances),
                     l.sequence_parallel ? "" : "_whole", l.groups == 4 ? "" : fmt::format("_groups{}", l.groups));
}
void PrintTo(const Layout& layout, std::ostream* out) { *out << name_of(layout); }

// As many sequences a step, however many ranks share them.
plan::Config config_of(const Layout& l, const std::string& more = "") {
  const std::string yaml = fmt::format(
      "model: {{num_layers: {}, hidden_size: 32, ffn_hidden_size: 64, num_attention_heads: 4, num_query_groups: {}, "
      "vocab_size: 256, seq_length: 32, sequence_parallel: {}, tensor_model_parallel_size: {}, "
      "context_parallel_size: {}, pipeline_model_parallel_size: {}, virtual_pipeline_model_parallel_size: {}}}\n"
      "data_parallel_size: {}\ntrain: {{micro_batch_size: 1, num_microbatches: {}}}\noptimizer: {{lr: 0.003}}\n"
      "run: {{backend: sim, numerics: true}}\nddp.num_distributed_optimizer_instances: {}\n{}",
      l.layers, l.groups, l.sequence_parallel, l.tensor, l.context, l.pipeline,
      l.virtual_pipeline > 1 ? fmt::format("{}", l.virtual_pipeline) : "null", l.data, l.sequences / l.data,
      l.instances, more);
  const plan::Plan plan = plan::plan_of(yaml);
  EXPECT_THAT(plan::lines_of(plan.not_run), IsEmpty());
  return plan.config;
}

std::vector<double> losses_of(const plan::Config& config, double ns_per_byte = 0.5, std::int32_t steps = kSteps) {
  return testing_support::simulated_losses(config, ns_per_byte, steps);
}

constexpr Layout kWhole{
    .tensor = 2, .context = 2, .pipeline = 2, .virtual_pipeline = 2, .data = 2, .sequence_parallel = false};

constexpr Layout kThreeModes{.tensor = 2, .context = 2, .pipeline = 2};
constexpr Layout kWholeData{.tensor = 2, .data = 2, .sequence_parallel = false};

const std::string kRope = "model.position_embedding_type: rope\nmodel.rotary_percent: 0.5\n";
const std::string kShapes = "model.normalization: LayerNorm\nmodel.add_bias_linear: true\nmodel.activation: gelu\n";
const std::string kFp8 = "mixed_precision: {recipe: bf16_with_fp8_current_scaling_mixed, fp8_param_gather: true}\n";

enum Kind { kTensor, kContext, kPipeline, kVirtualPipeline, kData, kNumKinds };

// All legal products of ones and twos but that of ones alone; with `four` also one four, of that kind. Models are no
// deeper than stages and chunks need, and steps no longer.
std::vector<Layout> products(std::optional<Kind> four = {}) {
  std::vector<Layout> all;
  for (int bits = four ? 0 : 1; bits < 1 << kNumKinds; ++bits) {
    if (four && (bits >> *four & 1) != 0) continue;  // its bit says nothing
    const auto size = [&](Kind kind) { return kind == four ? 4 : (bits >> kind & 1) + 1; };
    Layout layout{size(kTensor), size(kContext), size(kPipeline), size(kVirtualPipeline), size(kData)};
    if (layout.pipeline == 1 && layout.virtual_pipeline > 1) continue;
    layout.layers = std::max(4, layout.pipeline * layout.virtual_pipeline);
    layout.sequences = std::max(4, layout.pipeline * layout.data);
    all.push_back(layout);
  }
  return all;
}

// All legal products of one and two, and with four of one kind; then several instances of the optimizer,
// tensor-parallel ranks that hold whole activations between layers, and such as share key and value heads.
std::vector<Layout> layouts() {
  std::vector<Layout> all = products();
  for (const Kind four : {kTensor, kContext, kPipeline, kVirtualPipeline, kData})
    for (const Layout& layout : products(four)) all.push_back(layout);
  for (const Layout& layout :
       {Layout{.data = 4, .instances = 2}, Layout{.tensor = 2, .data = 4, .instances = 2},
        Layout{.context = 2, .data = 2, .instances = 2}, Layout{.context = 4, .data = 2, .instances = 4},
        Layout{.tensor = 2, .context = 2, .pipeline = 2, .virtual_pipeline = 2, .data = 2, .instances = 4}, kWhole,
        Layout{.tensor = 4, .sequence_parallel = false}, Layout{.tensor = 2, .data = 2, .sequence_parallel = false},
        Layout{.tensor = 2, .context = 2, .sequence_parallel = false},
        Layout{.tensor = 2, .pipeline = 2, .virtual_pipeline = 2, .sequence_parallel = false},
        Layout{.tensor = 2, .data = 2, .groups = 1}, Layout{.tensor = 4, .groups = 1}, Layout{.tensor = 4, .groups = 2},
        Layout{.tensor = 4, .context = 2, .groups = 2}, Layout{.tensor = 4, .sequence_parallel = false, .groups = 2},
        Layout{.tensor = 4, .pipeline = 2, .groups = 2}})
    all.push_back(layout);
  return all;
}

TEST(Composition, AsksEveryLegalProductOfOnesAndTwosAndOneFour) {
  EXPECT_EQ(products().size(), 23U);
  std::size_t with_a_four = 0;
  for (const Kind four : {kTensor, kContext, kPipeline, kVirtualPipeline, kData}) with_a_four += products(four).size();
  EXPECT_EQ(with_a_four, 12U + 12 + 16 + 8 + 12);
}

class Composition : public testing::TestWithParam<Layout> {};
INSTANTIATE_TEST_SUITE_P(Layouts, Composition, testing::ValuesIn(layouts()),
                         [](const auto& parameter) { return name_of(parameter.param); });

TEST_P(Composition, LearnsAsOneRankDoes) {
  const Layout& layout = GetParam();
  static std::map<std::tuple<int, int, int>, std::vector<double>> by_model;
  std::vector<double>& alone = by_model[{layout.groups, layout.layers, layout.sequences}];
  if (alone.empty())
    alone = losses_of(config_of({.groups = layout.groups, .layers = layout.layers, .sequences = layout.sequences}));
  const auto losses = losses_of(config_of(layout));
  EXPECT_LT(losses.back(), losses.front() - 0.5);
  EXPECT_LT(largest_relative_difference(losses, alone), 2e-3);
}

// The embedding, the loss or both are all that their chunk has.
TEST(Composition, ChunksWithoutLayersLearnAsOneRankDoes) {
  constexpr std::int32_t kFew = 10;
  const std::string both =
      "model.account_for_embedding_in_pipeline_split: true\nmodel.account_for_loss_in_pipeline_split: true\n";
  const std::string deferred = "comm_overlap: {defer_embedding_wgrad_compute: true, wgrad_deferral_limit: 0}\n";
  const auto alone = losses_of(config_of({.layers = 6}), 0.5, kFew);
  for (const auto& [layout, yaml] :
       {std::pair{Layout{.pipeline = 2, .virtual_pipeline = 4, .data = 2, .layers = 6}, both},
        {Layout{.tensor = 2, .pipeline = 2, .virtual_pipeline = 4, .layers = 6}, both + deferred},
        {Layout{.pipeline = 4, .data = 2, .layers = 6}, "model.pipeline_model_parallel_layout: E|ttt|ttt|L\n"},
        {Layout{.pipeline = 2, .layers = 6},
         "model.pipeline_model_parallel_layout: E|ttttttL\nextensions: {pipeline_schedule: zb_h1}\n"}})
    EXPECT_LT(largest_relative_difference(losses_of(config_of(layout, yaml), 0.5, kFew), alone), 2e-3)
        << name_of(layout);
}

struct OtherModel {
  std::string name, yaml;
  std::int32_t groups;
  std::vector<Layout> layouts;
  double tolerance = 2e-3;
};
void PrintTo(const OtherModel& model, std::ostream* out) { *out << model.name; }

class OtherModels : public testing::TestWithParam<OtherModel> {};
INSTANTIATE_TEST_SUITE_P(
    Shapes, OtherModels,
    testing::Values(
        OtherModel{"without_a_table_of_positions", "model.position_embedding_type: rope\n", 4, {kThreeModes}},
        OtherModel{"biases_and_layer_norm", kShapes, 4, {kThreeModes, {.tensor = 4}, kWholeData}},
        OtherModel{"biases_and_layer_norm_in_fp8", kShapes + kFp8, 4, {{.tensor = 2, .context = 2}, kWholeData}, 2e-2},
        OtherModel{"heads_of_another_size_with_biases_of_their_own",
                   "model.kv_channels: 20\nmodel.add_qkv_bias: true\nmodel.position_embedding_type: rope\n",
                   2,
                   {kThreeModes}}),
    CaseName());

TEST_P(OtherModels, LearnAsOneRankDoes) {
  constexpr std::int32_t kFew = 10;
  const auto& [name, yaml, groups, layouts, tolerance] = GetParam();
  const auto alone = losses_of(config_of({.groups = groups}, yaml), 0.5, kFew);
  EXPECT_LT(alone.back(), alone.front() - 0.5);
  for (Layout layout : layouts) {
    layout.groups = groups;
    const auto losses = losses_of(config_of(layout, yaml), 0.5, kFew);
    EXPECT_LT(largest_relative_difference(losses, alone), tolerance) << name_of(layout);
  }
}

struct OffAndOn {
  std::string name;
  Layout off_layout, on_layout;
  std::string off, on;
};
void PrintTo(const OffAndOn& c, std::ostream* out) { *out << c.name; }

class OverlapInComposition : public testing::TestWithParam<OffAndOn> {};

constexpr Layout kPlain{.tensor = 2, .context = 2, .pipeline = 2, .data = 2};
constexpr Layout kVirtual{.tensor = 2, .context = 2, .pipeline = 2, .virtual_pipeline = 2, .data = 2};

constexpr Layout kWholePlain{.tensor = 2, .pipeline = 2, .sequence_parallel = false};

constexpr Layout kInstances{.tensor = 2, .pipeline = 2, .virtual_pipeline = 2, .data = 4, .instances = 2};

std::string recompute(const std::string& method, int num_layers) {
  return fmt::format("model.recompute_granularity: full\nmodel.recompute_method: {}\nmodel.recompute_num_layers: {}\n",
                     method, num_layers);
}

const std::string kEveryExchange = "model.cp_comm_type: [p2p, a2a, all_gather, p2p, a2a, all_gather, p2p, p2p]\n";
constexpr const char* kWaited = "extensions: {tp_async_collectives: false}\n";
constexpr const char* kInParts = "extensions: {scatter_gather_tensors_in_pipeline: true}\n";
constexpr const char* kDeferred = "comm_overlap: {defer_embedding_wgrad_compute: true, wgrad_deferral_limit: 0}\n";

INSTANTIATE_TEST_SUITE_P(
    Knobs, OverlapInComposition,
    testing::Values(
        OffAndOn{"every_mode", kPlain, kVirtual,
                 "comm_overlap: {overlap_grad_reduce: false, overlap_param_gather: false}\n"
                 "extensions: {cp_overlap: false}\n",
                 "comm_overlap: {tp_comm_overlap: true, bucket_size: 5000}\n"},
        OffAndOn{"without_virtual_stages", kPlain, kPlain, "",
                 "comm_overlap: {overlap_p2p_comm: true, batch_p2p_comm: false}\n"
                 "extensions: {overlap_without_virtual_stages: true}\n"},
        OffAndOn{"fill_and_drain", kVirtual, kVirtual, "model.overlap_p2p_comm_warmup_flush: true\n", ""},
        OffAndOn{"release_by_event", kVirtual, kVirtual, "extensions: {release_by_event: true}\n", ""},
        OffAndOn{"bucket_every_stage", kVirtual, kVirtual,
                 "comm_overlap: {bucket_size: 5000}\nextensions: {bucket_every_stage: true}\n",
                 "comm_overlap: {bucket_size: 5000}\n"},
        OffAndOn{"gathers_with_the_update", kVirtual, kVirtual, "",
                 "comm_overlap: {overlap_param_gather_with_optimizer_step: true}\n"},
        OffAndOn{"deferred_wgrads", kVirtual, kVirtual, "", kDeferred},
        OffAndOn{"whole_activations", kWhole, kWhole, kWaited, ""},
        OffAndOn{"in_parts", kWholePlain, kWholePlain, "", kInParts},
        OffAndOn{"in_parts_over_virtual_stages", kWhole, kWhole, "", kInParts},
        OffAndOn{"deferred_wgrads_of_whole_activations", kWhole, kWhole, "", kDeferred},
        OffAndOn{"deferred_wgrads_of_a_tied_head", kPlain, kPlain, "model.share_embeddings_and_output_weights: true\n",
                 std::string("model.share_embeddings_and_output_weights: true\n") + kDeferred},
        OffAndOn{"instances", kInstances, kInstances, "",
                 "comm_overlap: {overlap_grad_reduce: false, overlap_param_gather: false}\n"},
        OffAndOn{"recomputed_groups", {}, {}, "", recompute("uniform", 3)},
        OffAndOn{"recomputed_over_tensor_ranks",
                 {.tensor = 2},
                 {.tensor = 2},
                 "comm_overlap: {tp_comm_overlap: true}\n",
                 "comm_overlap: {tp_comm_overlap: true}\n" + recompute("uniform", 2)},
        OffAndOn{"recomputed_over_context_ranks",
                 {.context = 2},
                 {.context = 2},
                 kEveryExchange,
                 kEveryExchange + recompute("uniform", 4)},
        OffAndOn{"biases_and_layer_norm", kPlain, kVirtual,
                 kShapes + "comm_overlap: {overlap_grad_reduce: false, overlap_param_gather: false}\n",
                 kShapes + "comm_overlap: {tp_comm_overlap: true, bucket_size: 5000}\n"},
        OffAndOn{"recomputed_with_biases_and_layer_norm",
                 {.tensor = 2},
                 {.tensor = 2},
                 kShapes,
                 kShapes + recompute("uniform", 2)},
        OffAndOn{"recomputed_with_rope", {.context = 2}, {.context = 2}, kRope, kRope + recompute("uniform", 2)},
        OffAndOn{"recomputed_block_of_virtual_stages",
                 {.pipeline = 2, .virtual_pipeline = 2},
                 {.pipeline = 2, .virtual_pipeline = 2},
                 "",
                 recompute("block", 1)},
        OffAndOn{"recomputed_in_every_mode", kVirtual, kVirtual, "comm_overlap: {bucket_size: 5000}\n",
                 "comm_overlap: {bucket_size: 5000}\n" + recompute("uniform", 2)},
        OffAndOn{"recomputed_in_fp8",
                 {.tensor = 2, .pipeline = 2},
                 {.tensor = 2, .pipeline = 2},
                 kFp8,
                 kFp8 + recompute("uniform", 2)},
        OffAndOn{"hooks_in_place_of_alignment", kVirtual, kVirtual, "ddp: {align_grad_reduce: false}\n",
                 "comm_overlap: {align_param_gather: false}\n"}),
    CaseName());

TEST_P(OverlapInComposition, MovesNoBit) {
  const OffAndOn& c = GetParam();
  const auto off = losses_of(config_of(c.off_layout, c.off), 0.5, 6);
  EXPECT_EQ(losses_of(config_of(c.on_layout, c.on), 5, 6), off);
}

// Every schedule that has to be asked for, against what Megatron runs.
class AskedSchedule : public testing::TestWithParam<std::tuple<std::string, Layout>> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(AskedSchedule);  // there need not be one
INSTANTIATE_TEST_SUITE_P(Schedules, AskedSchedule,
                         testing::Combine(testing::ValuesIn(testing_support::asked_schedules()),
                                          testing::Values(kPlain, kWholePlain, Layout{.pipeline = 4},
                                                          Layout{.pipeline = 2, .data = 4, .instances = 2},
                                                          Layout{.tensor = 4, .pipeline = 2, .groups = 2})),
                         [](const auto& parameter) {
                           return std::get<0>(parameter.param) + "_" + name_of(std::get<1>(parameter.param));
                         });

TEST_P(AskedSchedule, MovesNoBit) {
  const auto& [schedule, layout] = GetParam();
  const std::string asked = fmt::format("extensions: {{pipeline_schedule: {}}}\n", schedule);
  for (const std::string& model : {std::string(),
                                   std::string("model.share_embeddings_and_output_weights: true\n"
                                               "optimizer.clip_grad: 0.3\n"
                                               "comm_overlap: {batch_p2p_comm: false}\n"
                                               "mixed_precision: {grad_reduce_in_fp32: false}\n"),
                                   kShapes}) {
    const auto megatron = losses_of(config_of(layout, model), 0.5, 6);
    EXPECT_EQ(losses_of(config_of(layout, model + asked), 5, 6), megatron) << model;
  }
}

TEST(Composition, ProductsInFp8KeepEachMicrobatchsInput) {
  const std::string fp8 = "mixed_precision: {recipe: bf16_with_fp8_current_scaling_mixed}\n";
  const auto alone = losses_of(config_of({}, fp8), 0.5, 8);
  const auto difference = [&](const Layout& layout) {
    return largest_relative_difference(losses_of(config_of(layout, fp8), 0.5, 8), alone);
  };
  EXPECT_LT(difference({.pipeline = 2, .virtual_pipeline = 2}), 2e-3);
  EXPECT_LT(difference({.tensor = 2, .context = 2}), 2e-2);
  EXPECT_LT(difference({.tensor = 2, .context = 2, .sequence_parallel = false}), 2e-2);
}

// In bf16, where each addition is rounded: in fp32 the other order is lost when weights are rounded.
TEST(Composition, ALimitOfDeferredWgradsReordersTheirSum) {
  const Layout layout{.pipeline = 2, .data = 2};
  const std::string in_bf16 = "mixed_precision: {grad_reduce_in_fp32: false}\n";
  const auto deferred = [&](int limit, bool aligned = true) {
    const std::string more = fmt::format(
        "comm_overlap: {{defer_embedding_wgrad_compute: true, wgrad_deferral_limit: {}}}\n"
        "ddp: {{align_grad_reduce: {}}}\n",
        limit, aligned);
    return losses_of(config_of(layout, in_bf16 + more), 0.5, 6);
  };
  const auto at_once = losses_of(config_of(layout, in_bf16), 0.5, 6);
  EXPECT_EQ(deferred(0), at_once);
  const auto limited = deferred(2);
  EXPECT_NE(limited, at_once);
  EXPECT_LT(largest_relative_difference(limited, at_once), 1e-3);
  EXPECT_EQ(deferred(2, false), limited) << "hooks wait for the last of them";
}

TEST(Composition, ATiedHeadLearnsWithItsEmbeddingOnAnotherStage) {
  const std::string tied = "model.share_embeddings_and_output_weights: true\noptimizer.clip_grad: 0.3\n";
  const auto losses = losses_of(config_of(kVirtual, tied));
  EXPECT_LT(largest_relative_difference(losses, losses_of(config_of({}, tied))), 2e-3);
  EXPECT_LT(losses.back(), losses.front() - 0.5);
}

}  // namespace
}  // namespace underlap
