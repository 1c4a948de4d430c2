// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string run_with(const std::string& run, const std::string& rest = "") {
  return "model: {preset: tiny}\nrun: {" + run + "}\n" + rest;
}

struct Hardware {
  std::string arch;
  std::string expected;
};

class SimHardware : public testing::TestWithParam<Hardware> {};

TEST_P(SimHardware, IsTheFileForTheArchitecture) {
  const Plan plan = plan_of(run_with("backend: sim", "environment: {gpu_arch: " + GetParam().arch + "}"));
  EXPECT_EQ(plan.config.run.hardware, GetParam().expected);
  EXPECT_EQ(outcome(plan, "run.hardware"), "\"" + GetParam().expected + "\" auto");
}

INSTANTIATE_TEST_SUITE_P(RunRules, SimHardware,
                         testing::Values(Hardware{"a100", "a100-sxm"}, Hardware{"h100", "h100-sxm"},
                                         Hardware{"h200", "h200-sxm"}, Hardware{"b200", "b200"},
                                         Hardware{"gb200", "gb200"}));

TEST(RunRules, AnArchitectureWithoutHardwareFileNeedsOneNamed) {
  EXPECT_THAT(errors_of(run_with("backend: sim", "environment: {gpu_arch: gb300}")),
              ElementsAre(HasSubstr("f:3:15: no hardware file ships for environment.gpu_arch gb300")));
  plan_of(run_with("backend: sim, hardware: mine.yaml", "environment: {gpu_arch: gb300}"));
  plan_of(run_with("backend: host", "environment: {gpu_arch: gb300}"));
}

TEST(RunRules, AnyOtherHardwareIsANameOrAPathThatThePlanDoesNotOpen) {
  const Plan plan =
      plan_of(run_with("backend: sim, hardware: no/such/file.yaml, gpus_per_node: 4, numerics: true, "
                       "jitter_pct: 2.5"));
  EXPECT_EQ(plan.config.run.hardware, "no/such/file.yaml");
  EXPECT_EQ(outcome(plan, "run.hardware"), "\"no/such/file.yaml\" user");
  EXPECT_EQ(plan.config.run.gpus_per_node, 4);
  EXPECT_TRUE(plan.config.run.numerics);
  EXPECT_EQ(plan.config.run.jitter_pct, 2.5);
  EXPECT_THAT(plan.notices, IsEmpty());
}

TEST(RunRules, SimsOwnKeysDefaultToTheFileAndToDurationsAlone) {
  const RunConfig run = plan_of(run_with("backend: sim")).config.run;
  EXPECT_EQ(run.gpus_per_node, std::nullopt);
  EXPECT_FALSE(run.numerics);
  EXPECT_EQ(run.jitter_pct, 0);
}

TEST(RunRules, RanksFoldUnlessValuesOrJitterMakeThemDiffer) {
  EXPECT_TRUE(plan_of(run_with("backend: sim")).config.run.fold);
  EXPECT_FALSE(plan_of(run_with("backend: sim, fold: false")).config.run.fold);
  const Plan numerics = plan_of(run_with("backend: sim, numerics: true"));
  EXPECT_FALSE(numerics.config.run.fold);
  EXPECT_EQ(outcome(numerics, "run.fold"), "false auto");
  EXPECT_EQ(knob_of(numerics, "run.fold").reason, "run.numerics needs the values of every rank");
  const Plan jittered = plan_of(run_with("backend: sim, jitter_pct: 1, fold: true"));
  EXPECT_FALSE(jittered.config.run.fold);
  EXPECT_EQ(outcome(jittered, "run.fold"), "false gate");
  EXPECT_THAT(knob_of(jittered, "run.fold").reason, HasSubstr("run.jitter_pct"));
}

TEST(RunRules, OneStepOfVirtualTimeIsEnough) {
  const Plan plan = plan_of(run_with("backend: sim"));
  for (const char* path : {"run.steps", "run.blocks"}) {
    EXPECT_EQ(outcome(plan, path), "1 auto");
    EXPECT_EQ(knob_of(plan, path).reason, "virtual time repeats itself");
  }
  EXPECT_EQ(outcome(plan, "run.warmup"), "0 auto");
  EXPECT_EQ(plan.config.run.steps, 1);
  EXPECT_EQ(plan.config.run.blocks, 1);
  EXPECT_EQ(plan.config.run.warmup, 0);
  EXPECT_THAT(knob_of(plan_of(run_with("backend: sim, jitter_pct: 1")), "run.steps").reason,
              HasSubstr("but for run.jitter_pct"));
}

