// SPDX-License-Identifier: Apache-2.0
// bench/METRICS.md must define every word that a table or a file of results uses.
#include <set>

#include "profiler/analysis/breakdown.hpp"
#include "profiler/report/report_tables.hpp"
#include "tests/bench/commands/program.hpp"
#include "tests/profiler/report/sample_results.hpp"

namespace underlap::bench {
namespace {

// A word counts as defined where it stands as code.
void expect_defined(const std::set<std::string>& words) {
  static const std::string kPage = read_text(std::filesystem::path(UNDERLAP_SOURCE_DIR) / "bench/METRICS.md");
  static const std::string kMetrics = kPage.substr(0, kPage.find("## Fields of every file"));  // without the lists
  EXPECT_FALSE(words.empty());
  for (const std::string& word : words)
    EXPECT_NE(kMetrics.find("`" + word + "`"), std::string::npos) << word << " is not in bench/METRICS.md";
}

// The keys of a schema's objects, and the words of its enumerations. A plan has a schema of its own.
void collect_words(const Json& schema, std::set<std::string>& words) {
  if (schema.contains("properties"))
    for (const auto& [key, value] : schema["properties"].items()) words.insert(key);
  if (schema.contains("enum") && schema.contains("type")) words.insert(schema["enum"].begin(), schema["enum"].end());
  for (const Json& part : schema)
    if (part.is_structured()) collect_words(part, words);
}

void collect_keys(const Json& json, std::set<std::string>& keys) {
  if (json.is_object())
    for (const auto& [key, value] : json.items()) keys.insert(key);
  for (const Json& part : json)
    if (part.is_structured()) collect_keys(part, keys);
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

TEST(Metrics, DefineEveryKeyAndWordOfTheSchemas) {
  for (const char* name : {"analysis", "baseline", "check", "compare", "gate", "results", "scaling", "tune"}) {
    std::set<std::string> words;
    collect_words(parse_json(expect_success({"help", "--schema", name}).out), words);
    expect_defined(words);
  }
}

TEST(Metrics, DefineEveryColumnOfTheBreakdowns) {
  const Trace trace;
  const analysis::Summary summary;
  for (int by = 0; by < analysis::kNumBreakdowns; ++by) {
    const analysis::FigureTable table = breakdown(trace, summary, static_cast<analysis::Breakdown>(by));
    std::set<std::string> keys;
    for (const analysis::NameColumn& column : table.names) keys.insert(column.key);
    for (const analysis::FigureColumn& column : table.columns) keys.insert(csv_key(column));
    expect_defined(keys);
  }
}

TEST(Metrics, DefineEveryKeyOfTheClaims) {
  std::set<std::string> keys;
  collect_keys(parse_json(read_text(std::filesystem::path(UNDERLAP_SOURCE_DIR) / "results/claims.json")), keys);
  expect_defined(keys);
}

}  // namespace
}  // namespace underlap::bench
