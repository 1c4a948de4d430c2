// SPDX-License-Identifier: Apache-2.0
// bench/metrics must define every word that a table or a file of results uses, and nothing else.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "profiler/analysis/breakdown.hpp"
#include "profiler/report/report_tables.hpp"
#include "tests/bench/commands/program.hpp"
#include "tests/bench/metric_files.hpp"
#include "tests/profiler/report/sample_results.hpp"

namespace underlap::bench {
namespace {

const std::filesystem::path kSources = UNDERLAP_SOURCE_DIR;

// Keys of the section and of common.yaml, and the columns that show them.
void expect_defined(const std::set<std::string>& words, const std::vector<std::string>& sections) {
  EXPECT_FALSE(words.empty());
  for (const std::string& word : words) {
    const auto has_word = [&](const Metric& metric) {
      return defines(metric, word) || std::ranges::find(metric.columns, word) != metric.columns.end();
    };
    EXPECT_TRUE(std::ranges::any_of(
        sections, [&](const std::string& section) { return std::ranges::any_of(metrics_of(section), has_word); }))
        << word << " is not in bench/metrics";
  }
}

// A property of a schema: its place, such as cells.statistics.step_ms, and what describes it.
struct Property {
  std::string place;
  std::string description;
  std::set<std::string> words;  // of its enumeration
};

std::set<std::string> words_of(const Json& schema) {
  std::set<std::string> words;
  if (schema.contains("enum") && schema.contains("type")) words.insert(schema["enum"].begin(), schema["enum"].end());
  for (const Json& part : schema.value("anyOf", Json::array())) words.merge(words_of(part));
  return words;
}

void collect_properties(const Json& schema, const std::string& place, std::vector<Property>& properties) {
  if (schema.contains("properties"))
    for (const auto& [key, property] : schema["properties"].items()) {
      const std::string path = place.empty() ? key : place + "." + key;
      properties.push_back({path, property.value("description", ""), words_of(property)});
      collect_properties(property, path, properties);
    }
  for (const Json& part : schema.value("anyOf", Json::array())) collect_properties(part, place, properties);
  for (const char* elements : {"items", "additionalProperties"})
    if (schema.contains(elements)) collect_properties(schema[elements], place, properties);
}

std::vector<Property> properties_of(const std::string& format) {
  std::vector<Property> properties;
  collect_properties(parse_json(expect_success({"help", "--schema", format}).out), "", properties);
  return properties;
}

const std::vector<std::string> kFormats{"analyses", "analysis",  "baseline", "check",   "compare", "errors", "gate",
                                        "plan",     "plan_diff", "plans",    "results", "scaling", "tune"};

void collect_paths(const Json& json, const std::string& place, std::set<std::string>& paths) {
  if (json.is_object())
    for (const auto& [key, value] : json.items()) {
      const std::string path = place.empty() ? key : place + "." + key;
      paths.insert(path);
      collect_paths(value, path, paths);
    }
  if (json.is_array())
    for (const Json& part : json) collect_paths(part, place, paths);
}

std::set<std::string> paths_in(const std::string& file) {
  std::set<std::string> paths;
  collect_paths(parse_json(read_text(kSources / file)), "", paths);
  return paths;
}

void expect_used(const std::string& section, const std::set<std::string>& paths) {
  for (const Metric& metric : metrics_of(section))
    EXPECT_TRUE(std::ranges::any_of(paths, [&](const std::string& path) { return defines(metric, path); }))
        << "no file has " << metric.key << " of section " << section;
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

const std::vector<std::string> kOfRuns{"results", "common", "tables"};

TEST(Metrics, DefineEveryColumnOfTheTables) {
  const report::RunResults results = complete_results();
  const auto summaries = summarize(results);
  expect_defined(titles_of(cell_table(results, summaries)), kOfRuns);
  expect_defined(titles_of(brief_table(results, summaries)), kOfRuns);
  expect_defined(titles_of(rate_table(results, summaries)), kOfRuns);
  expect_defined(titles_of(purpose_table(summaries)), kOfRuns);
  expect_defined(titles_of(mode_table(summaries)), kOfRuns);
  EXPECT_TRUE(titles_of(mode_table(summaries)).contains("dependency ms"));
  expect_defined(titles_of(time_change_table(results)), kOfRuns);
  EXPECT_TRUE(titles_of(time_change_table(results)).contains("contention"));
  expect_defined(titles_of(excess_table(results)), kOfRuns);
  ASSERT_EQ(axis_tables(results, summaries).size(), 1U);
  expect_defined(titles_of(axis_tables(results, summaries)[0].table), kOfRuns);
}

TEST(Metrics, DescribeEveryPropertyAndWordOfTheSchemas) {
  for (const std::string& format : kFormats)
    for (const Property& property : properties_of(format)) {
      EXPECT_NE(property.description, "") << format << ": " << property.place;
      for (const std::string& word : property.words)
        EXPECT_NE(property.description.find(" " + word + ": "), std::string::npos)
            << format << ": " << property.place << " does not define " << word;
    }
}

TEST(Metrics, DescribeUnitsAndNull) {
  std::map<std::string, std::string> descriptions;
  for (const Property& property : properties_of("analysis")) descriptions[property.place] = property.description;
  EXPECT_EQ(descriptions["ranks.exposed_us"], "Time with communication but no compute: |C \\ K|. Unit: us.");
  EXPECT_THAT(descriptions["ranks.overlap_pct"], testing::EndsWith(". Unit: %. Null if there is no communication."));
  EXPECT_EQ(descriptions["ranks.steps.count"], "Number of counted steps.");
  EXPECT_EQ(descriptions["attribution.sources.count"], "Communication slices.");
}

TEST(Metrics, DefineOnlyKeysOfTheFiles) {
  std::set<std::string> all;
  for (const std::string& format : kFormats) {
    std::set<std::string> paths;
    for (const Property& property : properties_of(format)) paths.insert(property.place);
    expect_used(format, paths);
    all.merge(paths);
  }
  expect_used("common", all);
  expect_used("claims", paths_in("results/claims.json"));
  for (const char* study : {"collectives", "gemms", "gate_power"})
    expect_used(study, paths_in(fmt::format("results/{}/results.json", study)));
}

// Files without a printed schema: their keys occur in what writes or ships them.
TEST(Metrics, DefineOnlyKeysOfOtherFiles) {
  const auto expect_in = [](const std::string& section, const std::vector<std::string>& files) {
    std::string text;
    for (const std::string& file : files) text += read_text(kSources / file);
    for (const Metric& metric : metrics_of(section)) EXPECT_NE(text.find(metric.key), std::string::npos) << metric.key;
  };
  expect_in("host", {"results/hardware/h200-sxm.yaml"});
  expect_in("status", {"bench/cluster/state_of_run.cpp", "bench/cluster/state_of_array.cpp"});
}

TEST(Metrics, ShowEverySectionOnThePage) {
  const std::string page = read_text(kSources / "bench/METRICS.md");
  for (const std::string& section : metric_sections())
    EXPECT_NE(page.find(fmt::format("<!-- metrics {} -->", section)), std::string::npos) << section;
}

TEST(Metrics, DefineEveryColumnOfTheBreakdowns) {
  const Trace trace;
  const analysis::Summary summary;
  for (int by = 0; by < analysis::kNumBreakdowns; ++by) {
    const analysis::FigureTable table = breakdown(trace, summary, static_cast<analysis::Breakdown>(by));
    std::set<std::string> keys;
    for (const analysis::NameColumn& column : table.names) keys.insert(column.key);
    for (const analysis::FigureColumn& column : table.columns) keys.insert({csv_key(column), column.title});
    expect_defined(keys, {"analysis", "common", "tables"});
  }
}

TEST(Metrics, DefineEveryKeyOfTheClaims) {
  std::set<std::string> keys;
  for (const std::string& path : paths_in("results/claims.json")) keys.insert(path.substr(path.rfind('.') + 1));
  expect_defined(keys, {"claims", "common"});
}

}  // namespace
}  // namespace underlap::bench