TEST(RunRules, WrittenCountsHoldOnEveryBackend) {
  for (const char* backend : {"host", "sim"}) {
    const Plan plan = plan_of(run_with(std::string("steps: 3, blocks: 4, warmup: 6, backend: ") + backend));
    EXPECT_EQ(outcome(plan, "run.steps"), "3 user");
    EXPECT_EQ(plan.config.run.steps, 3);
    EXPECT_EQ(plan.config.run.blocks, 4);
    EXPECT_EQ(plan.config.run.warmup, 6);
  }
}

TEST(RunRules, TracesSayWhichAreKept) {
  using Which = KeptTraces::Which;
  const auto kept = [](const std::string& traces) { return plan_of(run_with(traces)).config.run.kept_traces; };
  EXPECT_EQ(kept("steps: 1").which, Which::all);
  EXPECT_EQ(kept("traces: none").which, Which::none);
  EXPECT_EQ(kept("traces: worst").which, Which::worst);
  EXPECT_EQ(kept("traces: 'sample:3'").which, Which::sample);
  EXPECT_EQ(kept("traces: 'sample:3'").num_ranks, 3);
  EXPECT_THAT(errors_of(run_with("traces: worst, trace: false")),
              ElementsAre(HasSubstr("run.traces is worst, but run.trace is false: nothing is recorded")));
}

TEST(RunRules, NothingButVirtualTimeGoesWithoutAWarmUp) {
  EXPECT_EQ(plan_of(run_with("backend: sim, warmup: 0")).config.run.warmup, 0);
  EXPECT_THAT(errors_of(run_with("backend: host, warmup: 0")),
              ElementsAre(HasSubstr("run.warmup is 0, must be a whole number from 1 with backend host")));
}

TEST(RunRules, HostKeepsItsCounts) {
  const RunConfig run = plan_of(run_with("backend: host")).config.run;
  EXPECT_EQ(run.steps, 8);
  EXPECT_EQ(run.blocks, 5);
  EXPECT_EQ(run.warmup, 2);
}

TEST(RunRules, KeysOfSimAreANoticeOnOtherBackends) {
  const Plan plan = plan_of(run_with("hardware: h100-sxm, gpus_per_node: 8, numerics: false, jitter_pct: 0"));
  ASSERT_EQ(plan.notices.size(), 4U);
  for (const Message& notice : plan.notices)
    EXPECT_THAT(notice.message, HasSubstr("no effect: run.backend is host, and it is for sim"));
  EXPECT_THAT(plan.not_run, IsEmpty());
}

struct UnusedField {
  std::string field, value, backend;
};

void PrintTo(const UnusedField& unused, std::ostream* out) { *out << unused.field << " with " << unused.backend; }

class UnusedFields : public testing::TestWithParam<UnusedField> {};

TEST_P(UnusedFields, AreANoticeInAFileAndRefusedAsAFlag) {
  const auto& [field, value, backend] = GetParam();
  const std::string told = "run." + field + " has no effect: run.backend is " + backend;
  std::vector<std::string> notices;
  for (const Message& notice : plan_of(run_with(field + ": " + value + ", backend: " + backend)).notices)
    notices.push_back(notice.message);
  EXPECT_THAT(notices, Contains(HasSubstr(told)));
  EXPECT_THAT(error_lines(parse(run_with("backend: " + backend), "f", {{"run." + field, value}})),
              ElementsAre(testing::AllOf(testing::StartsWith("--"),
                                         HasSubstr(": run." + field + " does nothing: run.backend is " + backend),
                                         HasSubstr("leave it out, or add --backend "))));
}

INSTANTIATE_TEST_SUITE_P(
    RunRules, UnusedFields,
    testing::Values(UnusedField{"hardware", "h100-sxm", "host"}, UnusedField{"hardware", "h100-sxm", "cuda"},
                    UnusedField{"gpus_per_node", "8", "host"}, UnusedField{"numerics", "true", "host"},
                    UnusedField{"jitter_pct", "2", "host"}, UnusedField{"fold", "true", "host"},
                    UnusedField{"link", "real", "host"}, UnusedField{"link", "real", "sim"},
                    UnusedField{"link_gbps", "4", "sim"}, UnusedField{"link_gbps", "4", "cuda"},
                    UnusedField{"link_latency_us", "0", "sim"}, UnusedField{"peer_timeout_s", "3", "sim"},
                    UnusedField{"rank_processes", "true", "sim"}));

TEST(RunRules, KnobsSayWhichBackendsUseThem) {
  std::map<std::string, std::vector<std::string>> backends;
  for (const KnobInfo& knob : known_knobs()) backends[knob.name] = knob.backends;
  EXPECT_THAT(backends.at("run.hardware"), ElementsAre("sim"));
  EXPECT_THAT(backends.at("run.peer_timeout_s"), ElementsAre("host", "cuda"));
  EXPECT_THAT(backends.at("run.steps"), IsEmpty());
}

