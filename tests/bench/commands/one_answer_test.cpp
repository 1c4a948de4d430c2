// SPDX-License-Identifier: Apache-2.0
// The step and the exposed time of a cell or trace are the same figures on every path that prints them.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "platform/json.hpp"
#include "profiler/report/results.hpp"
#include "tests/bench/commands/program.hpp"

namespace underlap::bench {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

nlohmann::json json_of(std::vector<std::string> arguments) {
  arguments.emplace_back("--json");
  const Outcome outcome = underlap_program(arguments);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return parse_json(outcome.out);
}

double ms_of_ns(const nlohmann::json& ns) { return ns.get<double>() / 1e6; }

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
  const nlohmann::json results = json_of({"show", run});
  for (const auto& cell : results["cells"]) {
    const auto& statistics = cell["statistics"];
    cells[cell["name"]] = {statistics["step_ms"]["value"], statistics["exposed_ms"]["value"]};
  }
  return cells;
}

Figures analysed(const std::string& trace) {
  const auto steps = json_of({"analyze", trace})["steps"];
  return {steps["step_us"].get<double>() / 1e3, steps["exposed_us"].get<double>() / 1e3};
}

std::pair<Figures, Figures> compared(const nlohmann::json& comparison) {
  return {{ms_of_ns(comparison["from_step_ns"]), ms_of_ns(comparison["from_exposed_ns"])},
          {ms_of_ns(comparison["to_step_ns"]), ms_of_ns(comparison["to_exposed_ns"])}};
}

// The figures of the baseline's cells; the candidate is the same run, made at another time.
std::map<std::string, Figures> gated(const RunFolder& folder) {
  const std::filesystem::path copy = folder.folder / "copy";
  report::RunResults results = report::read_results(folder.run());
  results.info.started_utc = "2001-01-01T00:00:00Z";
  std::filesystem::create_directories(copy);
  report::write_results(copy, results);
  std::map<std::string, Figures> cells;
  const Outcome outcome = underlap_program({"gate", folder.run(), copy, "--json", "--run-sd", "1%"});
  const nlohmann::json report = parse_json(outcome.out);
  for (const auto& row : report["rows"]) {
    if (row["metric"] == "step") cells[row["cell"]].step = ms_of_ns(row["baseline"]);
    if (row["metric"] == "exposed") cells[row["cell"]].exposed = ms_of_ns(row["baseline"]);
  }
  return cells;
}

TEST(OneAnswer, OfARunIsTheSameOnEveryPath) {
  const RunFolder folder(
      tiny_config("data_parallel_size: 2\nmatrix: {comm_overlap.overlap_grad_reduce: [false, true]}\n"));
  ASSERT_EQ(underlap_program(folder.arguments({"--blocks", "3", "--steps", "3"})).exit_code, 0);
  const std::map<std::string, Figures> cells = shown(folder.run());
  ASSERT_GE(cells.size(), 2U);
  const report::RunResults results = report::read_results(folder.run());
  std::vector<std::string> traces;
  for (const report::CellResult& cell : results.cells) {
    traces.push_back(std::filesystem::path(folder.run()) / cell.trace_file);
    EXPECT_EQ(analysed(traces.back()), cells.at(cell.name)) << cell.name;
  }
  const std::pair both(cells.at(results.cells[0].name), cells.at(results.cells[1].name));
  EXPECT_EQ(compared(json_of({"compare", traces[0], traces[1]})["comparisons"][0]), both);
  EXPECT_EQ(compared(json_of(
                {"compare", folder.run(), "--cells", results.cells[0].name, results.cells[1].name})["comparisons"][0]),
            both);
  EXPECT_EQ(gated(folder), cells);
  const Outcome csv = underlap_program({"show", folder.run(), "--csv"});
  const std::filesystem::path page = folder.folder / "page.html";
  ASSERT_EQ(underlap_program({"show", folder.run(), "--html", page}).exit_code, 0);
  const std::string html = testing_support::read_text(page);
  for (const auto& [name, figures] : cells) {
    EXPECT_THAT(csv.out, HasSubstr(fmt::format("{:.2f}", std::floor(100 * figures.step) / 100))) << name;
    EXPECT_THAT(html,
                AnyOf(HasSubstr(fmt::format("{:.1f}", figures.step)), HasSubstr(fmt::format("{:.2f}", figures.step)),
                      HasSubstr(fmt::format("{:.3f}", figures.step))))
        << name;
  }
}

TEST(OneAnswer, OfARecordedRunIsThatOfItsTraces) {
  const std::filesystem::path run = std::filesystem::path(UNDERLAP_SOURCE_DIR) / "results/quick/paced";
  const std::map<std::string, Figures> cells = shown(run);
  const std::string off = run / "traces/off.pftrace.zst", both = run / "traces/both.pftrace.zst";
  EXPECT_EQ(analysed(off), cells.at("off grad_reduce_in_fp32=true"));
  EXPECT_EQ(analysed(both), cells.at("both grad_reduce_in_fp32=true"));
  EXPECT_EQ(compared(json_of({"compare", off, both})["comparisons"][0]), std::pair(analysed(off), analysed(both)));
}

}  // namespace
}  // namespace underlap::bench
