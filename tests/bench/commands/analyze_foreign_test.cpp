// SPDX-License-Identifier: Apache-2.0
// Traces that other tools wrote: which files are the ranks of one job, and what is said of their steps.
#include <fmt/format.h>

#include <initializer_list>

#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

/// What a trace of PyTorch's profiler says of itself; -1: not.
struct Foreign {
  int rank = -1;
  int world_size = -1;
  std::int64_t begin_us = 1'700'000'000'000'000;
  std::int64_t step_us = 1000;  ///< from one step to the next
};

// Three steps of 1000 us: 600 of GEMM, beside them and after them 400 of all-reduce, of which 200 are exposed.
std::string kineto(const Foreign& about) {
  std::string distributed;
  if (about.rank >= 0) distributed += fmt::format("\"rank\":{},", about.rank);
  if (about.world_size > 0) distributed += fmt::format("\"world_size\":{},", about.world_size);
  std::string text = fmt::format(
      "{{\"schemaVersion\":1,\"distributedInfo\":{{{}\"backend\":\"nccl\"}},\n\"deviceProperties\":[{{"
      "\"id\":0,\"name\":\"{}\"}}],\n\"traceEvents\":[\n",
      distributed, "NVIDIA H100 80GB HBM3");
  const std::string collective =
      ",\"Collective name\":\"allreduce\",\"Process Group Name\":\"3\",\"Process Group Description\":"
      "\"DATA_PARALLEL_GROUP\",\"Process Group Ranks\":\"[0, 1]\",\"Group size\":2,\"dtype\":\"Float\","
      "\"In msg nelems\":1000,\"Out msg nelems\":1000";
  const auto add = [&](std::string_view category, std::string_view name, int pid, int tid, std::int64_t begin_us,
                       std::int64_t length_us, int correlation) {
    text += fmt::format(
        "{{\"ph\":\"X\",\"cat\":\"{}\",\"name\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"args\":{{"
        "\"correlation\":{},\"device\":0,\"stream\":{}{}}}}},\n",
        category, name, pid, tid, about.begin_us + begin_us, length_us, correlation, tid,
        name.starts_with("nccl") ? collective : "");
  };
  for (int step = 0; step < 3; ++step) {
    const std::int64_t at = step * about.step_us;
    add("user_annotation", fmt::format("ProfilerStep#{}", step + 4), 900, 901, at, 1000, -1);
    add("cuda_runtime", "cudaLaunchKernel", 900, 901, at + 10, 5, 2 * step + 1);
    add("cuda_runtime", "cudaLaunchKernel", 900, 901, at + 20, 5, 2 * step + 2);
    add("kernel", "gemm", 0, 7, at + 200, 600, 2 * step + 1);
    add("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 0, 20, at + 600, 400,
        2 * step + 2);
  }
  text.resize(text.size() - 2);
  return text + "]}\n";
}

class AnalyzeForeign : public ::testing::Test {
 protected:
  void write(const std::string& name, const Foreign& about) { write_text(folder_ / name, kineto(about)); }
  /// A file for each of these ranks of a job.
  void write_ranks(std::initializer_list<int> ranks, int world_size) {
    for (const int rank : ranks) write(fmt::format("rank{}.json", rank), {.rank = rank, .world_size = world_size});
  }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  static Json json(const Words& traces) { return json_of(joined({"analyze"}, traces)); }
  static std::vector<int> ranks(const Json& json) {
    std::vector<int> list;
    for (const Json& rank : json["ranks"]) list.push_back(rank["rank"]);
    return list;
  }

  TemporaryFolder folder_;
};

TEST_F(AnalyzeForeign, KeepsTheWholeTraceBesideItsSteps) {
  write("t.json", {.rank = 0});
  const Json rank = json({at("t.json")})["ranks"][0];
  EXPECT_EQ(rank["span_us"], 2800);
  EXPECT_EQ(rank["exposed_us"], 600);
  EXPECT_EQ(rank["steps"]["count"], 2);  // of three: the pause before the first one's work was not recorded
  EXPECT_EQ(rank["steps"]["window_us"], 1000);
  EXPECT_EQ(rank["steps"]["exposed_us"], 200);
  EXPECT_EQ(rank["steps"]["each"][0]["step"], 5);
  EXPECT_EQ(rank["modes"]["dp"]["steps"]["exposed_us"], 200);
  EXPECT_EQ(json({at("t.json")})["steps"]["source"], "profiler_step");
}

