// SPDX-License-Identifier: Apache-2.0
// A run as others are sent it: as a page and as a table of a spreadsheet.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

#include "profiler/report/csv.hpp"
#include "profiler/report/page/analysis_page.hpp"
#include "profiler/report/page/run_page.hpp"
#include "tests/profiler/report/sample_results.hpp"
#include "tests/profiler/slices.hpp"

namespace underlap::report {
namespace {

using namespace ::testing;  // NOLINT

RunResults run_of(std::vector<CellResult> cells) {
  RunResults results;
  results.info.command = "underlap run a.yaml";
  results.info.commit = "abc123";
  results.info.link = "paced to 4 Gbit/s";
  results.blocks_planned = 2;
  results.blocks_done = 2;
  results.cells = std::move(cells);
  return results;
}

CellResult two_blocks(const std::string& name, const std::string& value, const analysis::Split& split) {
  return cell_of(name, {{"overlap", value}}, {step_of(0, 0, {split}), step_of(1, 1, {split})});
}

RunResults off_and_on() {
  return run_of(
      {two_blocks("off", "off", split_of(6000, 0, 4000, 0)), two_blocks("on", "on", split_of(3000, 3000, 1000, 0))});
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

// The first element that is not closed by its own end, or an end that closes nothing; empty where all are in order.
std::string unbalanced(std::string page) {
  const std::size_t script = page.find("<script>");
  if (script != std::string::npos) page.erase(script, page.find("</script>", script) + 9 - script);
  static const std::vector<std::string> kEmpty{"meta", "!DOCTYPE"};
  std::vector<std::string> open;
  for (std::size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) {
    const std::size_t end = page.find('>', at);
    const std::string tag = page.substr(at + 1, end - at - 1);
    const std::string name = tag.substr(0, tag.find_first_of(" /\n", 1));
    if (tag.ends_with("/") || std::ranges::find(kEmpty, name) != kEmpty.end()) continue;
    if (!name.starts_with("/")) {
      open.push_back(name);
    } else {
      if (open.empty() || "/" + open.back() != name) return name;
      open.pop_back();
    }
  }
  return open.empty() ? "" : open.back();
}

TEST(ReportPage, StacksHiddenOnExposedCommunicationOfOffAndOn) {
  const std::string page = report_html(off_and_on());
  EXPECT_THAT(page, HasSubstr("0.000 hidden, 4.000 exposed"));
  EXPECT_THAT(page, HasSubstr("3.000 hidden, 1.000 exposed"));
  // 4 ms are all but a fiftieth of the picture's width, and the exposed part begins where the hidden one ends.
  EXPECT_THAT(page, HasSubstr("class=\"hidden\" x=\"0.000%\" width=\"73.529%\""));
  EXPECT_THAT(page, HasSubstr("class=\"exposed\" x=\"73.529%\" width=\"24.510%\""));
}

// As the viewer's chart of the same figures: stripes for a wait, dots where the last arrival is not known.
TEST(ReportPage, MarksWhatOfExposedCommunicationOnlyWaits) {
  const std::string plain = report_html(off_and_on());
  EXPECT_THAT(plain, HasSubstr("exposed, transferring"));
  EXPECT_THAT(plain, Not(AnyOf(HasSubstr("class=\"stripes\" x="), HasSubstr("class=\"dots\" x="))));
  analysis::Split split = split_of(3000, 3000, 1000, 0);
  analysis::CommunicationSplit& dp = split.modes["dp"];
  dp.exposed_wait_ns = dp.exposed_unsplit_ns = dp.exposed_transfer_ns / 2;
  dp.exposed_transfer_ns = 0;
  const std::string page = report_html(run_of({two_blocks("on", "on", split)}));
  EXPECT_THAT(page, HasSubstr("class=\"stripes\" x=\"73.529%\" width=\"12.255%\""));
  EXPECT_THAT(page, HasSubstr("class=\"dots\" x=\"85.784%\" width=\"12.255%\""));
  EXPECT_THAT(page, AllOf(HasSubstr("exposed, waiting"), HasSubstr("exposed, last arrival unknown")));
  EXPECT_THAT(page, Not(HasSubstr("exposed, transferring")));
}

TEST(ReportPage, SaysWhetherItsTimesAreMeasuredOrModelled) {
  RunResults results = off_and_on();
  EXPECT_THAT(report_html(results), HasSubstr("<strong>Measured</strong> on the CPUs"));
  results.info.backend = Backend::sim;
  const std::string page = report_html(results);
  EXPECT_THAT(page, HasSubstr("<strong>Simulated:</strong> nothing ran"));
  EXPECT_THAT(page, Not(HasSubstr("<strong>Measured")));
}

TEST(ReportPage, NamesCommandMachineAndCommit) {
  RunResults results = off_and_on();
  results.info.cpu_model = "Example CPU";
  for (const char* words : {"underlap run a.yaml", "commit abc123", "Example CPU", "paced to 4 Gbit/s"})
    EXPECT_THAT(report_html(results), HasSubstr(words));
}

TEST(ReportPage, NeedsNothingBesideItself) {
  const std::string page = report_html(off_and_on());
  for (const char* words : {"https:", "src=", "<link", "@import"}) EXPECT_THAT(page, Not(HasSubstr(words)));
  EXPECT_EQ(count_of(page, "http:"), 1U);  // the name of SVG
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_EQ(count_of(page, "url("), count_of(page, "url(#"));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme: dark"));
}

TEST(ReportPage, ShowsEveryTextLetterByLetter) {
  const std::string evil = "</pre><script>\"&'\x01";
  RunResults results = run_of({two_blocks(evil, evil, split_of(6000, 0, 4000, 0))});
  results.info.command = results.info.commit = results.info.link = results.info.cpu_model = evil;
  results.info.started_utc = results.info.operating_system = results.info.config_hash = evil;
  results.cells[0].notes = results.cells[0].invalid_because = {evil};
  results.cells[0].memory_advice = evil;
  const std::string page = report_html(results);
  EXPECT_EQ(count_of(page, "<script"), 1U);
  EXPECT_THAT(page, HasSubstr("&lt;/pre&gt;&lt;script&gt;&quot;&amp;&#39;\\x01"));
  EXPECT_EQ(unbalanced(page), "");
}

TEST(ReportPage, HoldsOneCellAndAHundred) {
  EXPECT_EQ(unbalanced(report_html(run_of({}))), "");
  EXPECT_EQ(unbalanced(report_html(run_of({two_blocks("a", "off", split_of(6000, 0, 4000, 0))}))), "");
  std::vector<CellResult> cells;
  for (int i = 0; i < 100; ++i) {
    cells.push_back(two_blocks(fmt::format("cell{}", i), i % 2 == 0 ? "off" : "on", split_of(6000, i, 4000, 0)));
    cells.back().values.emplace_back("size", fmt::format("{}", i / 2));
  }
  const std::string page = report_html(run_of(std::move(cells)));
  EXPECT_EQ(unbalanced(page), "");
  EXPECT_EQ(count_of(page, "<h3>"), 50U);
  EXPECT_EQ(count_of(page, "class=\"hidden\" x="), 99U + 1);  // one hides nothing; and the key
}

TEST(ReportPage, CellWithoutAMeasuredStepSaysSo) {
  EXPECT_THAT(report_html(run_of({cell_of("off", {{"overlap", "off"}}, {})})), HasSubstr("no step was measured"));
}

// Two ranks with `steps` steps of 10 ms, of which they compute for 6 ms and communicate for 4; half of that is hidden
// on rank 1.
Trace steps_of_two_ranks(int steps) {
  constexpr std::int64_t kMs = 1'000'000;
  Trace trace;
  for (const std::int32_t rank : {0, 1}) {
    const std::uint32_t compute = trace.add_track({.rank = rank, .stream = 0, .name = "compute"});
    const std::uint32_t dp = trace.add_track({.rank = rank, .stream = 1, .name = "dp"});
    for (int step = 0; step <= steps; ++step) {
      const std::int64_t begin = 10 * kMs * step;
      trace.marks.push_back({rank, 0, step, begin});
      if (step == steps) continue;
      trace.add(testing_support::slice_of(compute, begin, 6 * kMs, "gemm"));
      trace.add(testing_support::slice_of(dp, begin + (rank == 0 ? 6 : 4) * kMs, 4 * kMs, "ncclAllReduce",
                                          testing_support::communication(Mode::dp, "grad_reduce", step + 1)));
    }
  }
  return trace;
}

std::string analysis_page_of(const Trace& trace, const std::vector<TitledTable>& more = {}) {
  return analysis_html({{"", "a.json", analysis_part(trace, analysis::summarize(trace), more, 2)}},
                       {{"command", "underlap a"}});
}

TEST(AnalysisPage, AnswersThenShowsBarsTimelineTablesWarningsAndTerms) {
  Trace trace = steps_of_two_ranks(5);
  trace.import.skipped["truncated <event>"] = 3;
  const TitledTable more{.title = "Bandwidth", .notes = {"no <sizes>"}};
  const std::string page = analysis_page_of(trace, {more});
  EXPECT_EQ(unbalanced(page), "");
  std::size_t last = 0;
  for (const char* part : {"see the warnings below",
                           "<p class=\"found\">A step takes 10.00 ms",
                           "<h2>Split of the step by rank</h2>",
                           "compute only: 6.00 ms",
                           "exposed, last arrival unknown: 4.00 ms",
                           "10.00 ms, 2.00 exposed",
                           "mean of all ranks",
                           "<h2>Communication by mode</h2>",
                           "1.000 hidden, 3.000 exposed",
                           "<h2>Late ranks</h2>",
                           "<h2>Timeline of step 3, the median step</h2>",
                           "<svg xmlns",
                           "<h3>By rank</h3>",
                           "<h3>By mode</h3>",
                           "<h3>By purpose</h3>",
                           "<h3>By step</h3>",
                           "<h3>By stream</h3>",
                           "<h3>By kernel</h3>",
                           "<h3>By hidden</h3>",
                           "<h3>Bandwidth</h3>",
                           "no &lt;sizes&gt;",
                           "<h2>Warnings</h2>",
                           "skipped 3: truncated &lt;event&gt;",
                           "<h2>Terms</h2>",
                           "underlap a"}) {
    const std::size_t at = page.find(part, last);
    ASSERT_NE(at, std::string::npos) << part;
    last = at;
  }
}

TEST(AnalysisPage, LimitsTheRowsOfATableAndCountsTheOthers) {
  EXPECT_THAT(analysis_page_of(steps_of_two_ranks(150)),
              HasSubstr("First 100 of 150 rows; <code>underlap analyze --csv --by step</code> writes all."));
}

TEST(AnalysisPage, HasASectionAndALinkForEachCell) {
  const std::string page = analysis_html({{"<off>", "a", "<p>one</p>"}, {"on", "<b>", "<p>two</p>"}}, {});
  EXPECT_THAT(page, AllOf(HasSubstr("<a href=\"#cell-0\">&lt;off&gt;</a>"),
                          HasSubstr("id=\"cell-1\">\n<h2>Cell on</h2>\n<p class=\"soft\">&lt;b&gt;</p>\n<p>two</p>")));
}

TEST(AnalysisPage, ShowsATraceWithoutWork) {
  EXPECT_THAT(analysis_page_of({}), HasSubstr("The trace has no measured step"));
}

using Row = std::map<std::string, std::string>;

// By column; no field of these holds a comma.
std::vector<Row> rows_of(const std::string& csv) {
  const auto fields_of = [](const std::string& line) {
    std::vector<std::string> fields;
    std::istringstream stream(line + ",");
    for (std::string field; std::getline(stream, field, ',');) fields.push_back(field);
    return fields;
  };
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> columns = fields_of(line);
  std::vector<Row> rows;
  while (std::getline(lines, line)) {
    const std::vector<std::string> fields = fields_of(line);
    EXPECT_EQ(fields.size(), columns.size());
    for (std::size_t i = 0; i < std::min(fields.size(), columns.size()); ++i)
      (i == 0 ? rows.emplace_back() : rows.back())[columns[i]] = fields[i];
  }
  return rows;
}

TEST(ReportCsv, HasOneRowACellWithUnitsInTheColumnsNames) {
  const std::vector<Row> rows = rows_of(report_csv(off_and_on()));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].at("cell"), "on");
  EXPECT_EQ(rows[1].at("off_cell"), "off");
  EXPECT_EQ(rows[1].at("axis.overlap"), "on");
  EXPECT_EQ(rows[1].at("times_are"), "measured");
  EXPECT_EQ(rows[1].at("step_ms"), "7");
  EXPECT_EQ(rows[1].at("step_ms_low"), "7");
  EXPECT_EQ(rows[1].at("step_to_off_ratio"), "0.7");
  EXPECT_EQ(rows[1].at("exposed_ms"), "1");
  EXPECT_EQ(rows[1].at("overlap_percent"), "75");
  EXPECT_EQ(rows[1].at("mode.dp.exposed_ms"), "1");
  EXPECT_EQ(rows[1].at("purpose.grad_reduce_scatter.wire_per_rank_bytes"), "4096");
}

TEST(ReportCsv, LeavesEmptyWhatCouldNotBeFormed) {
  RunResults results = off_and_on();
  results.cells.push_back(cell_of("bare", {{"run.no_comm", "true"}}, {}));
  const std::vector<Row> rows = rows_of(report_csv(results));
  EXPECT_EQ(rows[0].at("step_to_ideal_bound_ratio"), "");
  EXPECT_EQ(rows[2].at("step_ms"), "");
  EXPECT_EQ(rows[2].at("mode.dp.comm_ms"), "");
  EXPECT_EQ(rows[2].at("axis.overlap"), "");
}

TEST(ReportCsv, QuotesFieldsThatHoldCommasQuotesAndLines) {
  const std::string csv = report_csv(run_of({two_blocks("a,\"b\"\nc", "off", split_of(6000, 0, 4000, 0))}));
  EXPECT_THAT(csv, HasSubstr("\n\"a,\"\"b\"\"\\nc\",host,measured,"));
}

}  // namespace
}  // namespace underlap::report
