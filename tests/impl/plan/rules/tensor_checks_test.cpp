// SPDX-License-Identifier: Apache-2.0
// What the plan checks and says of each tensor-parallel slot once it is known what is in effect.
#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/impl/plan/tensor_testing.hpp"

namespace underlap::plan {
namespace {

using enum TensorSlot;
using enum TensorMethod;

/// A model of `hidden` on two TP ranks, with more of the section `model` and more sections.
std::string tp2(int hidden, const std::string& rest, const std::string& model = "") {
  return "model: {preset: tiny, hidden_size: " + std::to_string(hidden) +
         ", num_attention_heads: 2, tensor_model_parallel_size: 2, sequence_parallel: true" +
         (model.empty() ? "" : ", " + model) + "}\n" + rest;
}

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
  EXPECT_THAT(notices_of(tp2(128, cfg)), Contains(HasSubstr("qkv_dgrad.num_splits has no effect: bulk is not split")));
}

TEST(TensorSplits, HaveNoEffectByTheMethodInEffect) {
  EXPECT_THAT(notices_of(tp2(128, with_cfg("{fc2_fprop: {num_splits: 3}}"), "tp_comm_overlap_rs: false")),
              Only("fc2_fprop.num_splits has no effect: nccl is not split"));
}

TEST(TensorFields, CgaSizeIsOfNcclsKernelsAndSaidOnceToDoNothingElsewhere) {
  const std::string two = tp2(128, with_cfg("{qkv_dgrad: {cga_size: 4}, fc1_dgrad: {cga_size: 4}}"));
  EXPECT_THAT(notices_of(two), ElementsAre(AllOf(HasSubstr("cga_size has no effect"), HasSubstr("backend is host"))));
  EXPECT_THAT(notices_of(llama(4) + with_cfg(kLlamaPreset)), IsEmpty()) << "nobody wrote it";
  EXPECT_THAT(notices_of(two + "run: {backend: sim}\n"), Contains(HasSubstr("backend is sim")));
  EXPECT_THAT(notices_of(two + "run: {backend: cuda}\n"), IsEmpty());
  EXPECT_THAT(notices_of(two + "run: {backend: cuda}\nenvironment: {gpu_arch: a100}\n"),
              Only("a100 has no thread-block clusters"));
  EXPECT_THAT(notices_of(two + "run: {backend: cuda, link: 'emulated:400GB/s,sms=16'}\n"),
              Contains(HasSubstr("cga_size has no effect: run.link emulates a link")));
  EXPECT_THAT(notices_of(tp2(128, with_cfg("{qkv_dgrad: {num_sm: 4}}"))), IsEmpty());
  EXPECT_THAT(notices_of(tp2(128, with_cfg("{qkv_dgrad: {cga_size: 1}}"))), IsEmpty());
}

TEST(TensorFields, CgaSizeOfARingHasNoEffect) {
  EXPECT_THAT(notices_of(tp2(128, with_cfg("{qkv_fprop: {cga_size: 2}}")) + "run: {backend: cuda}\n"),
              Only("qkv_fprop.cga_size has no effect: the hops of a ring"));
}

TEST(TensorFields, NumSmOfARingOfCopyEnginesCountsByItsMarginAlone) {
  const std::string ring = with_cfg("{qkv_fprop: {num_sm: 8}}");
  EXPECT_THAT(notices_of(tp2(128, ring)), Only("qkv_fprop.num_sm has no effect: copy engines"));
  EXPECT_THAT(notices_of(tp2(128, with_cfg("{qkv_fprop: {num_sm: 8, set_sm_margin: true}}"))), IsEmpty());
  EXPECT_THAT(notices_of(tp2(128, ring + "extensions: {tp_ring_transport: nccl}\n")), IsEmpty());
  EXPECT_THAT(notices_of(tp2(128, ring + "run: {backend: cuda}\n")), IsEmpty());
}

TEST(TensorNodes, UserbuffersStayInOne) {
  const auto on_nodes = [](const std::string& gpus) { return "run: {backend: sim, gpus_per_node: " + gpus + "}\n"; };
  EXPECT_THAT(errors_of(tp4(kTensorOverlapOn + on_nodes("2"))),
              ElementsAre(AllOf(StartsWith("f:3:21: "), HasSubstr("tensor_model_parallel_size is 4"),
                                HasSubstr("2 GPUs"), HasSubstr("one NVLink domain"))));
  const std::string tp16 = llama(16) + "run: {backend: sim}\n" + kTensorOverlapOn;
  expect_refused({{tp4(kTensorOverlapOn + on_nodes("6") + "data_parallel_size: 2\n"), "nodes of 6 GPUs"},
                  {tp16, "nodes of 8 GPUs"}});
  for (const std::string& legal : {tp4(kTensorOverlapOn + on_nodes("4")), tp4(kTensorOverlapOn + on_nodes("6")),
                                   tp16 + "environment: {gpu_arch: gb200}\n"})
    EXPECT_THAT(errors_of(legal), IsEmpty()) << legal;
  expect_noticed({{tp4(on_nodes("2")), "cross nodes of 2 GPUs"}});
  EXPECT_THAT(notices_of(tp4(on_nodes("4"))), IsEmpty());
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

TEST(TensorNull, UnsetsASlotOfThePreset) {
  const Plan plan = plan_with(llama(4) + with_cfg(kLlamaPreset), {{kCfg + ".qkv_wgrad", "null"}});
  EXPECT_EQ(plan.config.tensor_overlap[qkv_wgrad].num_sm, 16);
  EXPECT_EQ(plan.config.tensor_overlap[qkv_dgrad].num_sm, 4);
  EXPECT_THAT(knob_of(plan, kCfg + ".qkv_wgrad").reason, HasSubstr("null over userbuffers_bf16_h100"));
}

TEST(TensorNull, MendsADgradThatReducesOverAPreset) {
  const std::string yaml = llama(4, ", tp_comm_overlap_rs_dgrad: true") + with_cfg(kLlamaPreset);
  const Override pipelined{kCfg + ".fc1_dgrad", "{method: pipeline}"};
  EXPECT_THAT(error_lines(parse(yaml, "f", {pipelined})), Only("comm_overlap.tp_comm_overlap_cfg.fc1_wgrad to null"));
  EXPECT_EQ(plan_with(yaml, {pipelined, {kCfg + ".fc1_wgrad", "null"}}).config.tensor_overlap[fc1_wgrad].method, nccl);
}

TEST(UserbuffersPresetName, IsFoundWithoutItsPrefix) {
  EXPECT_THAT(errors_of(llama(4) + with_cfg("bf16_h100_h8192_tp4_mbs1_seqlen8192")),
              Only("did you mean " + kLlamaPreset + "?"));
  EXPECT_THAT(errors_of(llama(4) + with_cfg("bf16_h100_h8192_tp4_mbs1_seqlen819")),
              Only("did you mean " + kLlamaPreset + "?"));
  EXPECT_THAT(errors_of(llama(4) + with_cfg("none")), ElementsAre(Not(HasSubstr("did you mean"))));
}

TEST(TensorConfigInTwoPlaces, CommOverlapGoesOverTheModel) {
  const auto num_sm = [](const std::string& yaml) { return plan_of(yaml).config.tensor_overlap[qkv_wgrad].num_sm; };
  EXPECT_EQ(num_sm(llama(4, ", tp_comm_overlap_cfg: " + kLlamaPreset) + with_cfg("{qkv_wgrad: {num_sm: 8}}")), 8);
  EXPECT_EQ(num_sm(llama(4, ", tp_comm_overlap_cfg: {qkv_wgrad: {num_sm: 8}}") + with_cfg(kLlamaPreset)), 24);
}

TEST(GatedKnob, KnowsWhereItWasRequested) {
  const Plan plan = plan_of("model: {preset: tiny}\ncomm_overlap: {tp_comm_overlap: true}");
  EXPECT_EQ(knob_of(plan, "comm_overlap.tp_comm_overlap").where, "f:2:16");
  EXPECT_EQ(knob_of(plan, "comm_overlap.overlap_grad_reduce").where, "");
}

TEST(Fp8, IsNotRunOnAnA100) {
  const std::string a100 = "environment: {gpu_arch: a100}\n", tiny = "model: {preset: tiny}\n";
  EXPECT_THAT(lines_of(plan_of(tiny + kFp8 + a100).not_run),
              ElementsAre(AllOf(StartsWith("f:2:"), HasSubstr("environment.gpu_arch a100 does not have"))));
  EXPECT_THAT(plan_of(tiny + kFp8).not_run, IsEmpty());
  EXPECT_THAT(plan_of(tiny + a100).not_run, IsEmpty());
}

/// The cells of a matrix over Llama 3 70B, which must be right.
std::vector<Cell> llama_cells(const std::string& matrix, const std::string& overlap = kTensorOverlapOn) {
  const Matrix parsed = parse(llama(4) + overlap + "matrix:\n" + matrix, "f");
  EXPECT_THAT(error_lines(parsed), IsEmpty());
  return parsed.cells;
}

TEST(TensorMatrix, AWholeConfigurationComesBeforeItsSlotsWhateverTheirOrder) {
  const auto cells =
      llama_cells("  cfg:\n    - {name: slot_first, " + kCfg + ".fc1_dgrad: {num_sm: 7}, " + kCfg + ": " +
                  kLlamaPreset + "}\n    - {name: whole, " + kCfg + ": " + kLlamaPreset +
                  "}\n    - {name: null_slot, " + kCfg + ": " + kLlamaPreset + ", " + kCfg + ".qkv_wgrad: null}\n");
  EXPECT_EQ(cells.at(0).plan.config.tensor_overlap[fc1_dgrad].num_sm, 7);
  EXPECT_EQ(cells.at(0).plan.config.tensor_overlap[qkv_dgrad].num_sm, 4);
  EXPECT_EQ(cells.at(2).plan.config.tensor_overlap[qkv_wgrad].num_sm, 16);
  const auto axes = llama_cells("  " + kCfg + ".fc1_dgrad: [{num_sm: 7}]\n  " + kCfg + ": [" + kLlamaPreset + "]\n");
  EXPECT_EQ(axes.at(0).plan.config.tensor_overlap[fc1_dgrad].num_sm, 7);
}

TEST(TensorMatrix, ASlotOfTheFileThatAnAxisDropsIsSaid) {
  const auto cells =
      llama_cells("  cfg:\n    - {name: a, " + kCfg + ": " + kLlamaPreset + ", " + kCfg + ".fc1_dgrad: {num_sm: 7}}\n",
                  with_cfg("{qkv_dgrad: {num_sm: 5}, fc1_dgrad: {num_sm: 5}}"));
  EXPECT_THAT(lines_of(cells.at(0).plan.notices), AllOf(Contains(HasSubstr("qkv_dgrad, set at f:2:61, is dropped")),
                                                        Not(Contains(HasSubstr("fc1_dgrad, set at")))));
}

TEST(PlanText, ShowsSlotsInATableOfTheirOwn) {
  const std::string text = text_of(
      plan_with(llama(4) + with_cfg(kLlamaPreset), {{kCfg + ".qkv_fprop", "{aggregate: true, set_sm_margin: false}"}}));
  for (const char* part :
       {"\nslot        requested ", "\nproj_fprop  pipeline x4 sm24 cga2 margin +fp8  pipeline x4 sm24 cga2 margin ",
        "  ring_exchange sm1 cga1 +aggregate  ", "as requested"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, Not(HasSubstr("\"method\"")));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 160U) << line;
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
