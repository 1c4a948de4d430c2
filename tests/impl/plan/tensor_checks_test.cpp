// SPDX-License-Identifier: Apache-2.0
// What the plan checks and says of each tensor-parallel slot once it is known what is in effect.
#include <fstream>
#include <iterator>

#include "tests/impl/plan/plan_testing.hpp"
#include "tests/impl/plan/tensor_testing.hpp"

namespace underlap::plan {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using enum TensorSlot;
using enum TensorMethod;

const std::string kCfg = "comm_overlap.tp_comm_overlap_cfg";
const std::string kLlamaTp4 = "model: {preset: llama3-70b, tensor_model_parallel_size: 4, sequence_parallel: true}\n";
const std::string kLlamaPreset = "userbuffers_bf16_h100_h8192_tp4_mbs1_seqlen8192";

/// A model of `hidden` on two TP ranks, with more of the section `model` and more sections.
std::string tp2(int hidden, const std::string& rest, const std::string& model = "") {
  return "model: {preset: tiny, hidden_size: " + std::to_string(hidden) +
         ", num_attention_heads: 2, tensor_model_parallel_size: 2, sequence_parallel: true" +
         (model.empty() ? "" : ", " + model) + "}\n" + rest;
}

std::vector<std::string> messages_of(const std::vector<Message>& list) {
  std::vector<std::string> texts;
  for (const Message& message : list) texts.push_back(message.where + ": " + message.message);
  return texts;
}

std::vector<std::string> notices_of(const std::string& yaml) { return messages_of(plan_of(yaml).notices); }

/// The plan of a configuration that must be right, with command-line overrides.
Plan plan_with(const std::string& yaml, const std::vector<Override>& overrides) {
  Matrix matrix = parse(yaml, "f", overrides);
  EXPECT_THAT(error_lines(matrix), IsEmpty());
  return matrix.cells.front().plan;
}

TEST(TensorSplits, OfTransformerEnginesDefaultDivideTheFeatures) {
  EXPECT_THAT(errors_of(tp2(130, kTensorOverlapOn)),
              Contains(AllOf(StartsWith("f:1:23: "),
                             HasSubstr("fc2_fprop.num_splits is 4, which does not divide the 130 output features"))));
  EXPECT_THAT(errors_of(tp2(130, kTensorOverlapOn, "tp_comm_overlap_rs: false")), IsEmpty());
}

TEST(TensorSplits, OfABulkSlotMadeAPipelineDivideTheFeatures) {
  const std::string cfg = with_cfg("{qkv_dgrad: {num_splits: 3}}");
  EXPECT_THAT(errors_of(tp2(128, cfg, "tp_comm_overlap_rs_dgrad: true")),
              ElementsAre(AllOf(StartsWith("f:2:"), HasSubstr("qkv_dgrad.num_splits is 3"))));
  EXPECT_THAT(notices_of(tp2(128, cfg)), Contains(HasSubstr("qkv_dgrad.num_splits has no effect: bulk is not cut")));
}

TEST(TensorSplits, HaveNoEffectByTheMethodInEffect) {
  EXPECT_THAT(notices_of(tp2(128, with_cfg("{fc2_fprop: {num_splits: 3}}"), "tp_comm_overlap_rs: false")),
              ElementsAre(HasSubstr("fc2_fprop.num_splits has no effect: nccl is not cut in splits")));
}

TEST(TensorFields, CgaSizeIsOfNcclsKernelsAndSaidOnceToDoNothingElsewhere) {
  const std::string two = tp2(128, with_cfg("{qkv_dgrad: {cga_size: 4}, fc1_dgrad: {cga_size: 4}}"));
  EXPECT_THAT(notices_of(two), ElementsAre(AllOf(HasSubstr("cga_size has no effect"), HasSubstr("backend is host"))));
  EXPECT_THAT(notices_of(kLlamaTp4 + with_cfg(kLlamaPreset)), IsEmpty()) << "nobody wrote it";
  EXPECT_THAT(notices_of(two + "run: {backend: sim}\n"), Contains(HasSubstr("backend is sim")));
  EXPECT_THAT(notices_of(two + "run: {backend: cuda}\n"), IsEmpty());
  EXPECT_THAT(notices_of(two + "run: {backend: cuda}\nenvironment: {gpu_arch: a100}\n"),
              ElementsAre(HasSubstr("a100 has no thread-block clusters")));
  EXPECT_THAT(notices_of(two + "run: {backend: cuda, link: 'emulated:400GB/s,sms=16'}\n"),
              Contains(HasSubstr("cga_size has no effect: run.link emulates a link")));
  EXPECT_THAT(notices_of(tp2(128, with_cfg("{qkv_dgrad: {num_sm: 4}}"))), IsEmpty());
  EXPECT_THAT(notices_of(tp2(128, with_cfg("{qkv_dgrad: {cga_size: 1}}"))), IsEmpty());
}

TEST(TensorFields, CgaSizeOfARingHasNoEffect) {
  EXPECT_THAT(notices_of(tp2(128, with_cfg("{qkv_fprop: {cga_size: 2}}")) + "run: {backend: cuda}\n"),
              ElementsAre(HasSubstr("qkv_fprop.cga_size has no effect: the hops of a ring")));
}

TEST(TensorFields, NumSmOfARingOfCopyEnginesCountsByItsMarginAlone) {
  const std::string ring = with_cfg("{qkv_fprop: {num_sm: 8}}");
  EXPECT_THAT(notices_of(tp2(128, ring)), ElementsAre(HasSubstr("qkv_fprop.num_sm has no effect: copy engines")));
  EXPECT_THAT(notices_of(tp2(128, with_cfg("{qkv_fprop: {num_sm: 8, set_sm_margin: true}}"))), IsEmpty());
  EXPECT_THAT(notices_of(tp2(128, ring + "extensions: {tp_ring_transport: nccl}\n")), IsEmpty());
  EXPECT_THAT(notices_of(tp2(128, ring + "run: {backend: cuda}\n")), IsEmpty());
}

const std::string kTp4 =
    "model: {preset: tiny, hidden_size: 256, num_query_groups: 4, tensor_model_parallel_size: 4, "
    "sequence_parallel: true}\n";

TEST(TensorNodes, UserbuffersStayInOne) {
  EXPECT_THAT(errors_of(kTp4 + kTensorOverlapOn + "run: {backend: sim, gpus_per_node: 2}\n"),
              ElementsAre(AllOf(StartsWith("f:3:21: "), HasSubstr("tensor_model_parallel_size is 4"),
                                HasSubstr("2 GPUs"), HasSubstr("one NVLink domain"))));
  EXPECT_THAT(errors_of(kTp4 + kTensorOverlapOn + "run: {backend: sim, gpus_per_node: 4}\n"), IsEmpty());
  EXPECT_THAT(errors_of(kTp4 + kTensorOverlapOn + "run: {backend: sim, gpus_per_node: 6}\n"), IsEmpty());
  EXPECT_THAT(errors_of(kTp4 + kTensorOverlapOn + "run: {backend: sim, gpus_per_node: 6}\ndata_parallel_size: 2\n"),
              ElementsAre(HasSubstr("nodes of 6 GPUs")));
}

TEST(TensorNodes, AreAsLargeAsTheHardwareSays) {
  const std::string tp16 =
      "model: {preset: llama3-70b, tensor_model_parallel_size: 16, sequence_parallel: true}\n"
      "run: {backend: sim}\n";
  EXPECT_THAT(errors_of(tp16 + kTensorOverlapOn), ElementsAre(AllOf(StartsWith("f:1:"), HasSubstr("nodes of 8 GPUs"))));
  EXPECT_THAT(errors_of(tp16 + kTensorOverlapOn + "environment: {gpu_arch: gb200}\n"), IsEmpty());
}

TEST(TensorNodes, WithoutOverlapCrossingThemIsOnlySaid) {
  EXPECT_THAT(notices_of(kTp4 + "run: {backend: sim, gpus_per_node: 2}\n"),
              ElementsAre(HasSubstr("cross nodes of 2 GPUs")));
  EXPECT_THAT(notices_of(kTp4 + "run: {backend: sim, gpus_per_node: 4}\n"), IsEmpty());
}

/// The plan may not read hardware files, so it holds the size of their nodes a second time.
TEST(TensorNodes, HaveTheSizeThatTheHardwareFilesSay) {
  for (const auto& [name, gpus] :
       {std::pair("a100-sxm", 8), {"h100-sxm", 8}, {"h200-sxm", 8}, {"b200", 8}, {"gb200", 72}}) {
    std::ifstream in(std::string(UNDERLAP_SOURCE_DIR) + "/results/hardware/" + name + ".yaml");
    const std::string text(std::istreambuf_iterator<char>(in), {});
    EXPECT_THAT(text, HasSubstr("gpus: {value: " + std::to_string(gpus) + ",")) << name;
  }
}

/// "effective method, source" of a slot.
std::string slot_outcome(const Plan& plan, const std::string& slot) {
  const Knob knob = knob_of(plan, kCfg + "." + slot);
  return std::get<std::string>(*find(knob.effective, "method")) + " " + knob.source;
}

TEST(TensorRequestsOverridden, AreGates) {
  const Plan reduced = plan_of(tp2(128, with_cfg("{qkv_dgrad: {method: bulk}}"), "tp_comm_overlap_rs_dgrad: true"));
  EXPECT_EQ(slot_outcome(reduced, "qkv_dgrad"), "pipeline gate");
  EXPECT_EQ(slot_outcome(reduced, "fc1_dgrad"), "pipeline auto");
  const Plan waits = plan_of(tp2(128, with_cfg("{qkv_fprop: {method: nccl}, fc1_fprop: {method: waited}}") +
                                          "extensions: {tp_async_collectives: false}\n"));
  EXPECT_EQ(slot_outcome(waits, "qkv_fprop"), "waited gate");
  EXPECT_EQ(slot_outcome(waits, "fc1_fprop"), "waited user");
}

TEST(TensorNull, UnsetsASlotOfThePreset) {
  const Plan plan = plan_with(kLlamaTp4 + with_cfg(kLlamaPreset), {{kCfg + ".qkv_wgrad", "null"}});
  EXPECT_EQ(plan.config.tensor_overlap[qkv_wgrad].num_sm, 16);
  EXPECT_EQ(plan.config.tensor_overlap[qkv_dgrad].num_sm, 4);
  EXPECT_THAT(knob_of(plan, kCfg + ".qkv_wgrad").reason, HasSubstr("null over userbuffers_bf16_h100"));
}

TEST(TensorNull, MendsADgradThatReducesOverAPreset) {
  const std::string yaml =
      "model: {preset: llama3-70b, tensor_model_parallel_size: 4, sequence_parallel: true, "
      "tp_comm_overlap_rs_dgrad: true}\n" +
      with_cfg(kLlamaPreset);
  const Override pipelined{kCfg + ".fc1_dgrad", "{method: pipeline}"};
  EXPECT_THAT(error_lines(parse(yaml, "f", {pipelined})),
              ElementsAre(HasSubstr("comm_overlap.tp_comm_overlap_cfg.fc1_wgrad to null")));
  EXPECT_EQ(plan_with(yaml, {pipelined, {kCfg + ".fc1_wgrad", "null"}}).config.tensor_overlap[fc1_wgrad].method, nccl);
}

TEST(TensorNull, MakesACellOfItsOwn) {
  const Matrix matrix = parse(
      kLlamaTp4 + "comm_overlap: {tp_comm_overlap: true}\nmatrix:\n  cfg:\n    - {name: whole, " + kCfg + ": " +
          kLlamaPreset + "}\n    - {name: without, " + kCfg + ": " + kLlamaPreset + ", " + kCfg + ".qkv_wgrad: null}\n",
      "f");
  EXPECT_THAT(error_lines(matrix), IsEmpty());
  EXPECT_EQ(matrix.cells.at(1).plan.config.tensor_overlap[qkv_wgrad].num_sm, 16);
}

TEST(UserbuffersPresetName, IsFoundWithoutItsPrefix) {
  EXPECT_THAT(errors_of(kLlamaTp4 + with_cfg("bf16_h100_h8192_tp4_mbs1_seqlen8192")),
              ElementsAre(HasSubstr("did you mean " + kLlamaPreset + "?")));
  EXPECT_THAT(errors_of(kLlamaTp4 + with_cfg("bf16_h100_h8192_tp4_mbs1_seqlen819")),
              ElementsAre(HasSubstr("did you mean " + kLlamaPreset + "?")));
  EXPECT_THAT(errors_of(kLlamaTp4 + with_cfg("none")), ElementsAre(Not(HasSubstr("did you mean"))));
}

TEST(TensorConfigInTwoPlaces, CommOverlapGoesOverTheModel) {
  const std::string model = "model: {preset: llama3-70b, tensor_model_parallel_size: 4, sequence_parallel: true, ";
  const auto num_sm = [](const std::string& yaml) { return plan_of(yaml).config.tensor_overlap[qkv_wgrad].num_sm; };
  EXPECT_EQ(num_sm(model + "tp_comm_overlap_cfg: " + kLlamaPreset + "}\n" + with_cfg("{qkv_wgrad: {num_sm: 8}}")), 8);
  EXPECT_EQ(num_sm(model + "tp_comm_overlap_cfg: {qkv_wgrad: {num_sm: 8}}}\n" + with_cfg(kLlamaPreset)), 24);
}

TEST(GatedKnob, KnowsWhereItWasRequested) {
  const Plan plan = plan_of("model: {preset: tiny}\ncomm_overlap: {tp_comm_overlap: true}");
  EXPECT_EQ(knob_of(plan, "comm_overlap.tp_comm_overlap").where, "f:2:16");
  EXPECT_EQ(knob_of(plan, "comm_overlap.overlap_grad_reduce").where, "");
  const Plan lora = plan_of(
      "model: {preset: llama3-70b, tensor_model_parallel_size: 2, sequence_parallel: true}\n"
      "mixed_precision: bf16_with_fp8_current_scaling_mixed\n" +
      with_cfg("userbuffers_fp8_h100_h8192_tp2_mbs1_seqlen4096_lora"));
  EXPECT_EQ(knob_of(lora, kCfg + ".fc1_dgrad").source, "gate");
  EXPECT_THAT(knob_of(lora, kCfg + ".fc1_dgrad").where, StartsWith("f:3:"));
}

TEST(Fp8, IsNotRunOnAnA100) {
  const std::string fp8 = "model: {preset: tiny}\nmixed_precision: bf16_with_fp8_current_scaling_mixed\n";
  EXPECT_THAT(messages_of(plan_of(fp8 + "environment: {gpu_arch: a100}\n").not_run),
              ElementsAre(AllOf(StartsWith("f:2:"), HasSubstr("a100 has no fp8"))));
  EXPECT_THAT(plan_of(fp8).not_run, IsEmpty());
  EXPECT_THAT(plan_of("model: {preset: tiny}\nenvironment: {gpu_arch: a100}\n").not_run, IsEmpty());
}

TEST(TensorMatrix, AWholeConfigurationComesBeforeItsSlotsWhateverTheirOrder) {
  const Matrix matrix = parse(kLlamaTp4 + "comm_overlap: {tp_comm_overlap: true}\nmatrix:\n  cfg:\n    - {name: a, " +
                                  kCfg + ".fc1_dgrad: {num_sm: 7}, " + kCfg + ": " + kLlamaPreset +
                                  "}\n    - {name: b, " + kCfg + ": " + kLlamaPreset + "}\n",
                              "f");
  ASSERT_THAT(error_lines(matrix), IsEmpty());
  EXPECT_EQ(matrix.cells.at(0).plan.config.tensor_overlap[fc1_dgrad].num_sm, 7);
  EXPECT_EQ(matrix.cells.at(0).plan.config.tensor_overlap[qkv_dgrad].num_sm, 4);
}

TEST(TensorMatrix, ASlotAxisGoesOverAWholeAxis) {
  const Matrix matrix = parse(kLlamaTp4 + "comm_overlap: {tp_comm_overlap: true}\nmatrix:\n  " + kCfg +
                                  ".fc1_dgrad: [{num_sm: 7}]\n  " + kCfg + ": [" + kLlamaPreset + "]\n",
                              "f");
  ASSERT_THAT(error_lines(matrix), IsEmpty());
  EXPECT_EQ(matrix.cells.at(0).plan.config.tensor_overlap[fc1_dgrad].num_sm, 7);
}

TEST(TensorMatrix, ASlotOfTheFileThatAnAxisDropsIsSaid) {
  const Matrix matrix = parse(kLlamaTp4 + with_cfg("{qkv_dgrad: {num_sm: 5}, fc1_dgrad: {num_sm: 5}}") +
                                  "matrix:\n  cfg:\n    - {name: a, " + kCfg + ": " + kLlamaPreset + ", " + kCfg +
                                  ".fc1_dgrad: {num_sm: 7}}\n",
                              "f");
  ASSERT_THAT(error_lines(matrix), IsEmpty());
  EXPECT_THAT(messages_of(matrix.cells.at(0).plan.notices),
              testing::IsSupersetOf({HasSubstr("qkv_dgrad, set at f:2:61, is dropped")}));
  EXPECT_THAT(messages_of(matrix.cells.at(0).plan.notices), Not(Contains(HasSubstr("fc1_dgrad, set at"))));
}

TEST(PlanText, ShowsSlotsInATableOfTheirOwn) {
  const std::string text = text_of(plan_with(kLlamaTp4 + with_cfg(kLlamaPreset),
                                             {{kCfg + ".qkv_fprop", "{aggregate: true, set_sm_margin: false}"}}));
  EXPECT_THAT(text, HasSubstr("\nslot        requested "));
  EXPECT_THAT(text, HasSubstr("\nproj_fprop  pipeline x4 sm24 cga2 margin +fp8  pipeline x4 sm24 cga2 margin "));
  EXPECT_THAT(text, HasSubstr("  ring_exchange sm1 cga1 +aggregate  "));
  EXPECT_THAT(text, Not(HasSubstr("\"method\"")));
  EXPECT_THAT(text, HasSubstr("as requested"));
  std::size_t widest = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    widest = std::max(widest, end - at);
    at = end + 1;
  }
  EXPECT_LE(widest, 160U) << text;
}

TEST(PlanText, PutsWhatNobodyDecidedLast) {
  const std::string text = text_of(plan_of("model: {preset: tiny}\n"));
  const auto rest = text.find("\nleft at their defaults\n");
  ASSERT_NE(rest, std::string::npos) << text;
  EXPECT_GT(text.find("extensions.param_gather_prefetch = 1"), rest);
  EXPECT_LT(text.find("model.preset"), rest);
}

}  // namespace
}  // namespace underlap::plan