TEST_F(AnalyzeForeign, BeginsWithTheStepAndWhatOfItIsExposed) {
  write("t.json", {.rank = 0});
  const std::string out = underlap_program({"analyze", at("t.json")}).out;
  EXPECT_THAT(out, HasSubstr("\n\nA step takes 1.000 ms (median of 2 steps).\n"));
  EXPECT_THAT(out, HasSubstr("0.200 ms (20 %) is exposed communication, all of it dp.\n"));
  EXPECT_THAT(out, HasSubstr("Steps: ProfilerStep (2), the first one cut off and excluded.\n"));
}

TEST_F(AnalyzeForeign, TakesFilesAFolderOrAPatternForTheRanksOfOneJob) {
  write_ranks({0, 2, 10}, 16);
  write_text(folder_ / "config.json", "{\"learning_rate\": 3}");
  const Json of_folder = json({at("")});
  EXPECT_EQ(ranks(of_folder), (std::vector<int>{0, 2, 10}));
  EXPECT_EQ(json({at("rank*.json")}), json({at("rank0.json"), at("rank10.json"), at("rank2.json")}));
  EXPECT_EQ(of_folder["files"][1], at("rank2.json"));
}

TEST_F(AnalyzeForeign, RanksComeFromNamesWhereTracesDoNotSayThem) {
  write("run_rank-3.json", {});
  write("run_worker11_a.json", {});
  const Json named = json({at("")});
  EXPECT_EQ(ranks(named), (std::vector<int>{3, 11}));
  EXPECT_THAT(named["source"]["ranks"], HasSubstr("taken from the file names"));
  write("other.json", {});
  const Json counted = json({at("")});
  EXPECT_EQ(ranks(counted), (std::vector<int>{0, 1, 2}));
  EXPECT_THAT(counted["source"]["ranks"], HasSubstr("numbered in file name order"));
}

TEST_F(AnalyzeForeign, ReportsANameThatContradictsItsTrace) {
  write("rank0.json", {.rank = 1, .world_size = 2});
  write("rank1.json", {.rank = 0, .world_size = 2});
  const Json swapped = json({at("rank0.json"), at("rank1.json")});
  EXPECT_EQ(ranks(swapped), (std::vector<int>{0, 1}));
  EXPECT_EQ(swapped["source"]["ranks"],
            "as recorded in the traces; " + at("rank0.json") + " has rank 1, unlike its name");
  EXPECT_THAT(underlap_program({"analyze", at("rank0.json"), at("rank1.json")}).out, HasSubstr("unlike its name"));
  write("rank1.json", {.rank = 1, .world_size = 2});
  EXPECT_EQ(json({at("rank1.json")})["source"]["ranks"], nullptr);
}

TEST_F(AnalyzeForeign, PrintsTheErrorAloneWhereNoStepCanBeDrawn) {
  write_text(
      folder_ / "t.json",
      R"({"traceEvents":[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":0,"dur":10,"args":{"stream":7}}]})");
  const Outcome outcome = underlap_program({"analyze", at("t.json"), "--timeline"});
  EXPECT_THAT(outcome, fails_with(2, "--timeline: the trace has no measured step"));
  EXPECT_EQ(outcome.out, "");
}

