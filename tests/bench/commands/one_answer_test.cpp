// SPDX-License-Identifier: Apache-2.0
// The step and the exposed time of a cell or trace are the same figures on every path that prints them.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <sstream>

#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

double ms_of_ns(const Json& ns) { return ns.get<double>() / 1e6; }

/// In ms. Equal to the nanosecond, which is more digits than any table has.
struct Figures {
  double step = 0;
  double exposed = 0;
  friend bool operator==(const Figures& one, const Figures& other) {
    constexpr double kNanosecond = 1e-6;
    return std::abs(one.step - other.step) < kNanosecond && std::abs(one.exposed - other.exposed) < kNanosecond;
  }
  friend void PrintTo(const Figures& figures, std::ostream* out) { *out << figures.step << " " << figures.exposed; }
};

std::map<std::string, Figures> shown(const std::string& run) {
  std::map<std::string, Figures> cells;
  const Json results = json_of({"show", run});
  for (const auto& cell : results["cells"]) {
    const auto& statistics = cell["statistics"];
    cells[cell["name"]] = {statistics["step_ms"]["value"], statistics["exposed_ms"]["value"]};
  }
  return cells;
}

Figures analyzed(const std::string& trace) {
  const auto steps = json_of({"analyze", trace})["steps"];
  return {steps["step_us"].get<double>() / 1e3, steps["exposed_us"].get<double>() / 1e3};
}

/// Rows of CSV by their first cell, each by the columns' names. No cell of these columns holds a comma.
std::map<std::string, std::map<std::string, std::string>> csv_rows(const std::string& text) {
  const auto split = [](const std::string& line) {
    Words cells;
    std::stringstream words(line);
    for (std::string cell; std::getline(words, cell, ',');) cells.push_back(cell);
    return cells;
  };
  std::stringstream lines(text);
  std::string line;
  std::getline(lines, line);
  const Words names = split(line);
  std::map<std::string, std::map<std::string, std::string>> rows;
  while (std::getline(lines, line)) {
    const Words cells = split(line);
    for (std::size_t i = 0; i < std::min(names.size(), cells.size()); ++i) rows[cells.at(0)][names[i]] = cells[i];
  }
  return rows;
}

std::map<std::string, Figures> shown_csv(const std::string& run) {
  std::map<std::string, Figures> cells;
  for (const auto& [cell, row] : csv_rows(underlap_program({"show", run, "--csv"}).out))
    cells[cell] = {std::stod(row.at("step_ms")), std::stod(row.at("exposed_ms"))};
  return cells;
}

Figures analysed_csv(const std::string& trace) {
  const auto rows = csv_rows(underlap_program({"analyze", trace, "--csv"}).out);
  const auto& row = rows.contains("mean") ? rows.at("mean") : rows.at("0");
  const std::string& exposed = row.at("exposed_us");  // empty where nothing communicates
  return {std::stod(row.at("step_us")) / 1e3, exposed.empty() ? 0 : std::stod(exposed) / 1e3};
}

std::pair<Figures, Figures> compared(const Json& comparison) {
  return {{ms_of_ns(comparison["from_step_ns"]), ms_of_ns(comparison["from_exposed_ns"])},
          {ms_of_ns(comparison["to_step_ns"]), ms_of_ns(comparison["to_exposed_ns"])}};
}

// The figures of the baseline's cells; the candidate is the same run, made at another time.
std::map<std::string, Figures> gated(const RunFolder& folder) {
  const fs::path copy = folder.folder / "copy";
  report::RunResults results = folder.results();
  results.info.started_utc = "2001-01-01T00:00:00Z";
  fs::create_directories(copy);
  report::write_results(copy, results);
  std::map<std::string, Figures> cells;
  const Outcome outcome = underlap_program({"gate", folder.run(), copy, "--json", "--run-sd", "1%"});
  const Json report = parse_json(outcome.out);
  for (const Json& row : report["rows"]) {
    if (row["metric"] == "step") cells[row["cell"]].step = ms_of_ns(row["baseline"]);
    if (row["metric"] == "exposed") cells[row["cell"]].exposed = ms_of_ns(row["baseline"]);
  }
  return cells;
}

