// SPDX-License-Identifier: Apache-2.0
// Commands that read several runs, where their figures count or a run is made up. tests/data/commands/reports.txt has
// what else they print.
#include <cstdlib>

#include "profiler/report/run_folders.hpp"
#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

// A model of two layers whose gradients are reduced in buckets of `bucket_size` parameters.
std::string small_config(const std::string& more, int bucket_size = 20000) {
  return "model: {num_layers: 2, hidden_size: 64, ffn_hidden_size: 128, num_attention_heads: 2, num_query_groups: 2, "
         "vocab_size: 256, seq_length: 32}\ncomm_overlap: {bucket_size: " +
         std::to_string(bucket_size) + "}\n" + more;
}

/// Runs of one cell, which was measured.
class Gate : public OneRun<Gate> {
 public:
  static std::string config() { return small_config("data_parallel_size: 2\nrun: {steps: 2, blocks: 1, warmup: 1}\n"); }

 protected:
  // A copy of the run that began at another time, with other steps.
  static void copy(const fs::path& run, const std::string& started_utc, std::int64_t factor, std::int64_t more_ns) {
    report::RunResults results = folder_->results();
    results.info.started_utc = started_utc;
    for (report::StepSample& sample : results.cells[0].samples) sample.step_ns = factor * sample.step_ns + more_ns;
    fs::create_directories(run);
    report::write_results(run, results);
  }
  static std::string path(const std::string& name) { return folder_->folder / name; }
  static Outcome gate(const Words& words) { return underlap_program(joined({"gate"}, words)); }
};

TEST_F(Gate, TakesSeveralRunsOfAFolder) {
  for (const std::string side : {"many_a", "many_b"})
    for (std::int32_t i = 0; i < 3; ++i)
      copy(report::run_of_series(path(side), i), "2026-01-0" + std::to_string(i + 1) + side, 1, 1000 * i);
  const Outcome outcome = gate({path("many_a"), path("many_b")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("baseline   3 runs"));
  for (const Words& two : {Words{path("many_a") + "/run-0[01]", path("many_b")},
                           {path("many_a/run-00"), path("many_b"), "--with-baseline", path("many_a/run-01")}})
    EXPECT_THAT(gate(two).out, HasSubstr("baseline   2 runs"));
}

TEST_F(Gate, CannotTellByOneMeasuredRunASide) {
  copy(path("twice"), "2026-01-01T00:00:00Z", 2, 0);
  const Words words{folder_->run(), path("twice")};
  const Outcome outcome = gate(words);
  EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("one run per side does not show the run-to-run spread"));
  EXPECT_EQ(gate(joined(words, {"--inconclusive", "pass"})).exit_code, 0);
  EXPECT_EQ(gate(joined(words, {"--inconclusive", "fail"})).exit_code, 1);
  const Outcome stated = gate(joined(words, {"--run-sd", "2%"}));
  EXPECT_EQ(stated.exit_code, 1);
  EXPECT_THAT(stated.out, HasSubstr("the run-to-run spread was set to 2 %"));
}

void expect_sums(const Json& change) {
  const std::int64_t delta = change["window"]["delta_ns"];
  std::int64_t operations = 0;
  for (const auto& operation : change["operations"]) operations += operation["step"]["delta_ns"].get<std::int64_t>();
  EXPECT_EQ(operations, delta);
  for (const char* by : {"by_stream", "by_purpose"}) {
    std::int64_t sum = 0;
    for (const auto& [name, part] : change[by].items()) sum += part["delta_ns"].get<std::int64_t>();
    EXPECT_EQ(sum, delta) << by;
  }
  std::int64_t modes = 0;
  for (const auto& [mode, part] : change["exposed_by_modes"].items()) modes += part["delta_ns"].get<std::int64_t>();
  EXPECT_EQ(change["contention_ns"].get<std::int64_t>() + change["decomposition_ns"].get<std::int64_t>() -
                change["concurrency_ns"].get<std::int64_t>() + modes +
                change["copy_only"]["delta_ns"].get<std::int64_t>() + change["idle"]["delta_ns"].get<std::int64_t>(),
            delta);
}

TEST(Compare, SumsToTheNanosecond) {
  const std::string cells = std::string(kOffAndOn) + "run: {backend: sim, steps: 2, blocks: 1, warmup: 1}\n";
  const RunFolder plain(small_config(cells)), wide(small_config(cells, 5000));
  plain.measure(), wide.measure();
  const Json json = json_of({"compare", plain.run(), wide.run()});
  EXPECT_EQ(json["schema"], "underlap.compare/1");
  ASSERT_EQ(json["comparisons"].size(), 2U);
  for (const Json& comparison : json["comparisons"]) expect_sums(comparison["change"]);
}

TEST(CompareRealTraces, OfTwoMachinesSumToTheNanosecond) {
  const std::string folder = folder_in("UNDERLAP_REAL_TRACES");
  if (folder.empty()) GTEST_SKIP() << "UNDERLAP_REAL_TRACES is not set";
  const std::string pair = folder + "pair_a100_v100/";
  const Words words{"compare", pair + "control.json.gz", pair + "test.json.gz"};
  EXPECT_THAT(underlap_program(words), fails_with(2, "ranks is 8 in the baseline and 2 in the candidate"));
  const Json json = json_of(joined(words, {"--force"}));
  EXPECT_THAT(json["notes"].dump(), HasSubstr("is unknown"));
  const auto& change = json["comparisons"][0]["change"];
  EXPECT_GT(change["window"]["delta_ns"].get<std::int64_t>(), 0);  // the V100 is slower
  EXPECT_EQ(change["matched_by"], "order");
  expect_sums(change);
  std::int64_t all_to_all = 0;
  for (const auto& operation : change["operations"])
    if (operation["name"] == "all_to_all" && operation["match"] == "both")
      all_to_all += operation["count"]["from"].get<std::int64_t>();
  EXPECT_GE(all_to_all, 34);  // of 35 in the baseline's steps, on other streams and beside other compute
}

TEST(ScalingCommand, FiguresAreThoseOfTheRuns) {
  const std::string one = "train: {micro_batch_size: 1, num_microbatches: 1}\nrun: {backend: sim}\n";
  const RunFolder two(small_config(one + "data_parallel_size: 2\n")),
      eight(small_config(one + "data_parallel_size: 8\n"));
  two.measure(), eight.measure();
  const Json points = json_of({"scaling", two.run(), eight.run()})["cells"][0]["points"];
  for (const std::size_t i : {0U, 1U}) {
    const report::CellResult cell = (i == 0 ? two : eight).results().cells[0];
    EXPECT_EQ(points[i]["ranks"], cell.num_ranks);
    EXPECT_DOUBLE_EQ(points[i]["step_ms"]["value"].get<double>(),
                     static_cast<double>(cell.samples.front().step_ns) / 1e6);
  }
}

}  // namespace
}  // namespace underlap::bench
