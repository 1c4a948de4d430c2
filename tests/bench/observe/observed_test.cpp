// SPDX-License-Identifier: Apache-2.0
// Knobs held against synthetic traces. What a trace proves is tested with the evidence itself.
#include "bench/observe/observe.hpp"

#include "tests/profiler/report/step_of_a_rank.hpp"
#include "tests/testing.hpp"

namespace underlap::bench {
namespace {

constexpr const char* kGrads = "comm_overlap.overlap_grad_reduce";
constexpr const char* kParams = "comm_overlap.overlap_param_gather";

plan::Matrix matrix_of(const std::string& yaml) {
  return plan::parse("model: {preset: tiny}\ndata_parallel_size: 2\n" + yaml, "config.yaml");
}

plan::Plan plan_of(const std::string& yaml = "") { return matrix_of(yaml).cells.front().plan; }

plan::Plan plan_in(const std::string& yaml) { return plan::parse(yaml, "config.yaml").cells.front().plan; }

// Held against a plan.
class StepOfARank : public report::StepOfARank {
 public:
  std::vector<report::ObservedKnob> observed(const plan::Plan& plan) {
    return observe(plan, trace(), analysis::summarize(trace()));
  }
  report::ObservedKnob observed(const plan::Plan& plan, const std::string& knob) {
    for (const report::ObservedKnob& row : observed(plan))
      if (row.knob == knob) return row;
    throw std::out_of_range("no row of " + knob);
  }
};

TEST(Observed, WhatRanUnderComputeIsObserved) {
  StepOfARank step;
  step.comm(0, 100, "grad_reduce_scatter").compute(0, 90).compute(100, 200);
  const report::ObservedKnob knob = step.observed(plan_of(), kGrads);
  EXPECT_EQ(knob.requested, "null");
  EXPECT_EQ(knob.effective, "true");
  EXPECT_EQ(knob.status, report::ObservedStatus::observed);
  EXPECT_DOUBLE_EQ(knob.observed_pct.value(), 90);
  EXPECT_EQ(knob.operations, 1);
  EXPECT_EQ(knob.comm_ns, 100'000);
  EXPECT_EQ(knob.hidden_ns, 90'000);
  EXPECT_EQ(knob.reason, "longer than the compute that ran during it (1 of 1 operations, 100 % of the exposed time)");
}

TEST(Observed, ALittleIsPartly) {
  StepOfARank step;
  step.comm(0, 100, "grad_reduce_scatter").compute(0, 20).compute(100, 200);
  EXPECT_EQ(step.observed(plan_of(), kGrads).status, report::ObservedStatus::partly);
}

TEST(Observed, NothingIsNotObservedAndSaysWhy) {
  StepOfARank step;
  step.comm(0, 100, "grad_reduce_scatter").compute(100, 200);
  const report::ObservedKnob knob = step.observed(plan_of(), kGrads);
  EXPECT_EQ(knob.status, report::ObservedStatus::not_observed);
  EXPECT_EQ(knob.cause, analysis::ExposedCause::waited_at_once);
  EXPECT_THAT(knob.reason,
              StartsWith("waited for immediately: the next compute, operation, started only after its end"));
}

TEST(Observed, TheReasonIsThatOfMostOfTheExposedTime) {
  StepOfARank step;
  step.comm(0, 30, "grad_reduce_scatter").compute(0, 10).compute(30, 40);
  step.comm(40, 100, "grad_reduce_scatter").compute(100, 200);
  EXPECT_THAT(step.observed(plan_of(), kGrads).reason,
              AllOf(StartsWith("waited for immediately"), HasSubstr("(1 of 2 operations, 75 % of the exposed time)")));
}

TEST(Observed, WhatIsNotInTheTraceSaysWhy) {
  const auto expect_absent = [](StepOfARank step, const plan::Plan& plan, const std::string& reason) {
    const report::ObservedKnob knob = step.observed(plan, kGrads);
    EXPECT_EQ(knob.status, report::ObservedStatus::not_in_trace) << reason;
    EXPECT_EQ(knob.observed_pct, std::nullopt) << reason;
    EXPECT_THAT(knob.reason, HasSubstr(reason));
  };
  StepOfARank compute, outside, timeless;
  compute.compute(0, 100);
  outside.comm(1100, 1200, "grad_reduce_scatter");
  timeless.comm(50, 50, "grad_reduce_scatter").compute(0, 100);
  expect_absent(compute, plan_of(), "none of its operations is in the trace");
  expect_absent(outside, plan_of(), "its 1 operations end outside the measured steps");
  expect_absent(timeless, plan_of(), "its 1 operations took no time");
  expect_absent(compute, plan_of("run: {no_comm: true}\n"), "run.no_comm removed its transfers");
  expect_absent(StepOfARank(), plan_of(), "run.trace false");
}

TEST(Observed, AKnobThatIsOffSaysSoAndWhatItsOperationsDid) {
  StepOfARank step;
  step.comm(0, 100, "grad_reduce_scatter").compute(100, 200);
  const report::ObservedKnob knob = step.observed(plan_of("comm_overlap: {overlap_grad_reduce: false}\n"), kGrads);
  EXPECT_EQ(knob.requested, "false");
  EXPECT_EQ(knob.effective, "false");
  EXPECT_THAT(knob.reason, StartsWith("off; waited for immediately"));
}

TEST(Observed, AGateIsNamed) {
  StepOfARank step;
  step.compute(0, 100);
  const plan::Plan plan = plan_in("model: {preset: tiny}\ncomm_overlap: {tp_comm_overlap: true}\n");
  const report::ObservedKnob knob = step.observed(plan, "comm_overlap.tp_comm_overlap");
  EXPECT_EQ(knob.requested, "true");
  EXPECT_EQ(knob.effective, "false");
  EXPECT_EQ(knob.status, report::ObservedStatus::not_in_trace);
  EXPECT_THAT(knob.reason, StartsWith("switched off, tensor_model_parallel_size is 1"));
}

TEST(Observed, OneRankAloneObservesNothing) {
  StepOfARank step;
  step.comm(5, 5, "grad_reduce_scatter").comm(5, 10, "param_all_gather").compute(0, 100);
  plan::Plan plan = plan_of();
  plan.config.parallel.data_parallel_size = 1;
  for (const char* name : {kGrads, kParams}) {
    const report::ObservedKnob knob = step.observed(plan, name);
    EXPECT_EQ(knob.status, report::ObservedStatus::not_in_trace) << name;
    EXPECT_EQ(knob.observed_pct, std::nullopt);
    EXPECT_EQ(knob.cause, std::nullopt);
    EXPECT_EQ(knob.operations, 1);
    EXPECT_EQ(knob.reason, "a single rank exchanges nothing");
  }
}

TEST(Observed, OneConnectionIsTakenFromThePlanUnlessStreamsAreThreads) {
  StepOfARank step;
  step.comm(0, 100, "grad_reduce_scatter").comm(100, 200, "grad_reduce_scatter").compute(100, 200);
  const plan::Plan plan = plan_of("environment: {cuda_device_max_connections: 1}\nrun: {backend: sim}\n");
  EXPECT_THAT(step.observed(plan, kGrads).reason, StartsWith("one connection"));
  step.trace().metadata["backend"] = "host";
  EXPECT_THAT(step.observed(plan, kGrads).reason, StartsWith("waited for immediately"));
}

TEST(Observed, EachKnobHasItsOwnOperations) {
  StepOfARank step;
  step.comm(0, 100, "param_all_gather").compute(100, 200).comm(200, 210, "grad_all_reduce").compute(200, 300);
  step.comm(300, 310, "grad_norm_all_reduce").compute(310, 400);
  const plan::Plan plan = plan_of();
  EXPECT_EQ(step.observed(plan, kParams).operations, 1);
  EXPECT_EQ(step.observed(plan, kGrads).operations, 1);
  EXPECT_EQ(step.observed(plan, kGrads).status, report::ObservedStatus::observed);
  EXPECT_EQ(step.observed(plan).size(), 2U);
}

// A plan whose tensor-parallel group has two ranks, with every slot as `method`.
plan::Plan tensor_plan(plan::TensorMethod method) {
  plan::Plan plan = plan_of();
  plan.config.parallel.tensor_model_parallel_size = 2;
  plan.config.parallel.sequence_parallel = true;
  for (plan::TensorSlotOverlap& slot : plan.config.tensor_overlap.slots) slot.method = method;
  return plan;
}

TEST(Observed, ASlotHasTheOperationsOfItsPurposes) {
  StepOfARank step;
  step.comm(0, 100, "qkv_fprop_ring_hop", Mode::tp).compute(0, 100);
  step.comm(100, 200, "fc1_dgrad_all_gather", Mode::tp).compute(200, 300);
  const plan::Plan plan = tensor_plan(plan::TensorMethod::ring_exchange);
  const report::ObservedKnob ring = step.observed(plan, "comm_overlap.tp_comm_overlap_cfg.qkv_fprop");
  EXPECT_EQ(ring.effective, "\"ring_exchange\"");
  EXPECT_EQ(ring.status, report::ObservedStatus::observed);
  EXPECT_EQ(ring.reason, "all of it ran during compute");
  const report::ObservedKnob gather = step.observed(plan, "comm_overlap.tp_comm_overlap_cfg.fc1_dgrad");
  EXPECT_EQ(gather.status, report::ObservedStatus::not_observed);
  EXPECT_EQ(step.observed(plan, "comm_overlap.tp_comm_overlap_cfg.fc2_dgrad").status,
            report::ObservedStatus::not_in_trace);
  EXPECT_EQ(step.observed(plan, "comm_overlap.tp_comm_overlap").operations, 2);
}

// The slots that have a row although the trace shows nothing of them.
std::vector<std::string> slots_that_ask(const plan::Plan& plan) {
  StepOfARank step;
  step.compute(0, 100);
  std::vector<std::string> slots;
  for (const report::ObservedKnob& knob : step.observed(plan))
    if (knob.knob.find("tp_comm_overlap_cfg.") != std::string::npos)
      slots.push_back(knob.knob.substr(knob.knob.rfind('.') + 1));
  return slots;
}

TEST(Observed, WithoutUserbuffersOnlyTheColumnLayersBackwardAsksForOverlap) {
  plan::Plan plan = tensor_plan(plan::TensorMethod::nccl);
  EXPECT_THAT(slots_that_ask(plan), ElementsAre("qkv_dgrad", "qkv_wgrad", "fc1_dgrad", "fc1_wgrad"));
  plan.config.parallel.sequence_parallel = false;
  EXPECT_THAT(slots_that_ask(plan), ElementsAre("qkv_wgrad", "fc1_wgrad")) << "nothing is gathered";
}

TEST(Observed, TheAllReduceOfWholeActivationsIsOfTheSlotThatItRunsBeside) {
  StepOfARank step;
  step.comm(0, 100, "fc1_wgrad_all_reduce", Mode::tp).compute(0, 90).compute(100, 120);
  step.comm(120, 150, "fc2_fprop_all_reduce", Mode::tp).compute(150, 200);
  plan::Plan plan = tensor_plan(plan::TensorMethod::nccl);
  plan.config.parallel.sequence_parallel = false;
  EXPECT_EQ(step.observed(plan, "comm_overlap.tp_comm_overlap_cfg.fc1_wgrad").observed_pct, 90);
  EXPECT_THAT(step.observed(plan, "comm_overlap.tp_comm_overlap_cfg.fc2_fprop").reason, StartsWith("off; "));
}

// A plan of two tensor-parallel ranks that asks for a ring in proj_dgrad, and for what else is given.
plan::Plan plan_of_a_ring(const std::string& tp_comm_overlap, const std::string& yaml) {
  plan::Matrix matrix =
      plan::parse("model:\n  preset: tiny\n  tensor_model_parallel_size: 2\n  sequence_parallel: true\n" + yaml +
                      "comm_overlap:\n  tp_comm_overlap: " + tp_comm_overlap +
                      "\n  tp_comm_overlap_cfg:\n    proj_dgrad: {method: ring_exchange}\n",
                  "c.yaml");
  EXPECT_FALSE(matrix.has_errors()) << matrix.errors.front().message;
  return matrix.cells.front().plan;
}

TEST(Observed, ContextParallelismHasItsOwnOperationsWhereSeveralRanksShareSequences) {
  StepOfARank step;
  step.comm(0, 100, "kv_ring_hop", Mode::cp).compute(0, 100).comm(100, 140, "tp_gather", Mode::tp).compute(200, 300);
  const auto plan_of_two = [](const std::string& extensions) {
    return plan_in("model: {preset: tiny, context_parallel_size: 2}\n" + extensions);
  };
  const report::ObservedKnob knob = step.observed(plan_of_two(""), "extensions.cp_overlap");
  EXPECT_EQ(knob.effective, "true");
  EXPECT_EQ(knob.status, report::ObservedStatus::observed);
  EXPECT_EQ(knob.observed_pct, 100);
  EXPECT_THAT(step.observed(plan_of_two("extensions: {cp_overlap: false}"), "extensions.cp_overlap").reason,
              StartsWith("off; "));
  for (const report::ObservedKnob& row : StepOfARank().observed(plan_of()))
    EXPECT_NE(row.knob, "extensions.cp_overlap");
}

constexpr const char* kP2p = "comm_overlap.overlap_p2p_comm";

plan::Plan plan_of_stages(const std::string& more = "") {
  return plan_in(
      "model: {preset: tiny, pipeline_model_parallel_size: 2, virtual_pipeline_model_parallel_size: 2}\n"
      "train: {num_microbatches: 4}\n" +
      more);
}

TEST(Observed, ExchangesOfStagesAreHeldAgainstTheirKnobByTheirTransfersAlone) {
  StepOfARank step;
  step.comm(0, 500, "recv_forward", Mode::pp, 400)
      .compute(450, 600)
      .comm(700, 800, "embedding_grad_all_reduce", Mode::pp);
  const report::ObservedKnob knob = step.observed(plan_of_stages(), kP2p);
  EXPECT_EQ(knob.effective, "true");
  EXPECT_EQ(knob.comm_ns, 500'000) << "the all-reduce is none of its operations";
  EXPECT_EQ(knob.hidden_ns, 50'000);
  EXPECT_EQ(knob.observed_pct, 50)
      << "half of the 100 us from the last arrival on; the wait before it is the pipeline's";
  const report::ObservedKnob off = step.observed(plan_of_stages("comm_overlap: {overlap_p2p_comm: false}\n"), kP2p);
  EXPECT_THAT(off.reason, StartsWith("off; "));
}

TEST(Observed, ExchangesWhoseLastArrivalNobodyKnowsCountWhole) {
  StepOfARank step;
  step.comm(0, 500, "recv_forward", Mode::pp).compute(450, 600);
  EXPECT_EQ(step.observed(plan_of_stages(), kP2p).observed_pct, 10);
}

TEST(Observed, DeferredWeightGradientsHaveTheGathersOfTheirInputs) {
  StepOfARank step;
  step.comm(0, 100, "head_wgrad_all_gather", Mode::tp).comm(100, 200, "head_wgrad_reduce_scatter", Mode::tp);
  step.compute(50, 300);
  const plan::Plan plan = plan_in(
      "model: {preset: tiny, pipeline_model_parallel_size: 2, tensor_model_parallel_size: 2, "
      "sequence_parallel: true, gradient_accumulation_fusion: true}\n"
      "train: {num_microbatches: 4}\n"
      "comm_overlap: {defer_embedding_wgrad_compute: true, wgrad_deferral_limit: 0}\n");
  const report::ObservedKnob knob = step.observed(plan, "comm_overlap.defer_embedding_wgrad_compute");
  EXPECT_EQ(knob.effective, "true");
  EXPECT_EQ(knob.operations, 1);
  EXPECT_EQ(knob.observed_pct, 50);
}

TEST(Observed, AGatedSlotHasARowWithItsGate) {
  StepOfARank step;
  step.compute(0, 100);
  const plan::Plan plan = plan_of_a_ring("true", "  tp_comm_overlap_ag: false\n");
  const report::ObservedKnob knob = step.observed(plan, "comm_overlap.tp_comm_overlap_cfg.proj_dgrad");
  EXPECT_THAT(knob.requested, HasSubstr("ring_exchange"));
  EXPECT_EQ(knob.effective, "\"nccl\"");
  EXPECT_EQ(knob.status, report::ObservedStatus::not_in_trace);
  EXPECT_THAT(knob.reason, AllOf(StartsWith("switched off, "), HasSubstr("tp_comm_overlap_ag is false, "),
                                 HasSubstr("none of its operations is in the trace")));
}

TEST(Observed, ASlotThatTheMainSwitchOverrulesHasARowToo) {
  StepOfARank step;
  step.compute(0, 100);
  const plan::Plan plan = plan_of_a_ring("false", "");
  EXPECT_THAT(step.observed(plan, "comm_overlap.tp_comm_overlap_cfg.proj_dgrad").reason,
              StartsWith("switched off, tp_comm_overlap is false; "));
}

TEST(Observed, ASlotThatAGateChangesAndDoesNotSwitchOffSaysSo) {
  StepOfARank step;
  step.comm(0, 100, "qkv_dgrad_all_gather", Mode::tp).compute(0, 100);
  const std::string name = "comm_overlap.tp_comm_overlap_cfg.qkv_dgrad";
  plan::Plan plan = tensor_plan(plan::TensorMethod::bulk);
  plan.knobs.push_back({name, R"({"method":"pipeline"})", R"({"method":"bulk"})", "gate", "pipeline needs a switch"});
  EXPECT_EQ(step.observed(plan, name).reason, "changed, pipeline needs a switch; all of it ran during compute");
}

class CellOfATrace : public ::testing::Test {
 protected:
  std::string chosen(const std::optional<std::string>& wanted = {}) {
    return cell_of_trace(matrix_, trace_, wanted).name;
  }
  std::string complaint(const std::optional<std::string>& wanted = {}) {
    return thrown_by<std::invalid_argument>([&] { chosen(wanted); });
  }
  plan::Matrix matrix_ = matrix_of("matrix: {comm_overlap.overlap_grad_reduce: [false, true]}\n");
  Trace trace_;
};

TEST_F(CellOfATrace, IsTheOneThatTheTraceNames) {
  trace_.metadata["cell"] = matrix_.cells[1].name;
  EXPECT_EQ(chosen(), matrix_.cells[1].name);
  EXPECT_EQ(chosen(matrix_.cells[0].name), matrix_.cells[0].name);
}

TEST_F(CellOfATrace, ThatIsNotTheOneNamedSaysSo) {
  EXPECT_EQ(other_cell_text(matrix_.cells[0], trace_), "") << "the trace does not say";
  trace_.metadata["cell"] = matrix_.cells[1].name;
  EXPECT_EQ(other_cell_text(matrix_.cells[1], trace_), "");
  EXPECT_THAT(other_cell_text(matrix_.cells[0], trace_),
              AllOf(HasSubstr("the trace is from cell \"" + matrix_.cells[1].name + "\""),
                    HasSubstr("compared with cell \"" + matrix_.cells[0].name + "\"")));
}

TEST_F(CellOfATrace, IsAskedForWithTheNamesWhereItCannotBeKnown) {
  EXPECT_THAT(complaint(), AllOf(HasSubstr("choose one with --cell: "), HasSubstr(matrix_.cells[0].name),
                                 HasSubstr(matrix_.cells[1].name)));
  EXPECT_THAT(complaint("nonsense"), HasSubstr("--cell is \"nonsense\", which the configuration does not have"));
  trace_.metadata["cell"] = "other";
  EXPECT_THAT(complaint(), HasSubstr("the trace is from cell \"other\""));
}

TEST_F(CellOfATrace, IsTheOnlyOne) {
  matrix_.cells.resize(1);
  EXPECT_EQ(chosen(), matrix_.cells[0].name);
  EXPECT_THAT(complaint("nonsense"), HasSubstr("nonsense"));
}

}  // namespace
}  // namespace underlap::bench