TEST(OneAnswer, OfARunIsTheSameOnEveryPath) {
  const RunFolder folder(tiny_config(kOffAndOn));
  folder.measure({"--blocks", "3", "--steps", "3"});
  const std::map<std::string, Figures> cells = shown(folder.run());
  ASSERT_GE(cells.size(), 2U);
  const report::RunResults results = folder.results();
  Words traces;
  for (const report::CellResult& cell : results.cells) {
    traces.push_back(fs::path(folder.run()) / cell.trace_file);
    EXPECT_EQ(analyzed(traces.back()), cells.at(cell.name)) << cell.name;
  }
  const std::pair both(cells.at(results.cells[0].name), cells.at(results.cells[1].name));
  EXPECT_EQ(compared(json_of({"compare", traces[0], traces[1]})["comparisons"][0]), both);
  EXPECT_EQ(compared(json_of(
                {"compare", folder.run(), "--cells", results.cells[0].name, results.cells[1].name})["comparisons"][0]),
            both);
  EXPECT_EQ(gated(folder), cells);
  const Outcome csv = underlap_program({"show", folder.run(), "--csv"});
  const fs::path page = folder.folder / "page.html";
  expect_success({"show", folder.run(), "--html", page});
  const std::string html = read_text(page);
  for (const auto& [name, figures] : cells) {
    EXPECT_THAT(csv.out, HasSubstr(fmt::format("{:.2f}", std::floor(100 * figures.step) / 100))) << name;
    EXPECT_THAT(html,
                AnyOf(HasSubstr(fmt::format("{:.1f}", figures.step)), HasSubstr(fmt::format("{:.2f}", figures.step)),
                      HasSubstr(fmt::format("{:.3f}", figures.step))))
        << name;
  }
}

const fs::path kResults = fs::path(UNDERLAP_SOURCE_DIR) / "results";

TEST(OneAnswer, OfARecordedRunIsThatOfItsTraces) {
  const std::map<std::string, Figures> cells = shown(kResults / "quick/paced");
  for (const auto& [trace, cell] : {std::pair("off.pftrace.zst", "off grad_reduce_in_fp32=true"),
                                    {"both.pftrace.zst", "both grad_reduce_in_fp32=true"}})
    EXPECT_EQ(analyzed(kResults / "quick/paced/traces" / trace), cells.at(cell)) << trace;
}

void expect_one_answer(const fs::path& trace) {
  SCOPED_TRACE(trace);
  const Figures figures = analyzed(trace);
  EXPECT_EQ(analysed_csv(trace), figures);
  EXPECT_EQ(compared(json_of({"compare", trace, trace})["comparisons"][0]), std::pair(figures, figures));
  EXPECT_THAT(underlap_program({"analyze", trace}).out,
              AnyOf(HasSubstr(fmt::format("A step takes {:.1f} ms", figures.step)),
                    HasSubstr(fmt::format("A step takes {:.2f} ms", figures.step))));
}

TEST(OneAnswer, OfATraceIsTheSameOnEveryPath) {
  for (const char* trace : {"quick/paced/traces/off.pftrace.zst", "quick/paced/traces/both.pftrace.zst",
                            "h200/overlap/traces/00-off.pftrace.gz", "h200/overlap/traces/01-both.pftrace.gz",
                            "h200/overlap/traces/02-no_comm.pftrace.gz"})
    expect_one_answer(kResults / trace);
}

TEST(OneAnswer, OfAForeignTraceIsTheSameOnEveryPath) {
  const std::string traces = folder_in("UNDERLAP_REAL_TRACES");
  if (traces.empty()) GTEST_SKIP() << "UNDERLAP_REAL_TRACES is not set";
  expect_one_answer(traces + "ddp_2gpu_a100/nccl_data.json.gz");
}

class RecordedRun : public testing::TestWithParam<const char*> {};

TEST_P(RecordedRun, HasOneAnswerOnEveryPath) {
  const fs::path run = kResults / GetParam();
  const std::map<std::string, Figures> cells = shown(run);
  ASSERT_GE(cells.size(), 2U);
  EXPECT_EQ(shown_csv(run), cells);
  const std::string& first = cells.begin()->first;
  for (const auto& [cell, figures] : cells) {
    const auto comparison = json_of({"compare", run, "--cells", first, cell, "--force"})["comparisons"][0];
    EXPECT_EQ(compared(comparison), std::pair(cells.at(first), figures)) << cell;
  }
  EXPECT_EQ(read_text(run / "report.md"), underlap_program({"show", run, "--markdown", "-"}).out)
      << "stale: underlap show DIR --markdown DIR/report.md renews it";
}

INSTANTIATE_TEST_SUITE_P(Results, RecordedRun,
                         testing::Values("quick/paced", "modes", "tp", "modelled", "modes_modelled", "h200/precision"),
                         CaseName());

}  // namespace
}  // namespace underlap::bench
