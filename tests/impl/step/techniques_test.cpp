// SPDX-License-Identifier: Apache-2.0
// What techniques say of themselves, against the programs that are recorded where they are in effect.
#include "impl/step/techniques.hpp"

#include "impl/plan/tensor_slots.hpp"
#include "impl/step/record_programs.hpp"
#include "tests/impl/plan/plan_testing.hpp"

namespace underlap {
namespace {

struct Case {
  std::string name;
  std::string sizes;
  std::string rest;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

plan::Config config_of(const Case& c) {
  return plan::plan_of(
             fmt::format(
                 "model: {{preset: tiny, num_layers: 4, num_attention_heads: 8, num_query_groups: 4, hidden_size: 256, "
                 "ffn_hidden_size: 512, {}}}\ntrain: {{num_microbatches: 4}}\nrun: {{backend: sim}}\n{}",
                 c.sizes, c.rest))
      .config;
}

std::vector<Case> cases() {
  const std::string tp = "tensor_model_parallel_size: 4, sequence_parallel: true";
  const std::string aggregate =
      "comm_overlap: {tp_comm_overlap: true, tp_comm_overlap_cfg: {fc1_fprop: {aggregate: true}}}";
  const std::string rings =
      "comm_overlap: {tp_comm_overlap: true, tp_comm_overlap_cfg: {proj_fprop: {method: ring_exchange}, "
      "fc2_fprop: {method: ring_exchange}}}";
  return {{"Alone", "seq_length: 64", ""},
          {"Data", "seq_length: 64", "data_parallel_size: 2"},
          {"DataWithoutOverlap", "seq_length: 64",
           "data_parallel_size: 2\nddp: {overlap_grad_reduce: false, overlap_param_gather: false}"},
          {"DataInFp32", "seq_length: 64",
           "data_parallel_size: 2\nddp: {reduce_scatter_with_fp32_accumulation: true, grad_reduce_in_fp32: false}"},
          {"WholeOptimizer", "seq_length: 64", "data_parallel_size: 2\nddp: {use_distributed_optimizer: false}"},
          {"Tensor", tp, ""},
          {"TensorWithoutSequence", "tensor_model_parallel_size: 4", ""},
          {"TensorWaited", tp, "extensions: {tp_async_collectives: false}"},
          {"TensorOverlapped", tp, "comm_overlap: {tp_comm_overlap: true}"},
          {"TensorOverlappedInDgrad", tp + ", tp_comm_overlap_rs_dgrad: true", "comm_overlap: {tp_comm_overlap: true}"},
          {"TensorAggregated", tp, aggregate},
          {"TensorRings", tp, rings},
          {"Context", "context_parallel_size: 2", ""},
          {"ContextByTwo",
           "context_parallel_size: 4, cp_comm_type: a2a+p2p, hierarchical_context_parallel_sizes: [2, 2]", ""},
          {"ContextGathered", "context_parallel_size: 2, cp_comm_type: all_gather", "extensions: {cp_overlap: false}"},
          {"Pipeline", "pipeline_model_parallel_size: 2", ""},
          {"VirtualPipeline", "pipeline_model_parallel_size: 2, virtual_pipeline_model_parallel_size: 2", ""},
          {"ZeroBubble", "pipeline_model_parallel_size: 2", "extensions: {pipeline_schedule: zb_h1}"}};
}

class TechniqueFactsTest : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Cases, TechniqueFactsTest, testing::ValuesIn(cases()), CaseName());

/// The purposes of a mode's communication on rank 0.
std::set<std::string> purposes_of(const plan::Config& config, Mode mode) {
  std::set<std::string> purposes;
  for (const Program& program : record_programs(config, 2, Detail::costs))
    for (const ProgramCommand& command : program.commands)
      if (command.type == ProgramCommand::Type::communicate && command.tag.mode == mode)
        purposes.emplace(name_of(command.tag.purpose));
  return purposes;
}

bool has(const std::set<std::string>& purposes, const std::string& beginning) {
  return std::ranges::any_of(purposes, [&](const std::string& purpose) { return purpose.starts_with(beginning); });
}

// Slots are named in their purposes; rs_dgrad's gather is of the dgrad slot though the wgrad slot chose how.
std::string before(const TechniqueInEffect& technique) {
  using enum plan::TensorSlot;
  if (!technique.slot) return "";
  plan::TensorSlot slot = *technique.slot;
  if (slot == qkv_wgrad && !technique.reduces) slot = qkv_dgrad;
  if (slot == fc1_wgrad && !technique.reduces) slot = fc1_dgrad;
  return std::string(plan::kTensorSlotNames[slot]) + "_";
}

TEST_P(TechniqueFactsTest, NameThePurposesOfWhatIsCommunicated) {
  const plan::Config config = config_of(GetParam());
  for (const TechniqueInEffect& technique : techniques_in_effect(config)) {
    const std::set<std::string> purposes = purposes_of(config, technique.mode);
    const auto& said = technique.facts->purposes;
    EXPECT_TRUE(said.empty() || std::ranges::any_of(said,
                                                    [&](std::string_view beginning) {
                                                      return has(purposes, before(technique) + std::string(beginning));
                                                    }))
        << technique.name << " sends nothing of what it says: " << testing::PrintToString(purposes);
  }
}

TEST_P(TechniqueFactsTest, AreThoseOfEverySlotThatCommunicates) {
  const plan::Config config = config_of(GetParam());
  std::set<std::string> slots;
  for (const TechniqueInEffect& technique : techniques_in_effect(config))
    if (technique.slot) slots.insert(before(technique));
  const std::set<std::string> purposes = purposes_of(config, Mode::tp);
  for (const std::string_view name : plan::kTensorSlotNames.names) {
    const std::string slot = std::string(name) + "_";
    EXPECT_EQ(slots.contains(slot), has(purposes, slot)) << slot;
  }
}

TEST(TechniqueKnobs, AreKnobs) {
  std::set<std::string> knobs;
  for (const plan::KnobInfo& knob : plan::known_knobs()) knobs.insert(knob.name);
  for (const ListedTechnique& technique : all_techniques())
    EXPECT_TRUE(knobs.contains(std::string(technique.facts->knob))) << technique.name;
}

TEST(TechniqueKnobs, OwnTheCommunicationThatTheySwitch) {
  const plan::Plan plan;
  const auto moves = [&](std::string_view knob, Mode mode, const char* purpose) {
    return std::ranges::any_of(overlap_switches(plan), [&](const ModeSwitch& each) {
      return each.knob == knob && each.moves({.mode = mode, .purpose = intern(purpose)});
    });
  };
  for (const char* purpose : {"grad_reduce_scatter", "grad_all_reduce", "grad_all_to_all"})
    EXPECT_TRUE(moves("comm_overlap.overlap_grad_reduce", Mode::dp, purpose)) << purpose;
  EXPECT_FALSE(moves("comm_overlap.overlap_grad_reduce", Mode::dp, "grad_norm_all_reduce"));
  EXPECT_FALSE(moves("comm_overlap.overlap_grad_reduce", Mode::tp, "grad_reduce_scatter"));
  EXPECT_FALSE(moves("comm_overlap.overlap_param_gather", Mode::dp, "grad_reduce_scatter"));
  EXPECT_TRUE(moves("comm_overlap.overlap_param_gather", Mode::dp, "param_all_gather"));
  EXPECT_TRUE(moves("comm_overlap.overlap_p2p_comm", Mode::pp, "send_forward_recv_backward"));
  EXPECT_FALSE(moves("comm_overlap.overlap_p2p_comm", Mode::pp, "embedding_grad_all_reduce"));
  EXPECT_TRUE(moves("comm_overlap.defer_embedding_wgrad_compute", Mode::tp, "head_wgrad_all_gather"));
  EXPECT_TRUE(moves("comm_overlap.tp_comm_overlap", Mode::tp, "qkv_fprop_all_gather"));
}

TEST(TechniquesInEffect, FollowFromTheConfiguration) {
  const auto names = [](const Case& c) {
    std::set<std::string> all;
    for (const TechniqueInEffect& technique : techniques_in_effect(config_of(c))) all.emplace(technique.name);
    return all;
  };
  EXPECT_THAT(names(cases()[0]), IsEmpty());
  EXPECT_THAT(names({"", "context_parallel_size: 2", ""}),
              ElementsAre("grad_reduce_after_backward", "p2p_attention", "param_gather_before_forward"));
  EXPECT_THAT(names({"", "tensor_model_parallel_size: 4", ""}),
              ElementsAre("asynchronous_collective", "blocking_scatter"));
}

}  // namespace
}  // namespace underlap
