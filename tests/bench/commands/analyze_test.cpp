// SPDX-License-Identifier: Apache-2.0
// Analyzing a trace gives the split that the run wrote, and a damaged trace is said to be damaged.
#include "profiler/report/stalls.hpp"
#include "profiler/report/statistics.hpp"
#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

class Analyze : public OneRun<Analyze> {
 public:
  static std::string config() { return tiny_config(std::string(kOffAndOn) + "comm_overlap: {bucket_size: 8000}\n"); }
  static Words options() { return {"--blocks", "3"}; }

 protected:
  static std::string bytes() { return read_text(trace()); }
  static Outcome analyze(const std::string& content) {
    const TemporaryFolder folder;
    write_text(folder / "t.pftrace", content);
    return underlap_program({"analyze", folder / "t.pftrace"});
  }
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
  const report::RunResults results = folder_->results();
  for (const report::CellResult& cell : results.cells) {
    const Json json = json_of({"analyze", folder_->run() + "/" + cell.trace_file});
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

TEST_F(Analyze, RefusesATraceOfWhichNothingIsLeft) {
  const std::string whole = bytes();
  const std::size_t first_packet = whole.find("rank 0");  // the block's begin is read, no slice is
  EXPECT_THAT(analyze(whole.substr(0, first_packet)), fails_with(2, "no usable slice"));
}

TEST_F(Analyze, SaysBeforeTheFiguresThatABitIsWrong) {
  std::string content = bytes();
  const std::size_t at = content.find("grad_reduce_scatter");
  ASSERT_NE(at, std::string::npos);
  content[at] = 'G';
  const Outcome outcome = analyze(content);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::size_t said = outcome.out.find("skipped 1: block whose checksum does not match");
  EXPECT_LT(said, outcome.out.find("Milliseconds per step"));
}

TEST_F(Analyze, TakesTheCellsOfARunsFolderInTurn) {
  const auto traces = folder_->traces();
  const Outcome outcome = expect_success({"analyze", folder_->run()});
  std::size_t at = 0;
  for (const fs::path& file : traces) {
    const Outcome alone = underlap_program({"analyze", file});
    EXPECT_THAT(alone.out, HasSubstr(file.string() + "\n"));
    EXPECT_EQ(alone.out.rfind("cell ", 0), 0U) << alone.out;
    EXPECT_EQ(outcome.out.compare(at, alone.out.size(), alone.out), 0);
    at += alone.out.size() + 2;
  }
  EXPECT_EQ(at, outcome.out.size() + 2);
}

TEST_F(Analyze, GivesTheCellsOfARunsFolderAsOneJson) {
  const Json json = json_of({"analyze", folder_->run()});
  EXPECT_EQ(json["schema"], "underlap.analyses/1");
  const auto traces = folder_->traces();
  ASSERT_EQ(json["cells"].size(), traces.size());
  for (std::size_t i = 0; i < traces.size(); ++i) EXPECT_EQ(json["cells"][i], json_of({"analyze", traces[i]}));
}

TEST_F(Analyze, ShowsTheOneCellOfAFolderThatIsNamed) {
  const std::string name = json_of({"analyze", trace()})["cell"];
  EXPECT_EQ(underlap_program({"analyze", folder_->run(), "--cell", name}).out,
            underlap_program({"analyze", trace()}).out);
  EXPECT_THAT(underlap_program({"analyze", folder_->run(), "--cell", "neither"}),
              fails_with(2, "must be one of: " + name + ", "));
  EXPECT_THAT(underlap_program({"analyze", folder_->run(), trace()}),
              fails_with(2, "a folder cannot be combined with other traces"));
}

TEST_F(Analyze, FitsATerminalOfEightyColumns) { expect_fits_a_terminal({"analyze", trace(), "--timeline"}); }

// In virtual time, where compute is there to hide a transfer on any machine.
class AnalyzeConfig : public OneRun<AnalyzeConfig> {
 public:
  static std::string config() {
    return "model: {preset: llama3-8b, num_layers: 4, vocab_size: 1024}\ndata_parallel_size: 2\n"
           "comm_overlap: {bucket_size: 50000000}\nrun: {backend: sim}\n"
           "environment: {layernorm_sm_margin: 40}\n"  // else norm kernels wait for the collectives' multiprocessors
           "matrix:\n  overlap:\n"
           "    - {name: off, comm_overlap.overlap_grad_reduce: false, comm_overlap.overlap_param_gather: false}\n"
           "    - {name: on, comm_overlap.overlap_grad_reduce: true, comm_overlap.overlap_param_gather: true}\n";
  }

 protected:
  static Words analyze(std::size_t cell, const Words& more = {}) {
    return joined({"analyze", trace(cell), "--config", folder_->config()}, more);
  }
};

TEST_F(AnalyzeConfig, SaysOfEachKnobWhatWasObservedInTheCellOfTheTrace) {
  const Json off = json_of(analyze(0));
  EXPECT_EQ(off["cell"], "off");
  ASSERT_EQ(off["observed"].size(), 2U);
  for (const Json& knob : off["observed"]) {
    EXPECT_EQ(knob["effective"], false);
    EXPECT_EQ(knob["status"], "not_observed");
    EXPECT_EQ(knob["cause"], "waited_at_once");
    EXPECT_EQ(knob["operations"], 1);  // of the one rank that is played for both
  }
  const Json on = json_of(analyze(1));
  EXPECT_EQ(on["cell"], "on");
  for (const Json& knob : on["observed"]) {
    EXPECT_EQ(knob["effective"], true);
    EXPECT_EQ(knob["status"], "observed") << knob;
    EXPECT_GT(knob["hidden_transfer_us"], 0);
  }
}

TEST_F(AnalyzeConfig, AKnobThatAsksForOverlapAndGetsNoneIsNotObserved) {
  const Json json = json_of(analyze(0, {"--cell", "on"}));
  for (const Json& knob : json["observed"]) {
    EXPECT_EQ(knob["requested"], true);
    EXPECT_EQ(knob["status"], "not_observed");
    EXPECT_EQ(knob["cause"], "waited_at_once");
  }
}

TEST_F(AnalyzeConfig, SaysWhereTheCellIsNotThatOfTheTrace) {
  EXPECT_THAT(underlap_program(analyze(0, {"--cell", "on"})).err,
              HasSubstr("the trace is from cell \"off\", but is compared with cell \"on\""));
  EXPECT_THAT(underlap_program(analyze(0, {"--cell", "off"})).err, IsEmpty());
}

TEST_F(AnalyzeConfig, DoesNotWrapReasonsWhereItIsPiped) {
  const fs::path config = folder_->folder / "gated.yaml";
  write_text(config,
             "model: {preset: tiny}\ndata_parallel_size: 2\ncomm_overlap: {tp_comm_overlap: true}\n"
             "run: {backend: sim}\n");
  const Outcome outcome = underlap_program({"analyze", trace(), "--config", config});
  EXPECT_THAT(outcome.out, HasSubstr("  switched off, tensor_model_parallel_size is 1; TP overlap needs at least 2; "
                                     "a single rank exchanges nothing\n"));
}

TEST_F(AnalyzeConfig, PrintsATable) {
  EXPECT_THAT(expect_success(analyze(0)).out,
              AllOf(HasSubstr("Requested, in effect and observed, cell off"), HasSubstr("\noverlap_param_gather  "),
                    HasSubstr("not observed, 0.0 %")));
}

TEST_F(Analyze, OfTheHostBackendSeesThatNothingOverlappedWhereOverlapIsOff) {
  const Json grads = json_of({"analyze", trace(), "--config", folder_->config()})["observed"][0];
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
  EXPECT_THAT(analyze(content), fails_with(2, "use the Underlap that wrote it, or a newer one"));
}

}  // namespace
}  // namespace underlap::bench