TEST(RunRules, RanksAreProcessesWithCudaAndOnRequest) {
  EXPECT_FALSE(plan_of(run_with("backend: host")).config.run.rank_processes);
  EXPECT_TRUE(plan_of(run_with("rank_processes: true")).config.run.rank_processes);
  const Plan cuda = plan_of(run_with("backend: cuda"));
  EXPECT_TRUE(cuda.config.run.rank_processes);
  EXPECT_EQ(outcome(cuda, "run.rank_processes"), "true auto");
  EXPECT_EQ(outcome(plan_of(run_with("backend: cuda, rank_processes: true")), "run.rank_processes"), "true user");
  EXPECT_THAT(errors_of(run_with("backend: cuda, rank_processes: false")),
              ElementsAre(HasSubstr("run.rank_processes is false, but with backend cuda")));
  const Plan sim = plan_of(run_with("backend: sim, rank_processes: true"));
  ASSERT_EQ(sim.notices.size(), 1U);
  EXPECT_THAT(sim.notices[0].message, HasSubstr("run.rank_processes has no effect: run.backend is sim"));
}

TEST(RunRules, CudaRuns) { EXPECT_THAT(plan_of(run_with("backend: cuda")).not_run, IsEmpty()); }

TEST(RunRules, AnEmulatedLinkIsForBackendCuda) {
  const Plan plan = plan_of(run_with("backend: cuda, link: 'emulated:450GB/s,sms=16'", "data_parallel_size: 8"));
  ASSERT_TRUE(plan.config.run.emulated_link.has_value());
  EXPECT_EQ(plan.config.run.emulated_link->sms, 16);
  EXPECT_EQ(outcome(plan, "run.link"), "\"emulated:450GB/s,sms=16\" user");
  EXPECT_THAT(plan.notices.at(0).message, HasSubstr("not checked: emulated link"));
  EXPECT_THAT(plan.notices.at(1).message, HasSubstr("not emulated"));
  EXPECT_THAT(plan.notices.at(2).message, HasSubstr("16 multiprocessors move about 304 GB/s in an all-gather, as "
                                                    "measured on an H200, and not 450; sms=24 would"));
  const Plan enough = plan_of(run_with("backend: cuda, link: 'emulated:300GB/s,sms=16'", "data_parallel_size: 8"));
  for (const auto& notice : enough.notices)
    EXPECT_THAT(notice.message, testing::Not(HasSubstr("multiprocessors move")));
  for (const char* backend : {"host", "sim"})
    EXPECT_THAT(errors_of(run_with(std::string("link: 'emulated:450GB/s,sms=16', backend: ") + backend)),
                ElementsAre(HasSubstr("f:2:7: an emulated link needs run.backend cuda")));
}

TEST(RunRules, ARealLinkIsNoEmulatedOne) {
  for (const char* link : {"", ", link: null", ", link: real"})
    EXPECT_EQ(plan_of(run_with(std::string("backend: cuda") + link)).config.run.emulated_link, std::nullopt);
}

TEST(RunRules, StagesOfAPipelineHaveNoEmulatedLink) {
  EXPECT_THAT(errors_of("model: {preset: tiny, pipeline_model_parallel_size: 2}\n"
                        "run: {backend: cuda, link: 'emulated:450GB/s,sms=16'}"),
              ElementsAre(HasSubstr("f:2:22: an emulated link stands for a rank of a symmetric group, and "
                                    "model.pipeline_model_parallel_size is 2")));
}

std::string rings_on_cuda(int tp, const std::string& transport, const std::string& run = "") {
  return "model: {preset: tiny, num_attention_heads: 16, num_query_groups: 16, tensor_model_parallel_size: " +
         std::to_string(tp) + ", sequence_parallel: true}\nrun: {backend: cuda" + run + "}\n" +
         (transport.empty() ? "" : "extensions: {tp_ring_transport: " + transport + "}\n");
}

TEST(RunRules, RingsOnCudaAreNcclsUnlessCopyEnginesAreAskedFor) {
  const Plan by_itself = plan_of(rings_on_cuda(2, ""));
  EXPECT_EQ(outcome(by_itself, "extensions.tp_ring_transport"), "\"nccl\" auto");
  EXPECT_EQ(by_itself.config.extensions.tp_ring_transport, "nccl");
  const Plan asked = plan_of(rings_on_cuda(2, "copy_engine"));
  EXPECT_EQ(outcome(asked, "extensions.tp_ring_transport"), "\"copy_engine\" user");
  EXPECT_EQ(asked.config.extensions.tp_ring_transport, "copy_engine");
  EXPECT_THAT(asked.not_run, IsEmpty());
}

