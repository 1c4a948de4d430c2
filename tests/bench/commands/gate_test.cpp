// SPDX-License-Identifier: Apache-2.0
// Who fails a pull request over a run: real runs in virtual time, whose every nanosecond counts, and measured ones.
#include <filesystem>

#include "platform/json.hpp"
#include "profiler/report/results.hpp"
#include "profiler/report/run_folders.hpp"
#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using testing_support::read_text;
using testing_support::write_text;

/// Runs of one cell on two ranks, "fast" and "fast2" with gradients reduced after the backward pass, "slow" under it:
/// each bucket of so small a model costs more than it hides. "host" as "slow", measured.
class Gate : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new testing_support::TemporaryFolder;
    make("fast", "sim", false);
    make("fast2", "sim", false);
    make("slow", "sim", true);
    make("host", "host", true);
  }
  static void TearDownTestSuite() { delete folder_; }

  static void make(const std::string& name, const std::string& backend, bool overlap) {
    const fs::path config = *folder_ / (name + ".yaml");
    write_text(config,
               "model: {num_layers: 2, hidden_size: 64, ffn_hidden_size: 128, num_attention_heads: 2, "
               "num_query_groups: 2, vocab_size: 256, seq_length: 32}\n"
               "data_parallel_size: 2\n"
               "run: {backend: " +
                   backend +
                   ", steps: 2, blocks: 1, warmup: 1}\n"
                   "comm_overlap: {overlap_grad_reduce: " +
                   (overlap ? "true" : "false") + ", bucket_size: 20000}\n");
    const Outcome ran = underlap_program({"run", config, "-o", path(name)});
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
  }

  static std::string path(const std::string& name) { return *folder_ / name; }

  static Outcome gate(std::vector<std::string> words, const Surroundings& surroundings = {}) {
    words.insert(words.begin(), "gate");
    return underlap_program(words, surroundings);
  }

  static inline testing_support::TemporaryFolder* folder_ = nullptr;
};

TEST_F(Gate, PassesARunThatDidTheSame) {
  const Outcome outcome = gate({path("fast"), path("fast2"), "--max-regression", "0"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("pass: "), HasSubstr("virtual time is exact"), Not(HasSubstr("differs"))));
}

