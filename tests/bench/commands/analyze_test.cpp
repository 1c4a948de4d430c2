// SPDX-License-Identifier: Apache-2.0
// Analyzing a trace gives the split that the run wrote, and a damaged trace is said to be damaged.
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <sstream>

#include "platform/json.hpp"
#include "profiler/report/stalls.hpp"
#include "profiler/report/statistics.hpp"
#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

/// One run, made once, that all tests of this file look at.
class Analyze : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ =
        std::make_unique<RunFolder>(tiny_config("data_parallel_size: 2\ncomm_overlap: {bucket_size: 8000}\nmatrix:\n  "
                                                "comm_overlap.overlap_grad_reduce: [false, true]\n"));
    ASSERT_EQ(underlap_program(folder_->arguments({"--blocks", "3"})).exit_code, 0);
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static std::string trace() { return folder_->traces().front(); }
  static std::string bytes() { return testing_support::read_text(trace()); }
  static Outcome analyze(const std::string& content) {
    const testing_support::TemporaryFolder folder;
    testing_support::write_text(folder / "t.pftrace", content);
    return underlap_program({"analyze", folder / "t.pftrace"});
  }

  static inline std::unique_ptr<RunFolder> folder_;
};

using SplitsByBlock = std::map<std::int32_t, std::vector<analysis::Split>>;

// Of counted steps.
SplitsByBlock splits_of(const report::CellResult& cell, std::size_t rank) {
  const report::Steps stalled = report::stalled_steps(cell);
  SplitsByBlock splits;
  for (const report::StepSample& sample : cell.samples)
    if (!stalled.contains({sample.block, sample.step})) splits[sample.block].push_back(sample.ranks.at(rank));
  return splits;
}

/// A part of the split under its keys: of the sum over steps, and of the median step.
struct Part {
  const char* sum_key;
  const char* median_key;
  std::int64_t (*value)(const analysis::Split&);
};

const std::vector<Part> kParts{
    {"span_us", "window_us", [](const analysis::Split& s) { return s.window_ns; }},
    {"compute_only_us", "compute_only_us", [](const analysis::Split& s) { return s.compute_only_ns; }},
    {"hidden_us", "hidden_us", [](const analysis::Split& s) { return s.hidden_ns; }},
    {"exposed_us", "exposed_us", [](const analysis::Split& s) { return s.exposed_ns(); }},
    {"exposed_wait_us", "exposed_wait_us", [](const analysis::Split& s) { return s.exposed_wait_ns; }},
    {"copy_only_us", "copy_only_us", [](const analysis::Split& s) { return s.copy_only_ns; }},
    {"idle_us", "idle_us", [](const analysis::Split& s) { return s.idle_ns; }}};

void expect_same_split(const Json& rank, const SplitsByBlock& splits) {
  for (const Part& part : kParts) {
    std::size_t count = 0;
    double sum = 0;
    report::Blocks blocks;
    for (const auto& [block, of_block] : splits)
      for (const analysis::Split& split : of_block) {
        ++count;
        sum += double(part.value(split)) / 1e3;
        blocks[block].push_back(double(part.value(split)) / 1e3);
      }
    EXPECT_EQ(rank["steps"]["count"], count);
    EXPECT_NEAR(rank[part.sum_key].get<double>(), sum, 1e-6) << part.sum_key;
    const double typical = report::block_median(blocks).value;
    EXPECT_NEAR(rank["steps"][part.median_key].get<double>(), typical, 1e-6) << part.median_key;
  }
}

TEST_F(Analyze, ReproducesTheSplitOfTheRun) {
  const report::RunResults results = report::read_results(folder_->run());
  for (const report::CellResult& cell : results.cells) {
    const Outcome outcome = underlap_program({"analyze", "--json", folder_->run() + "/" + cell.trace_file});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Json json = parse_json(outcome.out);
    EXPECT_EQ(json["schema"], "underlap.analysis/1");
    ASSERT_EQ(json["ranks"].size(), 2U);
    for (std::size_t rank = 0; rank < 2; ++rank) expect_same_split(json["ranks"][rank], splits_of(cell, rank));
  }
}

