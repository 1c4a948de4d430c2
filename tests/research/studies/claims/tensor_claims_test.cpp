// SPDX-License-Identifier: Apache-2.0
// The rules by which claims of tensor parallelism are judged, on made-up evidence.
#include <gmock/gmock.h>

#include "tests/research/studies/claims/claims_testing.hpp"

namespace underlap::bench {
namespace {

using namespace claims_testing;

using ::testing::IsEmpty;

// On two ranks, with sequence parallelism.
Evidence planned_tensor(const std::string& yaml) {
  return planned("model.tensor_model_parallel_size: 2\nmodel.sequence_parallel: true\n" + yaml);
}

const std::string kTensorOn = "comm_overlap.tp_comm_overlap: true\n";

TEST(TensorCollectivesClaim, AsksEverySlotForItsCollectiveAndForNoAllReduce) {
  Evidence evidence = planned_tensor("");
  ClaimCell& cell = evidence.cells[0];
  for (const std::string slot : {"qkv_fprop", "qkv_dgrad", "proj_dgrad", "fc1_fprop", "fc1_dgrad", "fc2_dgrad"})
    set_purpose(cell, slot + "_all_gather", {.count = 1});
  for (const std::string slot : {"qkv_wgrad", "proj_fprop", "fc1_wgrad", "fc2_fprop"})
    set_purpose(cell, slot + "_reduce_scatter", {.count = 1});
  EXPECT_EQ(verdict("tp_collectives", evidence), Verdict::holds);
  set_purpose(cell, "fc2_fprop_all_reduce", {.count = 1});
  EXPECT_EQ(verdict("tp_collectives", evidence), Verdict::does_not_hold);
  cell.run->purposes.erase("fc2_fprop_all_reduce");
  cell.run->purposes.erase("qkv_wgrad_reduce_scatter");
  EXPECT_EQ(verdict("tp_collectives", evidence), Verdict::does_not_hold);
}

TEST(TensorBulkClaim, AsksForTheMethodAndForSomethingHidden) {
  Evidence evidence = planned_tensor(kTensorOn);
  ClaimCell& cell = evidence.cells[0];
  for (const std::string purpose :
       {"qkv_dgrad_all_gather", "fc1_dgrad_all_gather", "qkv_wgrad_reduce_scatter", "fc1_wgrad_reduce_scatter"})
    set_purpose(cell, purpose, {.comm_ms = 10, .exposed_ms = 1});
  EXPECT_EQ(verdict("tp_bulk", evidence), Verdict::holds);
  set_purpose(cell, "qkv_wgrad_reduce_scatter", {.comm_ms = 10, .exposed_ms = 9.95});
  EXPECT_EQ(verdict("tp_bulk", evidence), Verdict::holds_where);
  set_purpose(cell, "qkv_wgrad_reduce_scatter", {.comm_ms = 10, .exposed_ms = 1});
  cell.plan.config.tensor_overlap[plan::TensorSlot::fc1_dgrad].method = plan::TensorMethod::nccl;
  EXPECT_EQ(verdict("tp_bulk", evidence), Verdict::holds_where);
}

TEST(TensorRingGatherClaim, HoldsWithHopsAndNoGather) {
  Evidence evidence = planned_tensor(kTensorOn);
  ClaimCell& cell = evidence.cells[0];
  for (const std::string slot : {"qkv_fprop", "proj_dgrad", "fc1_fprop", "fc2_dgrad"})
    set_purpose(cell, slot + "_ring_hop", {.count = 1});
  EXPECT_EQ(verdict("tp_ring_gather", evidence), Verdict::holds);
  set_purpose(cell, "fc1_fprop_all_gather", {.count = 1});
  EXPECT_EQ(verdict("tp_ring_gather", evidence), Verdict::holds_where);
  cell.run->purposes.clear();
  EXPECT_EQ(verdict("tp_ring_gather", evidence), Verdict::does_not_hold);
}

TEST(TensorRingScatterClaim, HoldsWithExchangesASumAndNoReduceScatter) {
  Evidence evidence = planned_tensor(kTensorOn);
  ClaimCell& cell = evidence.cells[0];
  for (const std::string slot : {"proj_fprop", "fc2_fprop"}) {
    set_purpose(cell, slot + "_ring_hop", {.count = 1});
    cell.computed.insert(slot + "_ring_sum");
  }
  EXPECT_EQ(verdict("tp_ring_scatter", evidence), Verdict::holds);
  cell.computed.erase("proj_fprop_ring_sum");
  EXPECT_EQ(verdict("tp_ring_scatter", evidence), Verdict::holds_where);
  set_purpose(cell, "fc2_fprop_reduce_scatter", {.count = 4});
  EXPECT_EQ(verdict("tp_ring_scatter", evidence), Verdict::does_not_hold);
}

TEST(TensorExposedChunkClaim, HoldsWhileNothingIsExposedBeyondTheLastChunk) {
  Evidence evidence = planned_tensor(kTensorOn);  // both slots are pipelines by themselves
  ClaimCell& cell = evidence.cells[0];
  set_step(cell, 100);
  cell.chunks = {
      {"proj_fprop_reduce_scatter", 4, 0.5}, {"proj_fprop_reduce_scatter", 2, 2}, {"fc2_fprop_reduce_scatter", 2, 2}};
  EXPECT_EQ(verdict("tp_exposed_chunk", evidence), Verdict::holds);
  cell.chunks[0].exposed_ms = 1.5;
  EXPECT_EQ(verdict("tp_exposed_chunk", evidence), Verdict::holds_where);
  cell.chunks.pop_back();
  EXPECT_EQ(verdict("tp_exposed_chunk", evidence), Verdict::does_not_hold) << "a pipeline without a chunk";
}

TEST(TensorGatesClaim, HoldsWhereTheTwoConditionsAloneDecide) {
  Evidence evidence = planned_tensor(
      kTensorOn + "matrix: {model.tensor_model_parallel_size: [1, 2], model.sequence_parallel: [true, false]}\n");
  EXPECT_EQ(verdict("tp_gates", evidence), Verdict::holds);
  evidence.cells[3].plan.errors.push_back({"a.yaml:1:1", "needs sequence_parallel"});
  EXPECT_EQ(verdict("tp_gates", evidence), Verdict::holds_where);
  evidence.cells[3].plan.errors.clear();
  for (ClaimCell& cell : evidence.cells) cell.plan.config.parallel.sequence_parallel ^= true;
  EXPECT_EQ(verdict("tp_gates", evidence), Verdict::holds_where) << "effective against the condition";
}

TEST(TensorOwnSettingsClaim, HoldsWhereNoUserWroteASlot) {
  EXPECT_EQ(verdict("tp_own_settings", planned_tensor(kTensorOn)), Verdict::holds);
  const Evidence written =
      planned_tensor(kTensorOn + "comm_overlap.tp_comm_overlap_cfg.fc2_fprop: {method: ring_exchange}\n");
  EXPECT_EQ(verdict("tp_own_settings", written), Verdict::holds_where);
}

TEST(TensorSpeedupClaim, HoldsForANoticeableGainOverTheSameShapeWithoutOverlap) {
  Evidence evidence =
      planned_tensor("matrix: {model.seq_length: [128, 256], comm_overlap.tp_comm_overlap: [false, true]}\n");
  for (ClaimCell& cell : evidence.cells) set_step(cell, 100);
  EXPECT_EQ(verdict("tp_speedup", evidence), Verdict::does_not_hold);
  set_step(evidence.cells[1], 98.5);
  EXPECT_EQ(verdict("tp_speedup", evidence), Verdict::holds_where);
  set_step(evidence.cells[2], 200);
  EXPECT_EQ(verdict("tp_speedup", evidence), Verdict::holds) << "each against its own shape";
}

// Cells that write one GEMM's overlap, beside one that writes none and one without overlap.
Evidence planned_slots(const std::string& written) {
  Evidence evidence =
      planned_tensor("matrix:\n  written:\n    - {name: off, comm_overlap.tp_comm_overlap: false}\n" +
                     ("    - {name: none, " + kTensorOn.substr(0, kTensorOn.size() - 1) + "}\n") + written);
  for (ClaimCell& cell : evidence.cells) {
    set_purpose(cell, "qkv_fprop_all_gather", {.comm_ms = 1, .bytes_on_wire = 10, .count = 1});
    if (cell.name == "off") continue;
    cell.run->purposes.clear();
    set_purpose(cell, "qkv_fprop_ring_hop", {.comm_ms = 1, .bytes_on_wire = 10, .count = 3});
    set_purpose(cell, "proj_fprop_reduce_scatter", {.comm_ms = 1, .bytes_on_wire = 10, .count = 4});
  }
  return evidence;
}

TEST(TensorSingleGemmClaim, AsksForWhatWasWrittenForAnEffectAndForNoOther) {
  Evidence evidence = planned_slots(
      "    - {name: qkv_fprop:aggregate, comm_overlap.tp_comm_overlap: true, "
      "comm_overlap.tp_comm_overlap_cfg.qkv_fprop: {aggregate: true}}\n");
  ClaimCell& cell = evidence.cells[2];
  EXPECT_EQ(verdict("tp_single_gemm", evidence), Verdict::does_not_hold) << "the same transfers for the same time";
  set_purpose(cell, "qkv_fprop_ring_hop", {.comm_ms = 2, .bytes_on_wire = 10, .count = 3});
  EXPECT_EQ(verdict("tp_single_gemm", evidence), Verdict::holds);
  set_purpose(cell, "proj_fprop_reduce_scatter", {.comm_ms = 1, .bytes_on_wire = 10, .count = 2});
  EXPECT_EQ(verdict("tp_single_gemm", evidence), Verdict::does_not_hold) << "another GEMM's transfers changed";
  set_purpose(cell, "proj_fprop_reduce_scatter", {.comm_ms = 1, .bytes_on_wire = 10, .count = 4});
  cell.plan.config.tensor_overlap[plan::TensorSlot::fc1_dgrad].num_sm = 1;
  EXPECT_EQ(verdict("tp_single_gemm", evidence), Verdict::does_not_hold) << "another GEMM is set up otherwise";
}

TEST(TensorSingleGemmClaim, DoesNotHoldWhereAGateTakesWhatWasWritten) {
  Evidence evidence = planned_slots(
      "    - {name: qkv_dgrad:pipeline, comm_overlap.tp_comm_overlap: true, "
      "comm_overlap.tp_comm_overlap_cfg.qkv_dgrad: {method: pipeline}}\n");
  set_purpose(evidence.cells[2], "qkv_dgrad_all_gather", {.count = 1});
  EXPECT_EQ(verdict("tp_single_gemm", evidence), Verdict::does_not_hold);
}

TEST(TensorSingleSwitchClaim, AsksForTheCommunicationWithoutOverlapAndForNoOtherChange) {
  Evidence evidence = planned_slots(
      "    - {name: qkv_fprop:null, comm_overlap.tp_comm_overlap: true, "
      "comm_overlap.tp_comm_overlap_cfg.qkv_fprop: null}\n"
      "    - {name: qkv_fprop:nccl, comm_overlap.tp_comm_overlap: true, "
      "comm_overlap.tp_comm_overlap_cfg.qkv_fprop: {method: nccl}}\n");
  EXPECT_EQ(verdict("tp_single_switch", evidence), Verdict::does_not_hold) << "both still have a ring";
  ClaimCell& switched = evidence.cells[3];
  switched.run->purposes.erase("qkv_fprop_ring_hop");
  set_purpose(switched, "qkv_fprop_all_gather", {.comm_ms = 1, .bytes_on_wire = 10, .count = 1});
  EXPECT_EQ(verdict("tp_single_switch", evidence), Verdict::holds_where);
  switched.run->purposes.erase("proj_fprop_reduce_scatter");
  EXPECT_EQ(verdict("tp_single_switch", evidence), Verdict::does_not_hold) << "another GEMM's transfers are gone";
}

TEST(TensorPresetClaim, HoldsForANoticeableGainOverOwnSettingsOfTheSameShape) {
  Evidence evidence = planned_tensor(
      kTensorOn + "matrix:\n  shape: [{name: a, model.seq_length: 128}, {name: b, model.seq_length: 256}]\n" +
      "  settings: [{name: own}, {name: preset, comm_overlap.tp_comm_overlap_cfg.qkv_dgrad: {num_sm: 2}}]\n");
  for (ClaimCell& cell : evidence.cells) set_step(cell, 100);
  EXPECT_EQ(verdict("tp_preset", evidence), Verdict::does_not_hold);
  set_step(evidence.cells[1], 98.5);
  EXPECT_EQ(verdict("tp_preset", evidence), Verdict::holds_where);
  set_step(evidence.cells[2], 200);
  EXPECT_EQ(verdict("tp_preset", evidence), Verdict::holds) << "each against its own shape";
}

}  // namespace
}  // namespace underlap::bench