TEST_F(AnalyzeForeign, RefusesWhatIsNotOneJob) {
  const Foreign first{.rank = 0, .world_size = 8};
  write("a.json", first);
  const auto refusal = [&](const Foreign& other, const std::string& why) {
    write("b.json", other);
    EXPECT_THAT(underlap_program({"analyze", at("a.json"), at("b.json")}), fails_with(2, why));
  };
  refusal({.rank = 0, .world_size = 8}, "both have rank 0");
  refusal({.rank = 1, .world_size = 16}, "are from different jobs: ranks 8 and 16");
  refusal({.rank = 1, .world_size = 16}, "underlap compare A B compares two jobs");
  refusal({.rank = 8, .world_size = 8}, "has rank 8, but it is from a job of 8 ranks");
  refusal({.rank = 1, .world_size = 8, .begin_us = first.begin_us + 5'000'000, .step_us = 1020},
          "so they cannot be ranks of one job");
  write("b.json", {.rank = 1, .world_size = 8, .begin_us = first.begin_us + 2'000});
  expect_success({"analyze", at("a.json"), at("b.json")});
}

// Common collectives end exactly 5 s apart in each of three steps.
TEST_F(AnalyzeForeign, TakesRanksWhoseClocksAreFarApart) {
  const Foreign first{.rank = 0, .world_size = 2};
  write("a.json", first);
  write("b.json", {.rank = 1, .world_size = 2, .begin_us = first.begin_us + 5'000'000});
  const Json analysis = json({at("a.json"), at("b.json")});
  EXPECT_EQ(analysis["clock"]["pairs"][0]["offset_low_us"], 5e6);
  EXPECT_EQ(analysis["clock"]["pairs"][0]["offset_high_us"], 5e6);
}

TEST_F(AnalyzeForeign, PrintsTheTableThatIsAskedForAsCsv) {
  write("t.json", {.rank = 0});
  EXPECT_EQ(underlap_program({"analyze", at("t.json"), "--by", "mode", "--csv"}).out,
            "mode,count,comm_us,exposed_us,overlap_pct,exposed_wait_us,pipeline_dependency_us,exposed_transfer_us,"
            "wire_bytes\n"
            "dp,1,400,200,50,,,,4000\n"
            "unattributed,0,0,0,,0,0,0,0\n");
  EXPECT_THAT(underlap_program({"analyze", at("t.json"), "--by", "kernel", "--csv"}).out,
              HasSubstr("\ngemm,compute,1,600,60,600,600\n"));
  const Json by = json({at("t.json"), "--by", "stream,step"})["by"];
  EXPECT_EQ(by["stream"].size(), 2U);
  EXPECT_EQ(by["step"][1]["length_us"], 1000);
}

TEST_F(AnalyzeForeign, SaysOnRequestWhatElseTheTraceTells) {
  write_ranks({0, 1}, 2);
  EXPECT_THAT(underlap_program({"analyze", at(""), "--details"}).out, HasSubstr("critical path"));
  EXPECT_GT(json({at(""), "--details"}).size(), json({at("")}).size());
  EXPECT_THAT(underlap_program({"analyze", at("rank0.json"), "--timeline", "--step", "5"}).out, HasSubstr("# compute"));
}

TEST_F(AnalyzeForeign, FitsATerminalOfEightyColumnsWhateverIsAskedFor) {
  write_ranks({0, 1}, 2);
  expect_fits_a_terminal({"analyze", at(""), "--by", "mode,purpose,stream,rank,step,kernel"});
}

// What the definitions of bench/METRICS.md give on public traces, computed from their text in exact decimals.
struct RealRank {
  int rank, comm_kernels, compute_kernels;
  double comm_us, exposed_us, compute_us, overlap_pct, span_us, idle_us;
};

const std::map<std::string, std::vector<RealRank>> kRealTraces{
    {"dlrm_8gpu_v100",
     {{0, 8, 237, 5798, 5537, 1034, 4.5016, 13009, 6419},
      {1, 8, 302, 11336, 11056, 1246, 2.4700, 18749, 6428},
      {2, 8, 238, 3492, 3217, 1068, 7.8751, 11350, 7046},
      {3, 8, 307, 9774, 9450, 1240, 3.3149, 18853, 8145},
      {4, 8, 243, 6587, 6550, 1126, 0.5617, 16589, 8887},
      {5, 8, 237, 6251, 6211, 1041, 0.6399, 16392, 9121},
      {6, 8, 238, 3558, 3289, 1051, 7.5604, 11410, 7051},
      {7, 8, 238, 1746, 1580, 1059, 9.5074, 10967, 8308}}},
    // Added up in double precision, whose steps are a nanosecond at these times, the fourth decimals come out
    // otherwise.
    {"ddp_2gpu_a100", {{0, 21, 2679, 46876.493, 39559.468, 115655.847, 15.6092, 660551.005, 503050.991}}},
    {"pair_a100_v100/control.json.gz", {{3, 60, 8508, 163535, 87921, 281336, 46.2372, 464594, 76007}}},
    {"pair_a100_v100/test.json.gz", {{1, 64, 9812, 251341, 73298, 548148, 70.8372, 745239, 27296}}},
    {"nsys_2gpu_h100",
     {{0, 33, 1960, 17172.652, 17172.652, 253690.832, 0, 299848.812, 26031.025},
      {1, 33, 1984, 8229.1, 8229.1, 256095.624, 0, 298661.551, 31385.635}}}};

class AnalyzeRealTraces : public ::testing::Test {
 protected:
  void SetUp() override {
    if (folder.empty()) GTEST_SKIP() << "UNDERLAP_REAL_TRACES names no folder of traces";
  }

  const std::string folder = folder_in("UNDERLAP_REAL_TRACES");
};

TEST_F(AnalyzeRealTraces, HaveTheFiguresOfTheirDefinitions) {
  for (const auto& [name, expected] : kRealTraces) {
    const Json found = json_of({"analyze", folder + name});
    ASSERT_EQ(found["ranks"].size(), expected.size()) << name;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const Json& rank = found["ranks"][i];
      const RealRank& real = expected[i];
      SCOPED_TRACE(fmt::format("{} rank {}", name, real.rank));
      EXPECT_EQ(rank["rank"], real.rank);
      EXPECT_EQ(rank["comm_kernels"], real.comm_kernels);
      EXPECT_EQ(rank["compute_kernels"], real.compute_kernels);
      EXPECT_NEAR(rank["overlap_pct"].get<double>(), real.overlap_pct, 5.001e-5);
      for (const auto& [key, us] : {std::pair("comm_us", real.comm_us),
                                    {"exposed_us", real.exposed_us},
                                    {"compute_us", real.compute_us},
                                    {"span_us", real.span_us},
                                    {"idle_us", real.idle_us}})
        EXPECT_NEAR(rank[key].get<double>(), us, 1e-6) << key;
    }
  }
}

TEST_F(AnalyzeRealTraces, NameTheLateRankOfTheirJob) {
  const Json found = json_of({"analyze", folder + "dlrm_8gpu_v100"});
  EXPECT_EQ(found["late_rank"]["rank"], 7);
  const Json& late = found["ranks"][1];
  EXPECT_GT(late["exposed_wait_us"].get<double>(), 0.98 * late["exposed_us"].get<double>());
}

class AnalyzeCases : public ::testing::Test {
 protected:
  void SetUp() override {
    if (folder.empty()) GTEST_SKIP() << "UNDERLAP_CASES names no folder of cases";
  }

  const std::string folder = folder_in("UNDERLAP_CASES");
};

TEST_F(AnalyzeCases, ExpertsOfAConfigurationAreNotDataParallelism) {
  const std::string files = folder + "truth/expert_config/";
  const Json json = json_of({"analyze", files + "rank*.json", "--config", files + "moe.yaml"});
  for (const Json& rank : json["ranks"]) {
    EXPECT_EQ(rank["modes"]["ep"]["steps"]["exposed_us"], 200.0);
    EXPECT_EQ(rank["modes"]["dp"]["steps"]["exposed_us"], 80.0);
  }
}

TEST_F(AnalyzeCases, KernelsOfAForeignPerfettoTraceAreRead) {
  const Json rank = json_of({"analyze", folder + "foreign_pftrace/rank0.pftrace"})["ranks"][0];
  EXPECT_EQ(rank["compute_us"], 1800.0);
  EXPECT_EQ(rank["comm_us"], 1200.0);
  EXPECT_EQ(rank["exposed_us"], 600.0);
  const Json step = rank["steps"];
  EXPECT_EQ(step["compute_us"], 600.0);
  EXPECT_EQ(step["comm_us"], 400.0);
  EXPECT_EQ(step["exposed_us"], 200.0);
}

TEST_F(AnalyzeCases, BytesOnTheWireComeFromTheSizesInTheRecords) {
  const Json purposes = json_of({"analyze", folder + "truth/bytes/r0.json"})["ranks"][0]["purposes"];
  EXPECT_EQ(purposes["all_gather"]["steps"]["bytes_on_wire"], 75264 * 2 / 8 * 7);
  EXPECT_EQ(purposes["reduce_scatter"]["steps"]["bytes_on_wire"], 2016);
  EXPECT_EQ(purposes["all_reduce"]["steps"]["bytes_on_wire"], 2 * 25344);
}

}  // namespace
}  // namespace underlap::bench
