// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <tuple>

#include "tests/impl/plan/plan_testing.hpp"

namespace underlap::plan {
namespace {

std::string run_with(const std::string& run, const std::string& rest = "") {
  return "model: {preset: tiny}\nrun: {" + run + "}\n" + rest;
}

TEST(RunRules, VirtualTimeTakesTheHardwareFileOfTheArchitecture) {
  for (const auto& [arch, file] : {std::pair<std::string, std::string>("a100", "a100-sxm"),
                                   {"h100", "h100-sxm"},
                                   {"h200", "h200-sxm"},
                                   {"b200", "b200"},
                                   {"gb200", "gb200"}}) {
    const Plan plan = plan_of(run_with("backend: sim", "environment: {gpu_arch: " + arch + "}"));
    EXPECT_EQ(plan.config.run.hardware, file);
    EXPECT_EQ(outcome(plan, "run.hardware"), "\"" + file + "\" auto");
  }
  const std::string gb300 = "environment: {gpu_arch: gb300}";
  expect_refused(
      {{run_with("backend: sim", gb300), "f:3:15: no hardware file is included for environment.gpu_arch gb300"}});
  plan_of(run_with("backend: sim, hardware: mine.yaml", gb300));
  plan_of(run_with("backend: host", gb300));
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
  const RunConfig defaults = plan_of(run_with("backend: sim")).config.run;
  EXPECT_EQ(defaults.gpus_per_node, std::nullopt);
  EXPECT_FALSE(defaults.numerics);
  EXPECT_EQ(defaults.jitter_pct, 0);
}

TEST(RunRules, RanksFoldUnlessValuesOrJitterMakeThemDiffer) {
  for (const auto& [run, is_folded] : {std::pair("backend: sim", true),
                                       {"backend: sim, fold: false", false},
                                       {"backend: sim, numerics: true", false},
                                       {"backend: sim, jitter_pct: 1, fold: true", false}})
    EXPECT_EQ(plan_of(run_with(run)).config.run.fold, is_folded) << run;
  const Plan numerics = plan_of(run_with("backend: sim, numerics: true"));
  EXPECT_EQ(outcome(numerics, "run.fold"), "false auto");
  EXPECT_EQ(knob_of(numerics, "run.fold").reason, "run.numerics needs the values of every rank");
  const Plan jittered = plan_of(run_with("backend: sim, jitter_pct: 1, fold: true"));
  EXPECT_EQ(outcome(jittered, "run.fold"), "false gate");
  EXPECT_THAT(knob_of(jittered, "run.fold").reason, HasSubstr("run.jitter_pct"));
}

TEST(RunRules, StepsBlocksAndWarmUpFollowTheBackendUnlessWritten) {
  for (const auto& [run, steps, blocks, warmup] : {std::tuple("backend: sim", 1, 1, 0),
                                                   {"backend: sim, warmup: 0", 1, 1, 0},
                                                   {"backend: host", 8, 5, 2},
                                                   {"steps: 3, blocks: 4, warmup: 6, backend: host", 3, 4, 6},
                                                   {"steps: 3, blocks: 4, warmup: 6, backend: sim", 3, 4, 6}}) {
    const RunConfig config = plan_of(run_with(run)).config.run;
    EXPECT_EQ(std::tuple(config.steps, config.blocks, config.warmup), std::tuple(steps, blocks, warmup)) << run;
  }
  const Plan plan = plan_of(run_with("backend: sim"));
  for (const char* path : {"run.steps", "run.blocks"}) {
    EXPECT_EQ(outcome(plan, path), "1 auto");
    EXPECT_EQ(knob_of(plan, path).reason, "simulation is deterministic");
  }
  expect_outcomes({{run_with("backend: sim"), "run.warmup", "0 auto"},
                   {run_with("steps: 3, backend: host"), "run.steps", "3 user"},
                   {run_with("steps: 3, backend: sim"), "run.steps", "3 user"}});
  EXPECT_THAT(knob_of(plan_of(run_with("backend: sim, jitter_pct: 1")), "run.steps").reason,
              HasSubstr("except for run.jitter_pct"));
  expect_refused(
      {{run_with("backend: host, warmup: 0"), "run.warmup is 0, must be a whole number from 1 with backend host"}});
}

TEST(RunRules, TracesSayWhichAreKept) {
  using Which = KeptTraces::Which;
  for (const auto& [run, which] : {std::pair("steps: 1", Which::all),
                                   {"traces: none", Which::none},
                                   {"traces: worst", Which::worst},
                                   {"traces: 'sample:3'", Which::sample}})
    EXPECT_EQ(plan_of(run_with(run)).config.run.kept_traces.which, which) << run;
  EXPECT_EQ(plan_of(run_with("traces: 'sample:3'")).config.run.kept_traces.num_ranks, 3);
  expect_refused(
      {{run_with("traces: worst, trace: false"), "run.traces is worst, but run.trace is false: nothing is recorded"}});
}

struct UnusedField {
  std::string field, value, backend;
};

TEST(RunRules, AFieldOfAnotherBackendIsANoticeInAFileAndRefusedAsAFlag) {
  const std::vector<UnusedField> cases = {
      {"hardware", "h100-sxm", "host"}, {"hardware", "h100-sxm", "cuda"}, {"gpus_per_node", "8", "host"},
      {"numerics", "true", "host"},     {"jitter_pct", "2", "host"},      {"fold", "true", "host"},
      {"link", "real", "host"},         {"link", "real", "sim"},          {"link_gbps", "4", "sim"},
      {"link_gbps", "4", "cuda"},       {"link_latency_us", "0", "sim"},  {"peer_timeout_s", "3", "sim"},
      {"rank_processes", "true", "sim"}};
  for (const auto& [field, value, backend] : cases) {
    SCOPED_TRACE(field + " with " + backend);
    const Plan plan = plan_of(run_with(field + ": " + value + ", backend: " + backend));
    EXPECT_THAT(lines_of(plan.notices),
                Contains(HasSubstr("run." + field + " has no effect: run.backend is " + backend)));
    EXPECT_THAT(plan.not_run, IsEmpty());
    EXPECT_THAT(
        error_lines(parse(run_with("backend: " + backend), "f", {{"run." + field, value}})),
        ElementsAre(AllOf(StartsWith("--"), HasSubstr(": run." + field + " has no effect: run.backend is " + backend),
                          HasSubstr("leave it out, or add --backend "))));
  }
}

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
  EXPECT_TRUE(plan_of(run_with("backend: cuda")).config.run.rank_processes);
  expect_outcomes({{run_with("backend: cuda"), "run.rank_processes", "true auto"},
                   {run_with("backend: cuda, rank_processes: true"), "run.rank_processes", "true user"}});
  expect_refused({{run_with("backend: cuda, rank_processes: false"), "run.rank_processes is false, but backend cuda"}});
}

TEST(RunRules, AnEmulatedLinkIsForBackendCuda) {
  const std::string link = "link: 'emulated:450GB/s,sms=16'";
  const Plan plan = plan_of(run_with("backend: cuda, " + link, "data_parallel_size: 8"));
  ASSERT_TRUE(plan.config.run.emulated_link.has_value());
  EXPECT_EQ(plan.config.run.emulated_link->sms, 16);
  EXPECT_EQ(outcome(plan, "run.link"), "\"emulated:450GB/s,sms=16\" user");
  EXPECT_THAT(
      lines_of(plan.notices),
      ElementsAre(
          HasSubstr("not checked: with an emulated link"), HasSubstr("not emulated"),
          HasSubstr(
              "16 SMs move about 304 GB/s in an all-gather, as measured on an H200, not 450; this rate needs sms=24")));
  EXPECT_THAT(notices_of(run_with("backend: cuda, link: 'emulated:300GB/s,sms=16'", "data_parallel_size: 8")),
              Each(Not(HasSubstr("SMs move"))));
  const std::string stages = "model: {preset: tiny, pipeline_model_parallel_size: 2}\n";
  expect_refused({{run_with(link + ", backend: host"), "f:2:7: an emulated link needs run.backend cuda"},
                  {run_with(link + ", backend: sim"), "f:2:7: an emulated link needs run.backend cuda"},
                  {stages + "run: {backend: cuda, " + link + "}",
                   "f:2:22: an emulated link represents one rank of a symmetric group, but "
                   "model.pipeline_model_parallel_size is 2"}});
  for (const char* real : {"", ", link: null", ", link: real"})
    EXPECT_EQ(plan_of(run_with(std::string("backend: cuda") + real)).config.run.emulated_link, std::nullopt);
}

std::string rings_on_cuda(int tp, const std::string& transport, const std::string& run = "") {
  return "model: {preset: tiny, num_attention_heads: 16, num_query_groups: 16, tensor_model_parallel_size: " +
         std::to_string(tp) + ", sequence_parallel: true}\nrun: {backend: cuda" + run + "}\n" +
         (transport.empty() ? "" : "extensions: {tp_ring_transport: " + transport + "}\n");
}

TEST(RunRules, RingsOnCudaAreNcclsUnlessCopyEnginesAreAskedFor) {
  for (const auto& [asked, transport, source] :
       {std::tuple("", "nccl", "auto"), {"copy_engine", "copy_engine", "user"}}) {
    const Plan plan = plan_of(rings_on_cuda(2, asked));
    EXPECT_EQ(outcome(plan, "extensions.tp_ring_transport"), fmt::format("\"{}\" {}", transport, source));
    EXPECT_EQ(plan.config.extensions.tp_ring_transport, transport);
    EXPECT_THAT(plan.not_run, IsEmpty());
  }
}

TEST(RunRules, PeerCopiesNeedPeersInOneNode) {
  const std::string link = ", link: 'emulated:450GB/s,sms=16'";
  EXPECT_THAT(lines_of(plan_of(rings_on_cuda(2, "copy_engine", link)).not_run),
              Only("f:3:14: extensions.tp_ring_transport is copy_engine: peer copies need peers"));
  EXPECT_THAT(plan_of(rings_on_cuda(2, "nccl", link)).not_run, IsEmpty());
  expect_refused({{rings_on_cuda(16, "copy_engine"),
                   "f:3:14: extensions.tp_ring_transport is copy_engine, but model.tensor_model_parallel_size is 16"}});
  EXPECT_THAT(errors_of(rings_on_cuda(16, "nccl")), IsEmpty());
}

TEST(RunRules, UserBuffersAreNcclsAndDoNothingElsewhere) {
  const auto with = [](const std::string& ddp, const std::string& run) {
    return run_with(run, "data_parallel_size: 2\nddp: {" + ddp + "}\n");
  };
  const Plan on_cuda = plan_of(with("nccl_ub: true", "backend: cuda"));
  EXPECT_EQ(outcome(on_cuda, "ddp.nccl_ub"), "true user");
  EXPECT_TRUE(on_cuda.config.ddp.nccl_ub);
  EXPECT_FALSE(on_cuda.config.ddp.disable_symmetric_registration);
  EXPECT_THAT(on_cuda.not_run, IsEmpty());
  EXPECT_THAT(on_cuda.notices, IsEmpty());
  EXPECT_FALSE(plan_of(with("", "backend: cuda")).config.ddp.nccl_ub) << "opt-in, as in Megatron Core";
  EXPECT_TRUE(plan_of(with("nccl_ub: true, disable_symmetric_registration: true", "backend: cuda"))
                  .config.ddp.disable_symmetric_registration);
  expect_noticed(
      {{with("nccl_ub: true", "backend: host"), "ddp.nccl_ub has no effect: run.backend is host"},
       {with("disable_symmetric_registration: true", "backend: cuda"), "has no effect: ddp.nccl_ub is false"}});
  EXPECT_THAT(notices_of(with("nccl_ub: true", "backend: cuda, link: 'emulated:450GB/s,sms=16'")),
              Contains(HasSubstr("ddp.nccl_ub has no effect: run.link emulates a link")));
}

TEST(RunRules, CudaAndSimRun) {
  for (const char* backend : {"backend: cuda", "backend: sim"})
    EXPECT_THAT(plan_of(run_with(backend)).not_run, IsEmpty()) << backend;
}

TEST(RunRules, OneOrderOfSumsIsForGpus) {
  const auto notices = [](const std::string& backend, const std::string& model = "", const std::string& rest = "") {
    return notices_of("model: {preset: tiny, deterministic_mode: true" + model + "}\nrun: {backend: " + backend +
                      "}\n" + rest);
  };
  const std::string no_effect = "model.deterministic_mode has no effect: run.backend is ";
  EXPECT_THAT(notices("host"), Contains(HasSubstr(no_effect + "host, which always adds in the same order")));
  EXPECT_THAT(notices("sim"), Contains(HasSubstr(no_effect + "sim, which models one duration")));
  EXPECT_THAT(notices("cuda"), IsEmpty());
  EXPECT_THAT(notices("cuda", ", tensor_model_parallel_size: 2, sequence_parallel: true",
                      "comm_overlap: {tp_comm_overlap: true}\n"),
              Contains(HasSubstr("comm_overlap.tp_comm_overlap is unchanged")));
}

}  // namespace
}  // namespace underlap::plan