TEST(RunRules, PeerCopiesNeedPeersInOneNode) {
  const Plan alone = plan_of(rings_on_cuda(2, "copy_engine", ", link: 'emulated:450GB/s,sms=16'"));
  ASSERT_EQ(alone.not_run.size(), 1U);
  EXPECT_EQ(alone.not_run[0].where, "f:3:14");
  EXPECT_THAT(alone.not_run[0].message, HasSubstr("peer copies need peers"));
  EXPECT_THAT(plan_of(rings_on_cuda(2, "nccl", ", link: 'emulated:450GB/s,sms=16'")).not_run, IsEmpty());
  EXPECT_THAT(errors_of(rings_on_cuda(16, "copy_engine")),
              ElementsAre(HasSubstr("f:3:14: extensions.tp_ring_transport is copy_engine, and "
                                    "model.tensor_model_parallel_size is 16")));
  EXPECT_THAT(errors_of(rings_on_cuda(16, "nccl")), IsEmpty());
}

TEST(RunRules, UserBuffersAreNcclsAndDoNothingElsewhere) {
  const auto with = [](const std::string& ddp, const std::string& run) {
    return run_with(run, "data_parallel_size: 2\nddp: {" + ddp + "}\n");
  };
  const auto texts = [](const Plan& plan) {
    std::vector<std::string> found;
    for (const Message& notice : plan.notices) found.push_back(notice.message);
    return found;
  };
  const Plan on_cuda = plan_of(with("nccl_ub: true", "backend: cuda"));
  EXPECT_EQ(outcome(on_cuda, "ddp.nccl_ub"), "true user");
  EXPECT_TRUE(on_cuda.config.ddp.nccl_ub);
  EXPECT_FALSE(on_cuda.config.ddp.disable_symmetric_registration);
  EXPECT_THAT(on_cuda.not_run, IsEmpty());
  EXPECT_THAT(texts(on_cuda), IsEmpty());
  EXPECT_FALSE(plan_of(with("", "backend: cuda")).config.ddp.nccl_ub) << "opt-in, as in Megatron Core";
  EXPECT_TRUE(plan_of(with("nccl_ub: true, disable_symmetric_registration: true", "backend: cuda"))
                  .config.ddp.disable_symmetric_registration);
  EXPECT_THAT(texts(plan_of(with("nccl_ub: true", "backend: host"))),
              ElementsAre(HasSubstr("ddp.nccl_ub has no effect: run.backend is host")));
  EXPECT_THAT(texts(plan_of(with("nccl_ub: true", "backend: cuda, link: 'emulated:450GB/s,sms=16'"))),
              Contains(HasSubstr("ddp.nccl_ub has no effect: run.link emulates a link")));
  EXPECT_THAT(texts(plan_of(with("disable_symmetric_registration: true", "backend: cuda"))),
              ElementsAre(HasSubstr("has no effect: ddp.nccl_ub is false")));
}

TEST(RunRules, SimRuns) { EXPECT_THAT(plan_of(run_with("backend: sim")).not_run, IsEmpty()); }

TEST(RunRules, OneOrderOfSumsIsForGpus) {
  const auto notices_of = [](const std::string& backend) {
    std::vector<std::string> texts;
    for (const Message& notice :
         plan_of("model: {preset: tiny, deterministic_mode: true}\nrun: {backend: " + backend + "}\n").notices)
      texts.push_back(notice.message);
    return texts;
  };
  constexpr const char* kNoEffect = "model.deterministic_mode has no effect: run.backend is ";
  EXPECT_THAT(notices_of("host"), Contains(HasSubstr(kNoEffect + std::string("host, which adds in one order"))));
  EXPECT_THAT(notices_of("sim"), Contains(HasSubstr(kNoEffect + std::string("sim, which has one time"))));
  EXPECT_THAT(notices_of("cuda"), IsEmpty());
  const Plan beside_tensor_overlap = plan_of(
      "model: {preset: tiny, deterministic_mode: true, tensor_model_parallel_size: 2, sequence_parallel: true}\n"
      "comm_overlap: {tp_comm_overlap: true}\nrun: {backend: cuda}\n");
  std::vector<std::string> texts;
  for (const Message& notice : beside_tensor_overlap.notices) texts.push_back(notice.message);
  EXPECT_THAT(texts, Contains(HasSubstr("comm_overlap.tp_comm_overlap stays as it is")));
}

}  // namespace
}  // namespace underlap::plan
