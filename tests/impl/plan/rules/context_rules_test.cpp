// SPDX-License-Identifier: Apache-2.0
#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

/// A tiny model with four key heads and sequences of 128 over `ranks` context-parallel ranks.
std::string context(int ranks, const std::string& model = "", const std::string& rest = "") {
  return "model: {preset: tiny, num_layers: 4, num_query_groups: 4, context_parallel_size: " + std::to_string(ranks) +
         (model.empty() ? "" : ", ") + model + "}\n" + rest;
}

TEST(ContextKnobs, ARingForAllLayersIsTheDefault) {
  const Plan plan = plan_of(context(4));
  EXPECT_THAT(plan.config.context.cp_comm_type, ElementsAre(CpCommType::p2p));
  EXPECT_EQ(plan.config.context.hierarchical_context_parallel_sizes, std::nullopt);
  EXPECT_TRUE(plan.config.extensions.cp_overlap);
  EXPECT_EQ(outcome(plan, "model.cp_comm_type"), "\"p2p\" auto");
  EXPECT_EQ(outcome(plan, "extensions.cp_overlap"), "true auto");
}

TEST(ContextKnobs, EveryTypeIsTaken) {
  EXPECT_EQ(plan_of(context(2, "cp_comm_type: all_gather")).config.context.of_layer(3), CpCommType::all_gather);
  EXPECT_EQ(plan_of(context(2, "cp_comm_type: a2a")).config.context.of_layer(3), CpCommType::a2a);
  const Plan both =
      plan_of(context(8, "cp_comm_type: a2a+p2p, hierarchical_context_parallel_sizes: [4, 2], seq_length: 256"));
  EXPECT_EQ(both.config.context.of_layer(0), CpCommType::a2a_p2p);
  EXPECT_THAT(both.config.context.hierarchical_context_parallel_sizes.value(), ElementsAre(4, 2));
  EXPECT_THAT(both.notices, IsEmpty());
}

TEST(ContextKnobs, EachLayerMayHaveItsOwn) {
  const ContextConfig c = plan_of(context(2, "cp_comm_type: [p2p, a2a, p2p, all_gather]")).config.context;
  EXPECT_EQ(c.of_layer(1), CpCommType::a2a);
  EXPECT_EQ(c.of_layer(3), CpCommType::all_gather);
}

TEST(ContextKnobs, OverlapCanBeSwitchedOff) {
  const std::string off = "extensions: {cp_overlap: false}";
  EXPECT_FALSE(plan_of(context(2, "", off)).config.extensions.cp_overlap);
  expect_noticed({{context(1, "", off), "no effect: context_parallel_size is 1"}});
}

TEST(ContextSizes, MustFitTheModelAndEachOther) {
  const std::string a2a = "cp_comm_type: a2a", sizes = "hierarchical_context_parallel_sizes: ";
  const std::string no_product = "product is context_parallel_size (4)";
  std::vector<OneMessage> refused = {
      {context(2, "cp_comm_type: [p2p, a2a]"), "lists 2 layers"},
      {context(2, "cp_comm_type: [p2p, ring, p2p, p2p]"), "must be one of p2p, all_gather, a2a"},
      {context(4, "seq_length: 132"), "seq_length is 132, which is not divisible by 2 * context_parallel_size (8)"},
      {context(8, a2a), "(4) do not divide evenly among the 8 ranks"},
      {context(4, a2a + ", tensor_model_parallel_size: 2, sequence_parallel: true"),
       "(2) do not divide evenly among the 4 ranks"},
      {context(8, a2a + "+p2p, " + sizes + "[8, 1]"), "(4) do not divide evenly among the 8 ranks"},
      // A key head that two tensor ranks hold is still one head.
      {"model: {preset: tiny, num_query_groups: 2, tensor_model_parallel_size: 4, context_parallel_size: 2, "
       "cp_comm_type: a2a, sequence_parallel: true}",
       "(1) do not divide evenly among the 2 ranks"},
      {context(4, a2a + "+p2p"), no_product},
      {context(4, sizes + "[3, 2]"), no_product}};
  for (const char* wrong : {"[2, 3]", "[4]", "4", "[4, 1, 1]", "[-2, -2]"})
    refused.push_back({context(4, a2a + "+p2p, " + sizes + wrong), no_product});
  expect_refused(refused);
  for (const std::string& legal : {std::string("seq_length: 136"), a2a})
    EXPECT_THAT(errors_of(context(4, legal)), IsEmpty()) << legal;
}

TEST(ContextSizes, HierarchicalSizesAreIdleUnlessALayerUsesThem) {
  const Plan plan = plan_of(context(4, "hierarchical_context_parallel_sizes: [2, 2]"));
  EXPECT_THAT(lines_of(plan.notices), Only("no effect: no layer's cp_comm_type is a2a+p2p"));
  EXPECT_EQ(plan.config.context.hierarchical_context_parallel_sizes, std::nullopt);
}

TEST(ContextAndData, GradientsAreSharedThoughBridgeOverlapsNothingByItself) {
  const std::string grads = "comm_overlap.overlap_grad_reduce";
  const Plan plan = plan_of(context(2, "", "ddp: {average_in_collective: true}"));
  EXPECT_EQ(outcome(plan, grads), "false auto");
  EXPECT_THAT(knob_of(plan, grads).reason, HasSubstr("context-parallel ranks share"));
  const Plan asked = plan_of(context(2, "", "comm_overlap: {overlap_grad_reduce: true}"));
  EXPECT_EQ(outcome(asked, grads), "true user");
  EXPECT_EQ(asked.config.ddp.bucket_size, 40'000'000) << "Megatron Core's";
  EXPECT_THAT(plan.notices, IsEmpty()) << "averaging has an effect";
}

TEST(OptimizerInstances, DivideDataAndContextRanks) {
  const auto with = [](int instances, const std::string& rest = "") {
    return context(
        2, "", "data_parallel_size: 2\nddp: {num_distributed_optimizer_instances: " + std::to_string(instances) + rest);
  };
  EXPECT_EQ(plan_of(with(4, "}")).config.ddp.num_distributed_optimizer_instances, 4);
  EXPECT_THAT(plan_of(with(2, "}")).not_run, IsEmpty());
  expect_refused({{with(3, "}"), "f:3:7: ddp.num_distributed_optimizer_instances is 3"},
                  {with(2, ", use_distributed_optimizer: false}"), "needs ddp.use_distributed_optimizer"},
                  {with(2, ", reduce_scatter_with_fp32_accumulation: true, grad_reduce_in_fp32: false}"),
                   "are mutually exclusive"}});
}

}  // namespace
}  // namespace underlap::plan