TEST_F(Gate, FailsARunThatIsSlowerAndNamesKnobAndOperation) {
  const Outcome outcome = gate({path("fast"), path("slow"), "--max-regression", "0"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("comm_overlap.overlap_grad_reduce"));
  EXPECT_THAT(outcome.out, HasSubstr("regression: "));
  EXPECT_THAT(outcome.out, HasSubstr("what moved: grad_reduce_scatter +"));
  // The other way round it is a win.
  EXPECT_EQ(gate({path("slow"), path("fast"), "--max-regression", "0", "--cells", "cell"}).exit_code, 0);
}

TEST_F(Gate, WritesAllItsReports) {
  const std::string comment = *folder_ / "comment.md", suite = *folder_ / "suite.xml";
  const Outcome outcome =
      gate({path("fast"), path("slow"), "--max-regression", "0", "--markdown", comment, "--junit", suite, "--json"});
  EXPECT_EQ(outcome.exit_code, 1);
  const auto json = parse_json(outcome.out);
  EXPECT_EQ(json["schema"], "underlap.gate/1");
  EXPECT_EQ(json["verdict"], "regression");
  EXPECT_EQ(json["cells"][0]["moved"][0]["name"], "grad_reduce_scatter");
  EXPECT_THAT(read_text(comment), StartsWith("### Overlap gate: regression: "));
  EXPECT_THAT(read_text(suite), HasSubstr("<failure type=\"regression\""));
  EXPECT_THAT(gate({path("fast"), path("slow"), "--max-regression", "0", "--markdown", "-"}).out,
              StartsWith("### Overlap gate"));
}

TEST_F(Gate, AnnotatesInGitHubActionsAlone) {
  const std::vector<std::string> words{path("fast"), path("slow"), "--max-regression", "0"};
  EXPECT_THAT(gate(words, {.environment = {{"GITHUB_ACTIONS", "true"}}}).out, HasSubstr("\n::error title="));
  EXPECT_THAT(gate(words).out, Not(HasSubstr("::error")));
}

TEST_F(Gate, JudgesBySavedBaselines) {
  const std::string baseline = *folder_ / "baselines/main";
  const Outcome saved = underlap_program({"baseline", "save", path("fast"), "-o", baseline});
  EXPECT_EQ(saved.exit_code, 0) << saved.err;
  EXPECT_THAT(saved.out, HasSubstr("baseline.json: 1 run of 1 cell, "));
  EXPECT_LT(fs::file_size(fs::path(baseline) / "baseline.json"), 20'000U);
  EXPECT_EQ(gate({baseline, path("fast2"), "--max-regression", "0"}).exit_code, 0);
  EXPECT_EQ(gate({baseline, path("slow"), "--max-regression", "0"}).exit_code, 1);
  EXPECT_THAT(gate({baseline, path("fast")}), fails_with(2, "are the same run"));
}

TEST_F(Gate, TakesSeveralRunsOfAFolder) {
  // Measured runs: copies with another beginning, since only their number matters here.
  for (const char* side : {"many_a", "many_b"})
    for (std::int32_t i = 0; i < 3; ++i) {
      const fs::path run = report::run_of_series(*folder_ / side, i);
      fs::create_directories(run);
      report::RunResults results = report::read_results(path("host"));
      results.info.started_utc = "2026-01-0" + std::to_string(i + 1) + side;
      for (report::StepSample& sample : results.cells[0].samples) sample.step_ns += 1000 * i;
      report::write_results(run, results);
    }
  const Outcome outcome = gate({path("many_a"), path("many_b")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("baseline   3 runs"));
  EXPECT_THAT(gate({path("many_a") + "/run-0[01]", path("many_b")}).out, HasSubstr("baseline   2 runs"));
  EXPECT_THAT(gate({path("many_a/run-00"), path("many_b"), "--with-baseline", path("many_a/run-01")}).out,
              HasSubstr("baseline   2 runs"));
}

TEST_F(Gate, CannotTellByOneMeasuredRunASide) {
  report::RunResults results = report::read_results(path("host"));
  results.info.started_utc = "2026-01-01T00:00:00Z";
  for (report::StepSample& sample : results.cells[0].samples) sample.step_ns *= 2;
  fs::create_directories(path("host_twice"));
  report::write_results(path("host_twice"), results);
  const Outcome outcome = gate({path("host"), path("host_twice")});
  EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("one run a side does not tell how far runs lie apart"));
  EXPECT_EQ(gate({path("host"), path("host_twice"), "--inconclusive", "pass"}).exit_code, 0);
  EXPECT_EQ(gate({path("host"), path("host_twice"), "--inconclusive", "fail"}).exit_code, 1);
  const Outcome stated = gate({path("host"), path("host_twice"), "--run-sd", "2%"});
  EXPECT_EQ(stated.exit_code, 1);
  EXPECT_THAT(stated.out, HasSubstr("the spread between runs was stated, 2 %"));
}

TEST_F(Gate, ReadsTracesAndFoldersOfThem) {
  const Outcome outcome = gate({path("fast") + "/traces", path("slow") + "/traces", "--max-regression", "0"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("what moved: grad_reduce_scatter"));
  const std::string trace = fs::directory_iterator(path("fast") + "/traces")->path();
  EXPECT_EQ(gate({trace, path("slow") + "/traces", "--max-regression", "0"}).exit_code, 1);
}

TEST_F(Gate, TakesAFolderOfTracesWithANoteBesideThem) {
  for (const char* side : {"fast", "slow"}) {
    const fs::path folder = path(std::string("noted_") + side);
    fs::create_directories(folder);
    fs::create_directories(path(std::string("numbered_") + side));
    fs::copy(path(side) + "/traces", folder / "one", fs::copy_options::recursive);
    write_text(folder / "README.md", "traces\n");
    fs::copy(path(side) + "/traces", path(std::string("numbered_") + side) + "/run-00", fs::copy_options::recursive);
  }
  EXPECT_EQ(gate({path("numbered_fast"), path("numbered_slow"), "--max-regression", "0"}).exit_code, 1);
  EXPECT_EQ(gate({path("noted_fast"), path("noted_slow"), "--max-regression", "0"}).exit_code, 1);
}

TEST_F(Gate, HoldsOneSideAgainstATargetWithoutABaseline) {
  EXPECT_EQ(gate({path("fast"), "--max-exposed", "99%"}).exit_code, 0);
  const Outcome above = gate({path("fast"), "--max-exposed", "0%"});
  EXPECT_EQ(above.exit_code, 1);
  EXPECT_THAT(above.out, HasSubstr("the target is 0 %"));
  EXPECT_THAT(gate({path("fast"), "--max-exposed", "5ms"}), fails_with(2, "write a share of the step below 100 %"));
  EXPECT_THAT(gate({path("fast"), "--max-exposed", "5%", "--with-baseline", path("fast")}),
              fails_with(2, "CANDIDATE is required with --with-baseline"));
  EXPECT_THAT(gate({path("fast"), "--max-exposed", "5%", "--run-sd", "1%"}),
              fails_with(2, "CANDIDATE is required with --run-sd"));
  EXPECT_THAT(gate({path("fast"), "--max-exposed", "5%", "--max-regression", "5%"}),
              fails_with(2, "CANDIDATE is required with --max-regression"));
}

TEST_F(Gate, NamesPlaceAndReasonOfBadInput) {
  fs::create_directories(path("empty"));
  fs::create_directories(path("both/baseline"));
  fs::create_directories(path("both/candidate"));
  write_text(path("rules.yaml"), "rules:\n- {metric: step, max_regresion: 3%}\n");
  report::RunResults half = report::read_results(path("host"));
  half.blocks_planned = 4;
  fs::create_directories(path("half"));
  report::write_results(path("half"), half);
  EXPECT_THAT(gate({path("fast"), path("fast")}), fails_with(2, "are the same run"));
  EXPECT_THAT(gate({path("fast"), path("empty")}), fails_with(2, "/empty: is empty"));
  EXPECT_THAT(gate({path("fast"), path("absent")}), fails_with(2, "/absent: no such file or folder"));
  EXPECT_THAT(gate({path("both"), path("fast")}), fails_with(2, "/both/baseline"));
  EXPECT_THAT(gate({path("fast"), path("half")}), fails_with(2, "1 of 4 blocks are done"));
  EXPECT_THAT(gate({path("fast"), path("host")}), fails_with(2, "backend is sim in the baseline and host"));
  EXPECT_THAT(gate({path("fast"), path("fast.yaml")}), fails_with(2, "fast.yaml"));
  EXPECT_THAT(gate({path("fast"), path("slow"), "--rules", path("rules.yaml")}),
              fails_with(2, "did you mean max_regression?"));
  EXPECT_THAT(gate({path("fast"), path("slow"), "--max-regression", "5"}), fails_with(2, "\"5\" is no tolerance"));
  EXPECT_THAT(gate({path("fast"), path("slow"), "--run-sd", "3ms"}), fails_with(2, "--run-sd is 3ms"));
  EXPECT_THAT(gate({path("fast"), path("slow"), "--cells", "x*"}),
              fails_with(2, "/fast has no cell \"x*\"; it has: cell"));
  EXPECT_THAT(gate({path("fast"), path("slow"), "--cells", "nope", "cell"}), fails_with(2, "has no cell \"nope\""));
  EXPECT_THAT(
      gate({path("fast"), path("slow"), "--markdown", path("nowhere/a.md")}),
      fails_with(2, "--markdown " + path("nowhere/a.md") + ": cannot be written: " + path("nowhere") + " is no"));
  EXPECT_THAT(gate({path("fast"), path("slow"), "--junit", path("fast")}), fails_with(2, "is a folder"));
  EXPECT_THAT(underlap_program({"baseline", "save", path("fast"), "-o", "/proc/nope"}),
              fails_with(2, "-o /proc/nope: cannot be written: "));
  EXPECT_THAT(underlap_program({"baseline", "save", path("fast"), path("host"), "-o", path("b")}),
              fails_with(2, "are no runs of one baseline: backend is sim in the one and host in the other"));
  EXPECT_THAT(underlap_program({"baseline", "save", path("fast"), path("fast"), "-o", path("b")}),
              fails_with(2, "are the same run"));
  EXPECT_THAT(underlap_program({"baseline", "save", path("both"), "-o", path("b")}),
              fails_with(2, "name one of them, " + path("both/baseline")));
  EXPECT_THAT(gate({path("fast")}), fails_with(2, "CANDIDATE is required"));
  EXPECT_THAT(underlap_program({"baseline", "save", path("absent"), "-o", path("b")}),
              fails_with(2, "/absent: no such file or folder"));
  fs::create_directories(path("nested/folder/of"));
  EXPECT_THAT(gate({path("fast"), path("nested")}), fails_with(2, "/nested/folder: holds neither a run nor traces"));
  EXPECT_THAT(gate({path("fast"), path("slow"), "--json", "--junit", "-"}), fails_with(2, "are different outputs"));
  EXPECT_THAT(gate({path("fast"), path("slow"), "--json", "--details"}), fails_with(2, "--details is for the table"));
  const Outcome forced = gate({path("fast"), path("host"), "--force"});
  EXPECT_THAT(forced.out, HasSubstr("not comparable, forced: backend is sim"));
}

}  // namespace
}  // namespace underlap::bench