TEST_F(Analyze, CountsWhatATruncatedTraceLost) {
  // How long packets are depends on the clock, and a cut between two leaves nothing to count: of two cuts beside each
  // other at most one is.
  const std::size_t cut = bytes().size() * 3 / 5;
  const Outcome outcome = analyze(bytes().substr(0, cut));
  const Outcome longer = analyze(bytes().substr(0, cut + 1));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(longer.exit_code, 0) << longer.err;
  EXPECT_THAT(outcome.out + longer.out, HasSubstr("skipped 1: truncated packet"));
}

TEST_F(Analyze, RefusesWhatIsNoTrace) {
  EXPECT_THAT(analyze(""), fails_with(2, "an empty file, no trace"));
  EXPECT_THAT(analyze("once upon a time"), fails_with(2, "a trace of no known format; known are perfetto (.pftrace)"));
  EXPECT_THAT(underlap_program({"analyze", "/no/such.pftrace"}), fails_with(2, "/no/such.pftrace: no such file"));
  EXPECT_THAT(underlap_program({"analyze"}), fails_with(2, "TRACE is required"));
  const testing_support::TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(underlap_program({"analyze", folder / "pipe"}), fails_with(2, "a named pipe, not a file"));
  EXPECT_THAT(underlap_program({"analyze", "/dev/zero"}), fails_with(2, "a device, not a file"));
  EXPECT_THAT(underlap_program({"analyze", folder / ""}), fails_with(2, "a directory without traces"));
}

TEST_F(Analyze, RefusesATraceOfWhichNothingIsLeft) {
  const std::string whole = bytes();
  const std::size_t first_packet = whole.find("rank 0");  // the block's begin is read, no slice is
  EXPECT_THAT(analyze(whole.substr(0, first_packet)), fails_with(2, "holds no slice that can be used"));
}

TEST_F(Analyze, SaysBeforeTheFiguresThatABitIsWrong) {
  std::string content = bytes();
  const std::size_t at = content.find("grad_reduce_scatter");
  ASSERT_NE(at, std::string::npos);
  content[at] = 'G';
  const Outcome outcome = analyze(content);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::size_t said = outcome.out.find("skipped 1: block whose checksum does not match");
  EXPECT_LT(said, outcome.out.find("A step in milliseconds"));
}

TEST_F(Analyze, TakesTheCellsOfARunsFolderInTurn) {
  const auto traces = folder_->traces();
  const Outcome outcome = underlap_program({"analyze", folder_->run()});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::size_t at = 0;
  for (const std::filesystem::path& file : traces) {
    const Outcome alone = underlap_program({"analyze", file});
    EXPECT_THAT(alone.out, HasSubstr(file.string() + "\n"));
    EXPECT_EQ(alone.out.rfind("cell ", 0), 0U) << alone.out;
    EXPECT_EQ(outcome.out.compare(at, alone.out.size(), alone.out), 0);
    at += alone.out.size() + 2;
  }
  EXPECT_EQ(at, outcome.out.size() + 2);
}

TEST_F(Analyze, GivesTheCellsOfARunsFolderAsOneJson) {
  const Outcome outcome = underlap_program({"analyze", "--json", folder_->run()});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = parse_json(outcome.out);
  EXPECT_EQ(json["schema"], "underlap.analyses/1");
  const auto traces = folder_->traces();
  ASSERT_EQ(json["cells"].size(), traces.size());
  for (std::size_t i = 0; i < traces.size(); ++i)
    EXPECT_EQ(json["cells"][i], parse_json(underlap_program({"analyze", "--json", traces[i]}).out));
}

TEST_F(Analyze, ShowsTheOneCellOfAFolderThatIsNamed) {
  const std::string name = parse_json(underlap_program({"analyze", "--json", trace()}).out)["cell"];
  EXPECT_EQ(underlap_program({"analyze", folder_->run(), "--cell", name}).out,
            underlap_program({"analyze", trace()}).out);
  EXPECT_THAT(underlap_program({"analyze", folder_->run(), "--cell", "neither"}),
              fails_with(2, "it takes one of: " + name + ", "));
  EXPECT_THAT(underlap_program({"analyze", folder_->run(), trace()}), fails_with(2, "a directory beside other traces"));
}

