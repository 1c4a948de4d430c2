// SPDX-License-Identifier: Apache-2.0
// What is in effect for each tensor-parallel slot: presets, entries, Transformer Engine's defaults and the switches.

#include "impl/plan/userbuffers.hpp"
#include "tests/impl/plan/tensor_testing.hpp"

namespace underlap::plan {
namespace {

using enum TensorSlot;
using enum TensorMethod;

std::vector<TensorMethod> methods_of(const std::string& yaml) {
  std::vector<TensorMethod> methods;
  for (const TensorSlotOverlap& slot : plan_of(yaml).config.tensor_overlap.slots) methods.push_back(slot.method);
  return methods;
}

std::size_t count_in_presets(auto matches) {
  std::size_t count = 0;
  for (const std::string_view name : userbuffers_preset_names()) {
    const UserbuffersPreset preset = *find_userbuffers_preset(name);
    for (const TensorSlotRequest& slot : preset.slots) count += matches(slot) ? 1 : 0;
  }
  return count;
}

const TensorSlotRequest& cell(const UserbuffersPreset& preset, TensorSlot slot) {
  return preset.slots[static_cast<std::size_t>(slot)];
}

TEST(UserbuffersPresets, HoldAsManyOfEachMethodAsMegatronBridge) {
  EXPECT_EQ(userbuffers_preset_names().size(), 19U);
  const auto of = [](TensorMethod method) { return [=](const auto& slot) { return method_of(slot) == method; }; };
  EXPECT_EQ(count_in_presets(of(ring_exchange)), 98U);
  EXPECT_EQ(count_in_presets(of(bulk)), 70U);
  EXPECT_EQ(count_in_presets(of(pipeline)), 18U);
  EXPECT_EQ(count_in_presets([](const auto& slot) { return slot == TensorSlotRequest{}; }), 4U);
  EXPECT_EQ(count_in_presets(is_left_at_tuple), 12U);
  EXPECT_EQ(count_in_presets([](const auto& slot) { return wants(slot, "aggregate"); }), 4U);
}

TEST(UserbuffersPresets, SayWhatMegatronBridgeSays) {
  const auto llama = *find_userbuffers_preset("userbuffers_bf16_h100_h8192_tp4_mbs1_seqlen8192");
  EXPECT_EQ(cell(llama, qkv_wgrad),
            (TensorSlotRequest{{"method", "bulk"}, {"num_sm", 24}, {"cga_size", 2}, {"set_sm_margin", false}}));
  EXPECT_EQ(cell(llama, proj_fprop).at("num_sm"), Value(24));
  EXPECT_EQ(cell(llama, fc2_fprop).at("num_sm"), Value(16));
  EXPECT_TRUE(is_left_at_tuple(cell(llama, fc2_fprop)));
  const auto gpt = *find_userbuffers_preset("userbuffers_bf16_h100_h12288_tp4_mbs1_seqlen2048");
  EXPECT_EQ(method_of(cell(gpt, proj_fprop)), pipeline);
  EXPECT_EQ(cell(gpt, fc2_fprop), (TensorSlotRequest{{"method", "ring_exchange"},
                                                     {"aggregate", false},
                                                     {"num_sm", 1},
                                                     {"cga_size", 1},
                                                     {"set_sm_margin", true},
                                                     {"fp8_buf", false}}));
  const auto lora = *find_userbuffers_preset("userbuffers_fp8_h100_h16384_tp4_mbs1_seqlen2048_lora");
  EXPECT_EQ(cell(lora, qkv_fprop).at("aggregate"), Value(true));
  EXPECT_EQ(method_of(cell(lora, fc1_dgrad)), pipeline);
  EXPECT_FALSE(is_left_at_tuple(cell(lora, fc1_dgrad)));
  EXPECT_EQ(cell(lora, fc1_wgrad), TensorSlotRequest{});
  const auto nemotron = *find_userbuffers_preset("userbuffers_bf16_b200_h18432_tp8_mbs1_seqlen4096");
  EXPECT_EQ(method_of(cell(nemotron, proj_fprop)), ring_exchange);
  EXPECT_EQ(method_of(cell(nemotron, fc2_fprop)), pipeline);
}

TEST(TensorOverlapRules, WithoutUserbuffersEverySlotIsNcclOrWaitedFor) {
  EXPECT_THAT(methods_of(tp4("")), Each(nccl));
  EXPECT_THAT(methods_of(tp4("extensions: {tp_async_collectives: false}\n")), Each(waited));
  EXPECT_THAT(methods_of("model: {preset: tiny}"), Each(nccl));
  EXPECT_EQ(slot_outcome(plan_of(tp4("")), "qkv_fprop"), "nccl auto");
}

TEST(TensorOverlapRules, WithoutConfigurationTransformerEnginesDefaultsHold) {
  EXPECT_THAT(methods_of(tp4(kTensorOverlapOn)), ElementsAre(ring_exchange, bulk, bulk, pipeline, ring_exchange,
                                                             ring_exchange, bulk, bulk, pipeline, ring_exchange));
  EXPECT_EQ(slot_of(tp4(kTensorOverlapOn), qkv_fprop), (TensorSlotOverlap{.method = ring_exchange}));
  const TensorSlotOverlap beside{.method = bulk, .num_sm = 16, .cga_size = 2, .set_sm_margin = true};
  EXPECT_EQ(slot_of(tp4(kTensorOverlapOn), qkv_dgrad), beside);
  EXPECT_EQ(slot_of(tp4(kTensorOverlapOn), fc1_wgrad), beside);
  EXPECT_EQ(slot_of(tp4(kTensorOverlapOn), fc2_fprop),
            (TensorSlotOverlap{.method = pipeline, .num_sm = 16, .cga_size = 2, .set_sm_margin = true}));
}

TEST(TensorOverlapRules, AnEntryIsLaidOverTheSlotsDefaultWhateverItsMethod) {
  const auto proj_fprop_of = [](const std::string& entry) {
    return slot_of(tp4(with_cfg("{proj_fprop: {" + entry + "}, fc1_fprop: null}")), proj_fprop);
  };
  EXPECT_EQ(proj_fprop_of("method: ring_exchange"),
            (TensorSlotOverlap{.method = ring_exchange, .num_sm = 16, .cga_size = 2, .set_sm_margin = true}));
  EXPECT_EQ(proj_fprop_of("num_splits: 8, set_sm_margin: 0"),
            (TensorSlotOverlap{.method = pipeline, .num_sm = 16, .cga_size = 2, .num_splits = 8}));
  EXPECT_EQ(proj_fprop_of("_target_: megatron.bridge.training.comm_overlap.RingExchangeOverlapCfg, "
                          "set_sm_margin: true"),
            (TensorSlotOverlap{.method = ring_exchange, .set_sm_margin = true}))
      << "a dumped entry has the defaults of its class";
}

TEST(TensorOverlapRules, ASlotIsAKnobOfItsOwn) {
  const Plan plan = plan_of(tp4(with_cfg("{qkv_dgrad: {num_sm: 4}}")));
  const Knob knob = knob_of(plan, "comm_overlap.tp_comm_overlap_cfg.qkv_dgrad");
  EXPECT_EQ(to_json_text(knob.requested), R"({"num_sm":4})");
  EXPECT_EQ(to_json_text(knob.effective),
            R"({"method":"bulk","num_sm":4,"cga_size":2,"set_sm_margin":true,"fp8_buf":false})");
  EXPECT_EQ(knob.source, "user");
  EXPECT_EQ(slot_outcome(plan, "fc1_fprop"), "ring_exchange auto");
}

TEST(TensorOverlapRules, AnEntryGoesOverThePreset) {
  const Matrix matrix =
      parse(llama(4) + with_cfg(kLlamaPreset), "f", {{"comm_overlap.tp_comm_overlap_cfg.qkv_wgrad", "{num_sm: 8}"}});
  ASSERT_THAT(error_lines(matrix), IsEmpty());
  const Plan& plan = matrix.cells.front().plan;
  EXPECT_EQ(plan.config.tensor_overlap[qkv_wgrad], (TensorSlotOverlap{.method = bulk, .num_sm = 8, .cga_size = 2}));
  EXPECT_EQ(plan.config.tensor_overlap[qkv_dgrad].num_sm, 4);
  EXPECT_EQ(to_json_text(knob_of(plan, kCfg + ".qkv_dgrad").requested),
            R"({"method":"bulk","num_sm":4,"cga_size":2,"set_sm_margin":false})");
}

TEST(TensorOverlapRules, OneSlotCanLeaveUserbuffers) {
  const Plan plan = plan_of(tp4(with_cfg("{qkv_fprop: {method: nccl}, fc1_fprop: {method: waited}}")));
  EXPECT_EQ(slot_outcome(plan, "qkv_fprop"), "nccl user");
  EXPECT_EQ(slot_outcome(plan, "fc1_fprop"), "waited user");
  EXPECT_EQ(slot_outcome(plan, "proj_dgrad"), "ring_exchange auto");
}

TEST(TensorOverlapMatrix, AnAxisReplacesTheWholeConfigurationOrOneSlot) {
  const Matrix whole = parse(tp4(with_cfg("{qkv_fprop: {method: nccl}}") +
                                 "matrix: {comm_overlap.tp_comm_overlap_cfg: [null, {fc1_fprop: {method: nccl}}]}\n"),
                             "f");
  ASSERT_THAT(error_lines(whole), IsEmpty());
  EXPECT_EQ(whole.cells.at(0).plan.config.tensor_overlap[qkv_fprop].method, ring_exchange);
  EXPECT_EQ(whole.cells.at(1).plan.config.tensor_overlap[qkv_fprop].method, ring_exchange);
  EXPECT_EQ(whole.cells.at(1).plan.config.tensor_overlap[fc1_fprop].method, nccl);
  const Matrix slot =
      parse(tp4(kTensorOverlapOn +
                "matrix: {comm_overlap.tp_comm_overlap_cfg.fc2_fprop: [{num_splits: 2}, {method: ring_exchange}]}\n"),
            "f");
  ASSERT_THAT(error_lines(slot), IsEmpty());
  EXPECT_EQ(slot.cells.at(0).plan.config.tensor_overlap[fc2_fprop].num_splits, 2);
  EXPECT_EQ(slot.cells.at(1).plan.config.tensor_overlap[fc2_fprop].method, ring_exchange);
}

TEST(TensorSwitches, LeaveTheseMethods) {
  constexpr auto kR = ring_exchange;
  constexpr auto kB = bulk;
  constexpr auto kP = pipeline;
  constexpr auto kN = nccl;
  const std::vector<std::pair<std::string, std::vector<TensorMethod>>> cases = {
      {"tp_comm_overlap_ag: false", {kN, kB, kB, kP, kN, kN, kB, kB, kP, kN}},
      {"tp_comm_overlap_rs: false", {kR, kB, kB, kN, kR, kR, kB, kB, kN, kR}},
      {"tp_comm_bulk_dgrad: false", {kR, kN, kB, kP, kR, kR, kN, kB, kP, kR}},
      {"tp_comm_bulk_wgrad: false", {kR, kB, kN, kP, kR, kR, kB, kN, kP, kR}},
      {"tp_comm_overlap_disable_qkv: true", {kN, kB, kB, kP, kR, kR, kB, kB, kP, kR}},
      {"tp_comm_overlap_disable_fc1: true", {kR, kB, kB, kP, kR, kN, kB, kB, kP, kR}},
      {"tp_comm_overlap_rs_dgrad: true", {kR, kP, kN, kP, kR, kR, kP, kN, kP, kR}},
      {"tp_comm_overlap_rs_dgrad: true, tp_comm_overlap_disable_qkv: true", {kN, kB, kB, kP, kR, kR, kP, kN, kP, kR}}};
  for (const auto& [model, methods] : cases) EXPECT_EQ(methods_of(tp4(kTensorOverlapOn, model)), methods) << model;
}

TEST(TensorSwitchKnobs, ReductionInDgradTurnsBothBulkOverlapsOff) {
  const Plan plan = plan_of(tp4(kTensorOverlapOn, "tp_comm_overlap_rs_dgrad: true, tp_comm_bulk_dgrad: true"));
  EXPECT_EQ(outcome(plan, "model.tp_comm_bulk_dgrad"), "false gate");
  EXPECT_EQ(outcome(plan, "model.tp_comm_bulk_wgrad"), "false auto");
  const Plan neither = plan_of(tp4(kTensorOverlapOn,
                                   "tp_comm_overlap_rs_dgrad: true, tp_comm_overlap_disable_qkv: true, "
                                   "tp_comm_overlap_disable_fc1: true"));
  EXPECT_EQ(outcome(neither, "model.tp_comm_overlap_rs_dgrad"), "false gate");
}

TEST(TensorSwitchKnobs, AreKnownToHaveNoEffectWhereNothingOverlaps) {
  EXPECT_THAT(knob_of(plan_of(tp4("", "tp_comm_overlap_ag: false")), "model.tp_comm_overlap_ag").reason,
              HasSubstr("no effect: tp_comm_overlap is false"));
}

TEST(TensorGates, AReducingDgradSlotNeedsItsSwitch) {
  const std::string cfg = with_cfg("{fc1_dgrad: {method: pipeline, num_sm: 8}, qkv_dgrad: {method: ring_exchange}}");
  const Plan off = plan_of(tp4(cfg));
  EXPECT_EQ(slot_outcome(off, "fc1_dgrad"), "bulk gate");
  EXPECT_EQ(off.config.tensor_overlap[fc1_dgrad].num_sm, 8);
  EXPECT_EQ(off.config.tensor_overlap[fc1_wgrad].method, bulk);
  EXPECT_EQ(slot_outcome(off, "qkv_dgrad"), "bulk gate");
  EXPECT_THAT(knob_of(off, kCfg + ".fc1_dgrad").reason,
              HasSubstr("needs model.tp_comm_overlap_rs_dgrad, which is false"));
  EXPECT_THAT(text_of(off), StartsWith("NOT AS REQUESTED: comm_overlap.tp_comm_overlap_cfg.qkv_dgrad"));
  const Plan on = plan_of(tp4(cfg, "tp_comm_overlap_rs_dgrad: true"));
  EXPECT_EQ(slot_outcome(on, "fc1_dgrad"), "pipeline user");
  EXPECT_EQ(slot_outcome(on, "qkv_dgrad"), "ring_exchange user");
  EXPECT_EQ(slot_outcome(on, "fc1_wgrad"), "nccl auto");
}

TEST(TensorGates, APresetForLoraSaysThatItsDgradIsSwitchedOff) {
  const Plan plan = plan_of(llama(2) + kFp8 + with_cfg("userbuffers_fp8_h100_h8192_tp2_mbs1_seqlen4096_lora"));
  EXPECT_EQ(slot_outcome(plan, "fc1_dgrad"), "bulk gate");
  const Knob dgrad = knob_of(plan, kCfg + ".fc1_dgrad");
  EXPECT_EQ(*find(dgrad.requested, "method"), Value("pipeline"));
  EXPECT_THAT(dgrad.where, StartsWith("f:3:"));
}

TEST(TensorGates, ARequestThatIsOverruledIsGatedWhereItWasWritten) {
  const Plan ring = plan_of(tp4(with_cfg("{qkv_fprop: {method: ring_exchange}}"), "tp_comm_overlap_ag: false"));
  EXPECT_EQ(slot_outcome(ring, "qkv_fprop"), "nccl gate");
  EXPECT_EQ(slot_outcome(ring, "fc1_fprop"), "nccl auto");
  const Plan reduced = plan_of(tp4(with_cfg("{qkv_dgrad: {method: bulk}}"), "tp_comm_overlap_rs_dgrad: true"));
  EXPECT_EQ(slot_outcome(reduced, "qkv_dgrad"), "pipeline gate");
  EXPECT_EQ(slot_outcome(reduced, "fc1_dgrad"), "pipeline auto");
  const Plan waits = plan_of(tp4(with_cfg("{qkv_fprop: {method: nccl}, fc1_fprop: {method: waited}}") +
                                 "extensions: {tp_async_collectives: false}\n"));
  EXPECT_EQ(slot_outcome(waits, "qkv_fprop"), "waited gate");
  EXPECT_EQ(slot_outcome(waits, "fc1_fprop"), "waited user");
}

TEST(TensorFp8, GathersTravelInFp8AndReductionsWhereAsked) {
  const Plan plan = plan_of(tp4(kFp8 + with_cfg("{proj_fprop: {fp8_buf: true}, qkv_wgrad: {fp8_buf: true}}")));
  const TensorOverlap& slots = plan.config.tensor_overlap;
  EXPECT_TRUE(slots[qkv_fprop].fp8_buf);
  EXPECT_TRUE(slots[qkv_dgrad].fp8_buf);
  EXPECT_TRUE(slots[proj_fprop].fp8_buf);
  EXPECT_FALSE(slots[fc2_fprop].fp8_buf);
  EXPECT_FALSE(slots[qkv_wgrad].fp8_buf);
  EXPECT_FALSE(slot_of(tp4(with_cfg("{proj_fprop: {fp8_buf: true}}")), proj_fprop).fp8_buf);
}

TEST(TensorFp8, ThePresetsTupleCountsAsTrueUnderFp8AndSaysSo) {
  const std::string cfg = with_cfg(kLlamaPreset);
  const auto is_told = Contains(HasSubstr("counts as true"));
  EXPECT_TRUE(slot_of(llama(4) + kFp8 + cfg, proj_fprop).fp8_buf);
  EXPECT_THAT(notices_of(llama(4) + kFp8 + cfg), is_told);
  EXPECT_THAT(notices_of(llama(4) + cfg), Not(is_told));
  EXPECT_TRUE(slot_of(tp4(kFp8 + with_cfg("{proj_fprop: {fp8_buf: [false]}}")), proj_fprop).fp8_buf);
}

TEST(WrongTensorConfigs, AreErrorsOfTheirEntries) {
  struct WrongEntry {
    std::string slot, entry, error;
  };
  const std::vector<WrongEntry> cases = {
      {"qkv_fpro", "{}", "did you mean comm_overlap.tp_comm_overlap_cfg.qkv_fprop?"},
      {"qkv_fprop", "{num_sms: 1}", "has no field \"num_sms\"; did you mean num_sm?"},
      {"qkv_fprop", "{method: rings_exchange}", "did you mean ring_exchange?"},
      {"qkv_fprop", "ring_exchange", "must be a mapping of fields"},
      {"qkv_fprop", "{set_sm_margin: 2}", "set_sm_margin must be true or false"},
      {"qkv_fprop", "{num_sm: many}", "num_sm must be a whole number from 1 to 32"},
      {"qkv_dgrad", "{num_sm: 33}", "num_sm must be a whole number from 1 to 32"},
      {"qkv_dgrad", "{cga_size: 9}", "cga_size must be a whole number from 1 to 8"},
      {"proj_fprop", "{num_splits: 0}", "num_splits must be a whole number from 1 to 1024"},
      {"proj_fprop", "{num_splits: 3}", "num_splits is 3, which does not divide the 256 output features"},
      {"qkv_fprop", "{method: bulk}", "has no bulk: the GEMM needs the gathered data"},
      {"fc2_dgrad", "{method: pipeline}", "has no pipeline: pipeline reduces"},
      {"fc2_fprop", "{method: bulk}", "has no bulk: the GEMM produces the reduced data"},
      {"fc1_wgrad", "{method: ring_exchange}", "has no ring_exchange: the GEMM neither"},
      {"qkv_fprop", "{atomic_gemm: true}", "cannot be expressed by streams and events"},
      {"qkv_fprop", "{_target_: a.RingExchangeOverlapCgf}", "did you mean RingExchangeOverlapCfg?"},
      {"qkv_dgrad", "{method: pipeline}, qkv_wgrad: {num_sm: 4}", "has nothing to reduce"}};
  for (const auto& [slot, entry, error] : cases)
    EXPECT_THAT(errors_of(tp4(with_cfg("{" + slot + ": " + entry + "}"))),
                ElementsAre(AllOf(StartsWith("f:2:"), HasSubstr(error))))
        << slot << ": " << entry;
}

TEST(WrongTensorConfigs, AreAllToldAtOnceAtTheirPlaces) {
  EXPECT_THAT(errors_of(tp4("comm_overlap:\n  tp_comm_overlap: true\n  tp_comm_overlap_cfg:\n"
                            "    qkv_fprop: {method: bulk, num_sm: 0}\n    no_slot_here: {}\n"
                            "    proj_fprop:\n      atomic_gemm: true\n      num_splits: 5\n")),
              ElementsAre(StartsWith("f:5:25: "), StartsWith("f:5:39: "), StartsWith("f:6:5: unknown key"),
                          StartsWith("f:8:20: "), StartsWith("f:9:19: ")));
}

TEST(WrongTensorConfigs, AreRefusedWithTheModelAndThePrecision) {
  expect_refused({
      {"model: {preset: tiny}\ncomm_overlap: {tp_comm_overlap: false, tp_comm_overlap_cfg: no}\n",
       "unknown userbuffers preset \"no\""},
      {tp4(kTensorOverlapOn + "mixed_precision: bf16_with_fp8_subchannel_scaling_mixed\n"),
       "userbuffers support bf16, per-tensor fp8 and mxfp8"},
      {"model: {preset: tiny, hidden_size: 192, num_attention_heads: 6, num_query_groups: 3, "
       "ffn_hidden_size: 192, vocab_size: 258, seq_length: 126, tensor_model_parallel_size: 3, "
       "sequence_parallel: true}\n" +
           with_cfg("{qkv_fprop: {aggregate: true}}"),
       "it must be even"},
  });
}

TEST(KnownTensorFields, AreRefusedByRunAlone) {
  const Plan plan = plan_of(tp4(with_cfg("{qkv_fprop: {use_ce: false, comm_priority: -5}, proj_wgrad: {num_sm: 1}}")));
  EXPECT_THAT(lines_of(plan.not_run),
              testing::UnorderedElementsAre(HasSubstr("use_ce false"), HasSubstr("comm_priority"),
                                            HasSubstr("proj_wgrad is recognized")));
}

}  // namespace
}  // namespace underlap::plan
