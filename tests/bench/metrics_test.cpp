// SPDX-License-Identifier: Apache-2.0
// bench/METRICS.md must define every word that a table or a file of results uses.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "bench/verify/check_report.hpp"
#include "platform/json.hpp"
#include "profiler/analysis/analysis.hpp"
#include "profiler/analysis/communications.hpp"
#include "profiler/graph/details/details.hpp"
#include "profiler/report/observed.hpp"
#include "profiler/report/report_tables.hpp"
#include "tests/profiler/analysis/job_trace.hpp"
#include "tests/profiler/report/sample_results.hpp"
#include "tests/profiler/temporary_folder.hpp"

namespace underlap::bench {
namespace {

using Json = nlohmann::ordered_json;
using testing_support::read_text;

// A word counts as defined where it stands as code.
void expect_defined(const std::set<std::string>& words) {
  static const std::string kMetrics = read_text(std::filesystem::path(UNDERLAP_SOURCE_DIR) / "bench/METRICS.md");
  EXPECT_FALSE(words.empty());
  for (const std::string& word : words)
    EXPECT_NE(kMetrics.find("`" + word + "`"), std::string::npos) << word << " is not in bench/METRICS.md";
}

// Keys of these are names of modes, purposes, axes and libraries, not words of ours; a plan has a schema of its own.
const std::set<std::string> kNamed{"kernel_ns",
                                   "bound_kernel_ns",
                                   "modes",
                                   "purposes",
                                   "exposed_ns_by_modes",
                                   "exposed_by_modes_us",
                                   "matches",
                                   "unmatched",
                                   "kinds",
                                   "wait_by_last_rank_us",
                                   "wait_by_blamed_rank_us",
                                   "wait_by_cause_us",
                                   "values",
                                   "library_versions",
                                   "ratios_along",
                                   "skipped"};

void collect_keys(const Json& json, bool is_named, std::set<std::string>& keys) {
  if (json.is_array())
    for (const Json& element : json) collect_keys(element, is_named, keys);
  if (!json.is_object()) return;
  for (const auto& [key, value] : json.items()) {
    if (!is_named) keys.insert(key);
    if (key != "plan") collect_keys(value, !is_named && kNamed.contains(key), keys);
  }
}

// The keys of a sample, which must reach some of the rarer ones.
std::set<std::string> keys_of(const Json& json, const std::vector<std::string>& reached) {
  std::set<std::string> keys;
  collect_keys(json, false, keys);
  for (const std::string& key : reached) EXPECT_TRUE(keys.contains(key)) << "the sample does not reach " << key;
  return keys;
}

// Every optional figure is there: off and no_comm cells, two blocks, a bound, an axis of two values.
report::RunResults complete_results() {
  report::RunResults results;
  results.blocks_planned = results.blocks_done = 2;
  results.info.library_versions["Gloo"] = "0.5";
  results.load = {{.block = 0}};
  const auto add = [&](const std::string& overlap, const std::string& fp32, const analysis::Split& split) {
    results.cells.push_back(report::cell_of(overlap + fp32, {{"overlap", overlap}, {"fp32", fp32}},
                                            {report::step_of(0, 0, {split}), report::step_of(1, 1, {split})}));
    results.cells.back().bound_ns = 400'000;
    results.cells.back().bound_ideal_ns = 300'000;
    results.cells.back().bound_kernel_ns["fc1"] = 350'000;
    results.cells.back().kernel_ns["fc1"] = 2 * 600'000;
    if (overlap == "on")
      results.cells.back().compute_since_off =
          report::ComputeSinceOff{"off" + fp32, 2, {.from = {}, .to = {}, .purposes = {{"fc1", {.contention_ns = 1}}}}};
    for (report::StepSample& sample : results.cells.back().samples)
      sample.ranks[0].modes["pp"] = {.comm_ns = 2, .exposed_ns = 2, .exposed_wait_ns = 2, .pipeline_dependency_ns = 2};
  };
  for (const char* fp32 : {"true", "false"}) {
    add("off", fp32, report::split_of(600, 0, 400, 0));
    add("on", fp32, report::split_of(300, 350, 50, 0));
    add("none", fp32, report::split_of(600, 0, 0, 0));
    results.cells.back().no_comm = true;
  }
  return results;
}

std::set<std::string> titles_of(const Table& table) {
  std::set<std::string> titles;
  for (const TableColumn& column : table.columns) titles.insert(column.title);
  return titles;
}

TEST(Metrics, DefineEveryColumnOfTheTables) {
  const report::RunResults results = complete_results();
  const auto summaries = summarise(results);
  expect_defined(titles_of(cell_table(results, summaries)));
  expect_defined(titles_of(purpose_table(summaries)));
  expect_defined(titles_of(mode_table(summaries)));
  EXPECT_TRUE(titles_of(mode_table(summaries)).contains("dependency ms"));
  expect_defined(titles_of(time_change_table(results)));
  EXPECT_TRUE(titles_of(time_change_table(results)).contains("contention"));
  expect_defined(titles_of(excess_table(results)));
  ASSERT_EQ(axis_tables(results, summaries).size(), 1U);
  expect_defined(titles_of(axis_tables(results, summaries)[0].table));
}

TEST(Metrics, DefineEveryKeyOfTheResults) {
  const testing_support::TemporaryFolder folder;
  write_results(folder / "", complete_results());
  const std::set<std::string> keys =
      keys_of(parse_json(read_text(folder / "results.json")),
              {"efficiency", "half_width", "contention_ns", "exposed_wait_ns", "blocks_needed", "host_name_hash"});
  EXPECT_FALSE(keys.contains("grad_reduce_scatter"));
  expect_defined(keys);
}

// A trace of two ranks that has some of everything: messages of a step that wait, bytes, compute beside them and alone.
std::string details_json() {
  JobTrace job(2);
  const std::uint32_t group = job.group({0, 1});
  for (const std::int32_t rank : {0, 1}) {
    job.kernel(rank, 0, 100 + 10 * rank);
    job.nccl(rank, 100 + 10 * rank, 200,
             {.group = group, .sequence = 3, .transfers = {{.collective = Collective::all_reduce, .bytes = 100}}});
    job.kernel(rank, 110, 200);
  }
  const analysis::Communications communications = analysis::match_and_align(job.trace);
  const std::vector<analysis::Window> windows{{0, -1, -1, 0, 200}, {1, -1, -1, 0, 200}};
  return graph::with_details("{}", job.trace, communications, graph::find_details(job.trace, communications, windows));
}

TEST(Metrics, DefineEveryKeyOfTheDetails) {
  std::set<std::string> keys;
  const Json details = parse_json(details_json());
  for (const auto& [key, value] : details.items()) {
    keys.insert(key);
    collect_keys(value, false, keys);
  }
  std::erase_if(keys, [](const std::string& key) { return key.find_first_not_of("0123456789") == std::string::npos; });
  for (const char* key : {"arrivals", "transfer_busbw_gb_per_s", "median_alone_us", "rank_changes", "saved_us"})
    EXPECT_TRUE(keys.contains(key)) << "the sample does not reach " << key;
  expect_defined(keys);
}

TEST(Metrics, DefineEveryKeyOfTheClaims) {
  const std::string text = read_text(std::filesystem::path(UNDERLAP_SOURCE_DIR) / "results/claims.json");
  expect_defined(keys_of(parse_json(text), {"verdict", "columns"}));
}

TEST(Metrics, DefineEveryKeyOfAnAnalysis) {
  Trace trace;
  trace.add_track({0, 0, "dp"});
  trace.add_group({intern("param_all_gather"), {0, 1}});
  trace.add({.track = 0,
             .duration_ns = 10,
             .tag = {.kind = Kind::communication, .mode = Mode::dp, .purpose = intern("param_all_gather")}},
            CommunicationRecord{});
  trace.marks = {{0, 0, 0, 0}, {0, 0, 1, 20}};
  trace.import.skipped["truncated"] = 1;
  const std::string json = analysis::analysis_json(trace, analysis::summarise(trace));
  expect_defined(keys_of(parse_json(json), {"window_us", "bytes_on_wire"}));
}

TEST(Metrics, DefineEveryKeyOfAnAnalysisOfAForeignTrace) {
  Trace trace;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    const std::uint32_t range = trace.add_track({rank, 9, "main", TrackKind::range});
    const std::uint32_t stream = trace.add_track({rank, 7, "stream 7"});
    const std::uint32_t comm = trace.add_track({rank, 8, "stream 8"});
    trace.add({.track = range, .duration_ns = 100, .name = intern("ProfilerStep#1"), .tag = {.kind = Kind::none}});
    trace.add({.track = stream, .duration_ns = 40 * (rank + 1), .name = intern("gemm"), .tag = {}});
    trace.add({.track = comm,
               .start_ns = 40 * (rank + 1),
               .duration_ns = 90 - 40 * (rank + 1),
               .name = intern("ncclDevKernel_AllReduce_Sum_f32_RING_LL"),
               .tag = {.kind = Kind::communication}});
  }
  const analysis::Summary summary = analysis::match_and_summarise(trace, analysis::find_steps(trace));
  std::vector<analysis::Breakdown> all;
  for (int by = 0; by < analysis::kNumBreakdowns; ++by) all.push_back(static_cast<analysis::Breakdown>(by));
  std::set<std::string> keys =
      keys_of(parse_json(analysis::analysis_json(trace, summary, {}, all)), {"late_rank", "worst_rank", "longest_us"});
  for (int source = 0; source <= static_cast<int>(analysis::StepSource::none); ++source)
    keys.emplace(to_string(static_cast<analysis::StepSource>(source)));
  expect_defined(keys);
}

TEST(Metrics, DefineEveryKeyStatusAndCauseOfWhatIsObserved) {
  std::vector<report::ObservedKnob> knobs(1);
  knobs[0].requested = knobs[0].effective = "true";
  std::set<std::string> words = keys_of(parse_json(with_observed("{}", "cell", knobs)), {"observed_pct", "reason"});
  for (int status = 0; status < report::kNumObservedStatuses; ++status)
    words.emplace(to_string(static_cast<report::ObservedStatus>(status)));
  for (int cause = 0; cause < analysis::kNumExposedCauses; ++cause)
    words.emplace(analysis::to_string(static_cast<analysis::ExposedCause>(cause)));
  expect_defined(words);
}

TEST(Metrics, DefineEveryKeyAndKindOfACheck) {
  std::vector<check::Finding> findings(1);
  findings[0].commands = {{0, 1}};
  NumericsCheck numerics;
  numerics.cells.resize(1);
  numerics.axes.resize(1);
  const CheckedMatrix matrix{{{.name = "cell", .steps = 2, .report = {.findings = findings}}}, numerics};
  std::set<std::string> words = keys_of(parse_json(check_json(matrix)), {"remedy", "command", "shrunk"});
  for (int kind = 0; kind < check::kNumFindingKinds; ++kind)
    words.emplace(to_string(static_cast<check::FindingKind>(kind)));
  expect_defined(words);
}

}  // namespace
}  // namespace underlap::bench