TEST_F(Analyze, FitsATerminalOfEightyColumns) {
  ::setenv("COLUMNS", "80", 1);
  const Outcome outcome = underlap_program({"analyze", trace(), "--timeline"});
  ::unsetenv("COLUMNS");
  std::istringstream lines(outcome.out);
  std::string line;
  std::getline(lines, line);  // names the file, however long that is
  while (std::getline(lines, line)) EXPECT_LE(line.size(), 80U) << line;
}

TEST_F(Analyze, RefusesFlagsThatWouldDoNothing) {
  const auto refusal = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"analyze", trace()});
    return underlap_program(flags);
  };
  EXPECT_THAT(refusal({"--timeline", "--step", "-7"}), fails_with(2, "--step is -7; steps are counted from 0"));
  EXPECT_THAT(refusal({"--step", "1"}), fails_with(2, "add --timeline or leave it out"));
  EXPECT_THAT(refusal({"--width", "60"}), fails_with(2, "add --timeline or leave it out"));
  EXPECT_THAT(refusal({"--json", "--timeline"}), fails_with(2, "give one of them"));
  EXPECT_THAT(refusal({"--cell", "off"}), fails_with(2, "--cell names a cell of --config"));
}

// In virtual time, where compute is there to hide a transfer on any machine.
class AnalyzeConfig : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<RunFolder>(
        "model: {preset: llama3-8b, num_layers: 4, vocab_size: 1024}\ndata_parallel_size: 2\n"
        "comm_overlap: {bucket_size: 50000000}\nrun: {backend: sim}\n"
        "environment: {layernorm_sm_margin: 40}\n"  // else norm kernels wait for the collectives' multiprocessors
        "matrix:\n  overlap:\n"
        "    - {name: off, comm_overlap.overlap_grad_reduce: false, comm_overlap.overlap_param_gather: false}\n"
        "    - {name: on, comm_overlap.overlap_grad_reduce: true, comm_overlap.overlap_param_gather: true}\n");
    const Outcome outcome = underlap_program(folder_->arguments());
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static Outcome analyze(std::size_t trace, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"analyze", folder_->traces().at(trace), "--config", folder_->config()});
    return underlap_program(more);
  }
  static Json observed(std::size_t trace, const std::vector<std::string>& more = {"--json"}) {
    const Outcome outcome = analyze(trace, more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return parse_json(outcome.out);
  }

  static inline std::unique_ptr<RunFolder> folder_;
};

TEST_F(AnalyzeConfig, SaysOfEachKnobWhatWasObservedInTheCellOfTheTrace) {
  const Json off = observed(0);
  EXPECT_EQ(off["cell"], "off");
  ASSERT_EQ(off["observed"].size(), 2U);
  for (const Json& knob : off["observed"]) {
    EXPECT_EQ(knob["effective"], false);
    EXPECT_EQ(knob["status"], "not_observed");
    EXPECT_EQ(knob["cause"], "waited_at_once");
    EXPECT_EQ(knob["operations"], 1);  // of the one rank that is played for both
  }
  const Json on = observed(1);
  EXPECT_EQ(on["cell"], "on");
  for (const Json& knob : on["observed"]) {
    EXPECT_EQ(knob["effective"], true);
    EXPECT_EQ(knob["status"], "observed") << knob;
    EXPECT_GT(knob["hidden_transfer_us"], 0);
  }
}

TEST_F(AnalyzeConfig, AKnobThatAsksForOverlapAndGetsNoneIsNotObserved) {
  const Json json = observed(0, {"--json", "--cell", "on"});
  for (const Json& knob : json["observed"]) {
    EXPECT_EQ(knob["requested"], true);
    EXPECT_EQ(knob["status"], "not_observed");
    EXPECT_EQ(knob["cause"], "waited_at_once");
  }
}

