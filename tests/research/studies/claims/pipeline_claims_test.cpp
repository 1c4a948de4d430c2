// SPDX-License-Identifier: Apache-2.0
// The rules by which claims of pipeline and context parallelism are judged, on made-up evidence.

#include "tests/research/studies/claims/claims_testing.hpp"

namespace underlap::bench {
namespace {

using namespace claims_testing;

const std::string kStages = "model.pipeline_model_parallel_size: 4\ntrain: {num_microbatches: 8}\n";

// Transfers of a pipeline that nothing hides, ms: while it fills, in the steady state, while it drains.
void set_phases(ClaimCell& cell, double fill, double steady, double flush) {
  if (!cell.run) set_step(cell, 1000);
  const auto exposed = [](double ms) { return ModeTime{.exposed_ms = 2 * ms, .exposed_transfer_ms = ms}; };
  cell.phases = PipelinePhases{exposed(fill), exposed(steady), exposed(flush)};
}

TEST(PipelineExchangesClaim, AsksForBothDirectionsWithStagesAndForNoneWithout) {
  Evidence evidence = planned("train: {num_microbatches: 8}\nmatrix: {model.pipeline_model_parallel_size: [1, 2]}\n");
  set_step(evidence.cells[0], 100);
  set_purpose(evidence.cells[1], "send_forward_recv_backward", {.count = 1});
  EXPECT_EQ(verdict("pp_exchanges", evidence), Verdict::holds_where) << "gradients are received and never sent";
  set_purpose(evidence.cells[1], "send_backward", {.count = 1});
  EXPECT_EQ(verdict("pp_exchanges", evidence), Verdict::holds);
  set_purpose(evidence.cells[0], "send_forward", {.count = 1});
  EXPECT_EQ(verdict("pp_exchanges", evidence), Verdict::holds_where);
}

const std::string kChunks = kStages + "model.num_layers: 16\ncomm_overlap: {overlap_p2p_comm: false}\n" +
                            "matrix: {model.virtual_pipeline_model_parallel_size: [null, 2, 4]}\n";

TEST(PipelineGrowthClaim, HoldsForMoreBytesThanWithOneChunk) {
  Evidence evidence = planned(kChunks);
  for (ClaimCell& cell : evidence.cells) set_purpose(cell, "send_forward", {.bytes_on_wire = 1000});
  EXPECT_EQ(verdict("pp_growth", evidence), Verdict::does_not_hold);
  set_purpose(evidence.cells[1], "send_backward", {.bytes_on_wire = 500});
  EXPECT_EQ(verdict("pp_growth", evidence), Verdict::holds_where);
  set_purpose(evidence.cells[2], "send_forward", {.bytes_on_wire = 1020});
  EXPECT_EQ(verdict("pp_growth", evidence), Verdict::holds);
}

TEST(PipelineBottleneckClaim, AsksForTransfersThatOutweighTheBubbleOnceThereAreSeveralChunks) {
  Evidence evidence = planned(kChunks);  // steps of 1000
  for (ClaimCell& cell : evidence.cells) {
    set_phases(cell, 10, 30, 10);
    cell.compute_ms = 850;  // 50 of transfers, 100 of bubble
  }
  EXPECT_EQ(verdict("pp_bottleneck", evidence), Verdict::does_not_hold);
  evidence.cells[2].compute_ms = 910;  // 40 of bubble
  EXPECT_EQ(verdict("pp_bottleneck", evidence), Verdict::holds_where);
  evidence.cells[1].compute_ms = 910;
  EXPECT_EQ(verdict("pp_bottleneck", evidence), Verdict::holds);
  evidence.cells[0].compute_ms = 910;
  EXPECT_EQ(verdict("pp_bottleneck", evidence), Verdict::does_not_hold) << "with one chunk too: they do not become it";
}

TEST(PipelineBottleneckClaim, AsksForNoticeableTransfers) {
  Evidence evidence = planned(kChunks);
  for (ClaimCell& cell : evidence.cells) {
    set_phases(cell, 3, 3, 3);
    cell.compute_ms = 990;
  }
  evidence.cells[0].compute_ms = 900;
  EXPECT_EQ(verdict("pp_bottleneck", evidence), Verdict::does_not_hold) << "9 of a step of 1000, beside 1 of bubble";
  set_phases(evidence.cells[2], 3, 3, 4);
  EXPECT_EQ(verdict("pp_bottleneck", evidence), Verdict::holds_where);
}

TEST(PipelineCancelsClaim, HoldsWhereTwiceTheChunksGainNothing) {
  Evidence evidence = planned(kChunks);
  for (ClaimCell& cell : evidence.cells) set_phases(cell, 1, 1, 1);
  EXPECT_EQ(verdict("pp_cancels", evidence), Verdict::holds);
  set_step(evidence.cells[2], 900);
  EXPECT_EQ(verdict("pp_cancels", evidence), Verdict::holds_where);
  set_step(evidence.cells[1], 950);
  EXPECT_EQ(verdict("pp_cancels", evidence), Verdict::does_not_hold) << "each against half as many chunks";
}

// The same schedule, waited for and overlapped.
Evidence with_and_without_overlap() {
  return planned(kStages +
                 "model.num_layers: 8\nmodel.virtual_pipeline_model_parallel_size: 2\nmatrix:\n  exchanges:\n" +
                 "    - {name: waited, comm_overlap.overlap_p2p_comm: false, comm_overlap.batch_p2p_comm: true}\n" +
                 "    - {name: overlapped}\n    - {name: by_event, extensions.release_by_event: true}\n");
}

TEST(PipelineSteadyClaim, AsksForLittleOfTheStepAndForHalfOfWhatWaitingExposes) {
  Evidence evidence = with_and_without_overlap();
  set_phases(evidence.cells[0], 5, 12, 5);
  set_phases(evidence.cells[1], 5, 7, 5);
  set_phases(evidence.cells[2], 5, 6, 5);
  EXPECT_EQ(verdict("pp_steady", evidence), Verdict::holds_where);
  set_phases(evidence.cells[0], 5, 100, 5);
  EXPECT_EQ(verdict("pp_steady", evidence), Verdict::holds);
  set_phases(evidence.cells[1], 5, 11, 5);
  EXPECT_EQ(verdict("pp_steady", evidence), Verdict::holds_where) << "11 of a step of 1000";
}

TEST(PipelineEndsClaim, HoldsWhileFillAndFlushExposeAsMuchAsWaiting) {
  Evidence evidence = with_and_without_overlap();
  set_phases(evidence.cells[0], 10, 100, 10);
  set_phases(evidence.cells[1], 12, 0, 8);
  set_phases(evidence.cells[2], 10, 50, 9);
  EXPECT_EQ(verdict("pp_ends", evidence), Verdict::holds_where);
  set_phases(evidence.cells[2], 11, 50, 10);
  EXPECT_EQ(verdict("pp_ends", evidence), Verdict::holds);
}

TEST(PipelineNeedsStagesClaim, HoldsWhereTheRequestIsAnErrorWithOneChunkAlone) {
  Evidence evidence =
      planned(kStages + "comm_overlap: {overlap_p2p_comm: true, batch_p2p_comm: false}\n" +
              "model.virtual_pipeline_model_parallel_size: 1\n" + "extensions.overlap_without_virtual_stages: true\n");
  EXPECT_EQ(verdict("pp_needs_stages", evidence), Verdict::does_not_hold) << "no error with one chunk";
  evidence.cells[0].plan.errors.push_back({"a.yaml:1:1", "refused"});
  EXPECT_EQ(verdict("pp_needs_stages", evidence), Verdict::holds);
  evidence.cells[0].plan.config.parallel.virtual_pipeline_model_parallel_size = 2;
  EXPECT_EQ(verdict("pp_needs_stages", evidence), Verdict::does_not_hold) << "an error with two chunks";
}

TEST(PipelineUnbatchedClaim, HoldsForANoticeableGainOverTheSameSchedule) {
  Evidence evidence = planned(kStages + "model.num_layers: 8\ncomm_overlap: {overlap_p2p_comm: false}\nmatrix: {" +
                              "model.virtual_pipeline_model_parallel_size: [null, 2], " +
                              "comm_overlap.batch_p2p_comm: [true, false]}\n");
  for (ClaimCell& cell : evidence.cells) set_phases(cell, 1, 1, 1);
  EXPECT_EQ(verdict("pp_unbatched", evidence), Verdict::does_not_hold);
  set_step(evidence.cells[1], 985);
  EXPECT_EQ(verdict("pp_unbatched", evidence), Verdict::holds_where);
  set_step(evidence.cells[3], 985);
  EXPECT_EQ(verdict("pp_unbatched", evidence), Verdict::holds);
}

TEST(PipelineChoiceClaim, AsksForTheRuleAndForNoUser) {
  const std::string stages = "train: {num_microbatches: 8}\nmodel.num_layers: 8\n";
  const std::string matrix =
      "matrix: {model.pipeline_model_parallel_size: [2, 4], model.virtual_pipeline_model_parallel_size: [null, 2]}\n";
  EXPECT_EQ(verdict("pp_choice", planned(stages + matrix)), Verdict::holds);
  EXPECT_EQ(verdict("pp_choice", planned(stages + "model.pipeline_model_parallel_size: 4\n" +
                                         "comm_overlap.overlap_p2p_comm: false\n")),
            Verdict::does_not_hold);
}

TEST(ComposedClaim, AsksEachModeForLessThanWithEveryOverlapOff) {
  Evidence evidence = planned(
      "data_parallel_size: 2\nmatrix:\n  overlap:\n    - {name: off, comm_overlap.overlap_grad_reduce: false, "
      "comm_overlap.overlap_param_gather: false}\n    - {name: card}\n");
  for (ClaimCell& cell : evidence.cells) {
    set_step(cell, 100);
    for (const std::string mode : {"tp", "pp", "dp"}) cell.modes[mode] = {.exposed_transfer_ms = 10};
  }
  EXPECT_EQ(verdict("composed", evidence), Verdict::does_not_hold);
  evidence.cells[1].modes["pp"].exposed_transfer_ms = 9;
  EXPECT_EQ(verdict("composed", evidence), Verdict::holds_where);
  for (const std::string mode : {"tp", "dp"}) evidence.cells[1].modes[mode].exposed_transfer_ms = 9.8;
  EXPECT_EQ(verdict("composed", evidence), Verdict::holds);
}

const std::string kContext = "model.context_parallel_size: 2\n";

TEST(ContextCollectivesClaim, AsksForTheGatherAndForTheReduceScatter) {
  Evidence evidence = planned(kContext);
  set_purpose(evidence.cells[0], "kv_all_gather", {.count = 2});
  EXPECT_EQ(verdict("cp_collectives", evidence), Verdict::does_not_hold);
  set_purpose(evidence.cells[0], "dkv_reduce_scatter", {.count = 1});
  EXPECT_EQ(verdict("cp_collectives", evidence), Verdict::holds);
}

TEST(ContextRingClaim, HoldsWithHopsAndNoCollective) {
  Evidence evidence = planned(kContext);
  set_purpose(evidence.cells[0], "kv_ring_hop", {.count = 2});
  EXPECT_EQ(verdict("cp_ring", evidence), Verdict::holds);
  set_purpose(evidence.cells[0], "dkv_reduce_scatter", {.count = 1});
  EXPECT_EQ(verdict("cp_ring", evidence), Verdict::does_not_hold);
  evidence.cells[0].run->purposes.clear();
  EXPECT_EQ(verdict("cp_ring", evidence), Verdict::does_not_hold);
}

TEST(ContextHidesClaim, AsksForAttentionBesideAllButLittleOfTheExchanges) {
  Evidence evidence = planned(kContext + "matrix: {model.seq_length: [128, 256]}\n");
  for (ClaimCell& cell : evidence.cells) {
    set_step(cell, 1000);
    cell.modes["cp"] = {.comm_ms = 1, .exposed_ms = 0};
    cell.cp_under_attention_ms = 0.995;
  }
  EXPECT_EQ(verdict("cp_hides", evidence), Verdict::holds);
  evidence.cells[1].cp_under_attention_ms = 0.98;  // the rest beside other compute: little of the step, and not hidden
  EXPECT_EQ(verdict("cp_hides", evidence), Verdict::holds_where);
  evidence.cells[0].cp_under_attention_ms = 0.98;
  EXPECT_EQ(verdict("cp_hides", evidence), Verdict::does_not_hold);
}

TEST(ContextDefaultClaim, HoldsWhereSomethingIsHidden) {
  Evidence evidence = planned(kContext + "matrix: {model.cp_comm_type: [p2p, all_gather]}\n");
  for (ClaimCell& cell : evidence.cells) {
    set_step(cell, 100);
    cell.modes["cp"] = {.comm_ms = 10, .exposed_ms = 10};
  }
  EXPECT_EQ(verdict("cp_default", evidence), Verdict::does_not_hold);
  evidence.cells[0].modes["cp"].exposed_ms = 9.8;
  EXPECT_EQ(verdict("cp_default", evidence), Verdict::holds_where);
}

}  // namespace
}  // namespace underlap::bench