TEST_F(AnalyzeConfig, SaysWhereTheCellIsNotThatOfTheTrace) {
  EXPECT_THAT(analyze(0, {"--cell", "on"}).err,
              HasSubstr("the trace is of cell \"off\", and is held against cell \"on\""));
  EXPECT_THAT(analyze(0, {"--cell", "off"}).err, ::testing::IsEmpty());
}

TEST_F(AnalyzeConfig, DoesNotWrapReasonsWhereItIsPiped) {
  const std::filesystem::path config = folder_->folder / "gated.yaml";
  testing_support::write_text(config,
                              "model: {preset: tiny}\ndata_parallel_size: 2\ncomm_overlap: {tp_comm_overlap: true}\n"
                              "run: {backend: sim}\n");
  const Outcome outcome = underlap_program({"analyze", folder_->traces().at(0), "--config", config});
  EXPECT_THAT(outcome.out, HasSubstr("  switched off, tensor_model_parallel_size is 1; TP overlap needs at least 2; "
                                     "one rank alone exchanges nothing\n"));
}

TEST_F(AnalyzeConfig, PrintsATable) {
  const Outcome outcome = analyze(0);
  EXPECT_THAT(outcome.out, HasSubstr("Requested, in effect and observed, cell off"));
  EXPECT_THAT(outcome.out, HasSubstr("\noverlap_param_gather  "));
  EXPECT_THAT(outcome.out, HasSubstr("not observed, 0.0 %"));
}

TEST_F(AnalyzeConfig, RefusesACellOrAConfigurationThatIsNotThere) {
  EXPECT_THAT(analyze(0, {"--cell", "both"}), fails_with(2, "--cell takes one of: off, on"));
  EXPECT_THAT(underlap_program({"analyze", folder_->traces().at(0), "--cell", "both"}),
              fails_with(2, "--cell names a cell of --config"));
  EXPECT_THAT(underlap_program({"analyze", folder_->traces().at(0), "--config", "/no/such.yaml"}),
              fails_with(2, "/no/such.yaml"));
  testing_support::write_text(folder_->folder / "wrong.yaml", "modle: {preset: tiny}\n");
  EXPECT_THAT(underlap_program({"analyze", folder_->traces().at(0), "--config", folder_->folder / "wrong.yaml"}),
              fails_with(2, "did you mean model?"));
}

TEST_F(Analyze, OfTheHostBackendSeesThatNothingOverlappedWhereOverlapIsOff) {
  const Outcome outcome = underlap_program({"analyze", "--json", trace(), "--config", folder_->config()});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = parse_json(outcome.out);
  const Json& grads = json["observed"][0];
  EXPECT_EQ(grads["effective"], false);
  EXPECT_EQ(grads["status"], "not_observed") << grads;
  EXPECT_EQ(grads["cause"], "waited_at_once") << grads;
}

TEST_F(Analyze, RefusesATraceOfANewerSchema) {
  const std::string ours = "underlap.trace/2";
  std::string content = bytes();
  ASSERT_NE(content.find(ours), std::string::npos);
  for (std::size_t at = content.find(ours); at != std::string::npos; at = content.find(ours, at))
    content[at + ours.size() - 1] = '9';
  EXPECT_THAT(analyze(content), fails_with(2, "read it with the Underlap that wrote it, or a newer one"));
}

TEST_F(Analyze, RefusesToAddUpTwoCells) {
  const auto traces = folder_->traces();
  EXPECT_THAT(underlap_program({"analyze", traces[0], traces[1]}), fails_with(2, "both hold rank 0"));
}

TEST_F(Analyze, RefusesAStepThatTheTraceDoesNotHave) {
  EXPECT_THAT(underlap_program({"analyze", trace(), "--timeline", "--step", "999"}),
              fails_with(2, "no measured step 999; it has 2, "));
  EXPECT_EQ(underlap_program({"analyze", trace(), "--timeline"}).exit_code, 0);
}

}  // namespace
}  // namespace underlap::bench
